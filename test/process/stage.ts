// What tests of whole servers share: processes, clients and databases that are gone afterwards, and the ways to wait for
// what a server says and does.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, expect } from "vitest";
import type { FreshDatabase } from "../support/database.ts";
import { TestCalls } from "../support/test-calls.ts";
import type { RunningServer } from "./server-process.ts";
import { RowlockProcess, screenOf, serveArgs } from "./server-process.ts";

/** What a call is told while the database cannot do it. */
export const AWAY = { code: "UNAVAILABLE", reason: "DATABASE_UNAVAILABLE", retryAfterMs: 1_000 };

const POLL_EVERY_MS = 20;

export interface ServingServer extends RunningServer {
  readonly client: TestCalls;
}

export interface ProcessStage {
  /** What was put up last is taken down first. */
  afterwards(cleanup: () => unknown): void;
  rowlock(args: readonly string[], env?: Record<string, string>): RowlockProcess;
  /** A server that takes calls, and a client of it. */
  serving(url: string, ...args: string[]): Promise<ServingServer>;
  /** Its URL. */
  database(make: () => Promise<FreshDatabase>): Promise<string>;
}

/** To be called once in a file. `undone`: where everything is taken down. */
export function processStage(undone: "after each test" | "after all" = "after each test"): ProcessStage {
  const cleanups: (() => unknown)[] = [];
  const undo = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
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

/** Repeats a call until the database is there; nothing but its absence may be the reason to. */
export async function answered<Value>(call: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      expect(error).toMatchObject(AWAY);
      await sleep(POLL_EVERY_MS);
    }
  }
}

/** Repeats a call until the database cannot do it, and answers what it was told then. */
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

/** Asks /readyz until it has this status; what it says then. */
export async function readyPage({ metricsUrl }: RunningServer, status: number): Promise<string> {
  for (;;) {
    const response = await fetch(`${metricsUrl}/readyz`);
    const text = await response.text();
    if (response.status === status) return text;
    await sleep(POLL_EVERY_MS);
  }
}

/** The value of one series on /metrics; 0 where it is not there yet. */
export async function metric({ metricsUrl }: RunningServer, series: string): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}
