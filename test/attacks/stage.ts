// An attack on a real server: the attacker is a process of its own at the lowest priority, while quiet clients take and
// release locks, in turn at the attacked server and at a calm one. The calm server shows how slow the machine is at the
// time, with all that the attacker costs it, so that the comparison is about the server. `/proc` shows the most memory
// that the server has had.

import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { RowlockProcess, screenOf, serveArgs } from "../process/server-process.ts";
import { metric, processStage } from "../process/stage.ts";
import { TestCalls } from "../support/test-calls.ts";

/** Only Linux tells how much memory a process has had at most. */
export const isLinux = process.platform === "linux";
export const MIB = 2 ** 20;
/** Pairs of calls in one run: the p99 leaves out two of them. */
const PAIRS = 200;
/** A quiet run may be quicker than this without making the bound shorter: scheduling alone takes as long. */
const FLOOR_MS = 20;
const TIMES_MAX = 5;

/** What the attacker has seen: how often, by what it was. Keys begin with `goaway`, `reset`, `status`, `closed`. */
export type Seen = Readonly<Record<string, number>>;

export interface AttackOptions {
  /** Further arguments of the server. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly tls?: { readonly ca: string };
  /** Called during the attack, before the quiet clients begin to measure. */
  readonly during?: (server: AttackedServer) => Promise<void>;
  /** What the attacker must see of the server, such as /goaway 11/; the attack lasts until then. */
  readonly sees?: readonly RegExp[];
  readonly timesMax?: number;
}

export interface AttackedServer {
  readonly grpcAddress: string;
  readonly metricsUrl: string;
  readonly client: TestCalls;
  readonly metric: (series: string) => Promise<number>;
}

export interface Outcome {
  readonly seen: Seen;
  readonly peakMib: number;
  readonly log: string;
}

export interface AttackStage {
  /**
   * Starts a server, measures quiet clients, begins the attack of this name (`attacker.ts`), measures again, and ends
   * the attack. Fails if quiet clients were served more slowly than five times as without the attack.
   */
  attack(name: string, options?: AttackOptions): Promise<Outcome>;
}

/** Call this once per test file. */
export function attackStage(): AttackStage {
  const stage = processStage();

  async function serving({ args = [], env = {}, tls }: AttackOptions) {
    const server = new RowlockProcess(serveArgs("sqlite::memory:", ...args), env);
    stage.afterwards(() => server.destroy());
    const screen = await screenOf(server);
    // By name, because the TLS server name cannot be an address.
    const address = tls ? screen.grpcAddress.replace("127.0.0.1", "localhost") : screen.grpcAddress;
    const client = new TestCalls(address, tls ? { tls } : {});
    stage.afterwards(() => client.close());
    return { ...screen, client, metric: (series: string) => metric(screen, series) };
  }

  return {
    async attack(name, options = {}) {
      const [server, calm] = [await serving(options), await serving(options)];
      const alone = await inTurn(server.client, calm.client);
      const attacker = new RowlockProcess([name, server.grpcAddress], {}, "test/attacks/attacker.ts");
      stage.afterwards(() => attacker.destroy());
      await attacker.said(/attacking/);
      await options.during?.(server);
      const beside = await inTurn(server.client, calm.client);
      for (const what of options.sees ?? []) await attacker.said(new RegExp(`seen ${what.source}`));
      attacker.kill("SIGTERM");
      const { out, err, code } = await attacker.exited;
      expect([code, err]).toEqual([0, ""]);
      const seen: Seen = JSON.parse(out.trim().split("\n").at(-1) ?? "");
      // The quiet clients are still served afterwards, and the operators' port answers.
      await pairMs(server.client, "afterwards");
      expect((await fetch(`${server.metricsUrl}/readyz`)).status).toBe(200);
      const peakMib = Math.round(peakBytes(server.process.pid) / MIB);
      const quietMs = Math.max(FLOOR_MS, alone.here, beside.there);
      if (process.env.ROWLOCK_TEST_SHOWS_ATTACKS) console.log(name, { alone, beside, peakMib, seen });
      expect(beside.here, JSON.stringify({ alone, beside, peakMib, seen })).toBeLessThanOrEqual(
        (options.timesMax ?? TIMES_MAX) * quietMs,
      );
      return { seen, peakMib, log: server.process.err };
    },
  };
}

/** The 99th percentile of pairs of calls at one server and at another one, in milliseconds. */
async function inTurn(here: TestCalls, there: TestCalls): Promise<{ here: number; there: number }> {
  const took: { here: number[]; there: number[] } = { here: [], there: [] };
  for (let pair = 0; pair < PAIRS; pair++) {
    took.here.push(await pairMs(here, `quiet/${pair}`));
    took.there.push(await pairMs(there, `quiet/${pair}`));
  }
  return { here: p99(took.here), there: p99(took.there) };
}

/** Takes a lock and releases it. Returns the milliseconds. */
async function pairMs(client: TestCalls, name: string): Promise<number> {
  const askedMs = performance.now();
  const { leaseId } = await client.lease({ name });
  await client.call("release", { leaseId });
  return performance.now() - askedMs;
}

export function p99(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] as number);
}

/** The most memory that the process has had at once. */
function peakBytes(pid: number): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) * 1_024;
}
