// What tests of whole servers share: processes, clients and databases with cleanup, and ways to wait for what a
// server prints and does.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, expect } from "vitest";
import type { FreshDatabase } from "../support/database.ts";
import { TestCalls } from "../support/test-calls.ts";
import type { RunningServer } from "./server-process.ts";
import { RowlockProcess, screenOf, serveArgs } from "./server-process.ts";

/** The answer to a call while the database is unavailable. */
export const AWAY = { code: "UNAVAILABLE", reason: "DATABASE_UNAVAILABLE", retryAfterMs: 1_000 };

const POLL_EVERY_MS = 20;

export interface ServingServer extends RunningServer {
  readonly client: TestCalls;
}

export interface ProcessStage {
  /** Cleanups run in reverse order. */
  afterwards(cleanup: () => unknown): void;
  rowlock(args: readonly string[], env?: Record<string, string>): RowlockProcess;
  /** An empty folder. */
  folder(): string;
  /** A line of the shell, in place of which what it starts may be. */
  sh(script: string, env?: Readonly<Record<string, string>>): RowlockProcess;
  /** A server that takes calls, and a client for it. */
  serving(url: string, ...args: string[]): Promise<ServingServer>;
  /** Creates a database and returns its URL. */
  database(make: () => Promise<FreshDatabase>): Promise<string>;
}

/** Call this once per test file. `undone`: when the cleanups run. */
export function processStage(undone: "after each test" | "after all" = "after each test"): ProcessStage {
  const cleanups: (() => unknown)[] = [];
  const undo = async () => {
    const errors: unknown[] = [];
    // One that fails must not leave the processes of the others running.
    for (const cleanup of cleanups.splice(0).reverse()) {
      try {
        await cleanup();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `Cleanups failed: ${errors.join("; ")}`);
  };
  if (undone === "after all") afterAll(undo);
  else afterEach(undo);
  const stage: ProcessStage = {
    afterwards: (cleanup) => void cleanups.push(cleanup),
    rowlock(args, env = {}) {
      const process = new RowlockProcess(args, env);
      cleanups.push(() => process.destroy());
      return process;
    },
    folder() {
      const folder = mkdtempSync(join(tmpdir(), "rowlock-process-"));
      cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
      return folder;
    },
    sh(script, env = {}) {
      const process = new RowlockProcess(["-c", script], env, "sh");
      cleanups.push(() => process.destroy());
      return process;
    },
    async serving(url, ...args) {
      const server = await screenOf(stage.rowlock(serveArgs(url, ...args)));
      const client = new TestCalls(server.grpcAddress);
      cleanups.push(() => client.close());
      return { ...server, client };
    },
    async database(make) {
      const { url, drop } = await make();
      cleanups.push(drop);
      return url;
    },
  };
  return stage;
}

/** Repeats a call while it fails like `passing`: until the database is available. Any other failure fails the test. */
export async function answered<Value>(call: () => Promise<Value>, passing: object = AWAY): Promise<Value> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      expect(error).toMatchObject(passing);
      await sleep(POLL_EVERY_MS);
    }
  }
}

/** Repeats a call until the database cannot serve it. Returns that error. */
export async function refused(call: () => Promise<unknown>): Promise<Error> {
  for (;;) {
    try {
      await call();
    } catch (error) {
      expect(error).toMatchObject(AWAY);
      return error as Error;
    }
  }
}

/** Requests /readyz until it has this status. Returns its text. */
export async function readyPage({ metricsUrl }: RunningServer, status: number): Promise<string> {
  for (;;) {
    const response = await fetch(`${metricsUrl}/readyz`);
    const text = await response.text();
    if (response.status === status) return text;
    await sleep(POLL_EVERY_MS);
  }
}

/** The value of one series on /metrics; 0 if it does not exist yet. */
export async function metric({ metricsUrl }: RunningServer, series: string): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}
