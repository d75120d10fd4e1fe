// An attack on a real server: the attacker is a process of its own at the lowest priority, while quiet clients take and
// release locks, in turn at the attacked server and at a calm one. The calm server shows how slow the machine is at the
// time, with all that the attacker costs it, so that the comparison is about the server. `/proc` shows the most memory
// that the server has had.

import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { RowlockProcess, screenOf, serveArgs } from "../process/server-process.ts";
import { processStage } from "../process/stage.ts";
import { TestCalls } from "../support/test-calls.ts";

/** Only Linux tells how much memory a process has had at most. */
export const isLinux = process.platform === "linux";
const MIB = 2 ** 20;
/** Pairs of calls in one run: the p99 leaves out two of them. */
const PAIRS = 200;
/**
 * The bound does not shrink with calls that are quicker than this. Attacker, callers and both servers share the cores,
 * of which a small machine has two: scheduling alone takes as long.
 */
const FLOOR_MS = 100;
const TIMES_MAX = 5;
/** A server that an attack slows down is slow in each run; other work on the machine makes only some of them slow. */
const RUNS_MAX = 4;

/** What the attacker has seen: how often, by what it was. Such as `goaway 11`. */
export type Seen = Readonly<Record<string, number>>;

export interface AttackOptions {
  /** Further arguments of the server. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly tls?: { readonly ca: string };
  /** What the attacker must see of the server, such as /goaway 11/; the attack lasts until then. */
  readonly sees?: readonly RegExp[];
  readonly timesMax?: number;
}

export interface Outcome {
  readonly seen: Seen;
  readonly peakMib: number;
}

export interface AttackStage {
  /**
   * Starts two servers, attacks one of them (`attacker.ts` has the names), and measures quiet clients of both. Fails if
   * the attacked one serves them more than five times as slowly as the other one.
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
    return { ...screen, client };
  }

  return {
    async attack(name, options = {}) {
      const [server, calm] = [await serving(options), await serving(options)];
      // What runs for the first time is slow at both.
      await inTurn(server.client, calm.client, PAIRS / 10);
      const attacker = new RowlockProcess([name, server.grpcAddress], {}, "test/attacks/attacker.ts");
      stage.afterwards(() => attacker.destroy());
      await attacker.said(/attacking/);
      const isSlow = ({ attackedMs, calmMs }: Took) =>
        attackedMs > (options.timesMax ?? TIMES_MAX) * Math.max(FLOOR_MS, calmMs);
      let took = await inTurn(server.client, calm.client, PAIRS);
      for (let runs = 1; isSlow(took) && runs < RUNS_MAX; runs++)
        took = await inTurn(server.client, calm.client, PAIRS);
      for (const what of options.sees ?? []) await attacker.said(new RegExp(`seen ${what.source}`));
      attacker.kill("SIGTERM");
      const { out, err, code } = await attacker.exited;
      expect([code, err]).toEqual([0, ""]);
      const seen: Seen = JSON.parse(out.trim().split("\n").at(-1) ?? "");
      // The quiet clients are still served afterwards, and the operators' port answers.
      await pairMs(server.client, "afterwards");
      expect((await fetch(`${server.metricsUrl}/readyz`)).status).toBe(200);
      const peakMib = Math.round(peakBytes(server.process.pid) / MIB);
      if (process.env.ROWLOCK_TEST_SHOWS_ATTACKS) console.log(name, { took, peakMib, seen });
      expect(isSlow(took), `slow in ${RUNS_MAX} runs: ${JSON.stringify({ took, peakMib, seen })}`).toBe(
        false,
      );
      return { seen, peakMib };
    },
  };
}

/** 99th percentiles. */
interface Took {
  readonly attackedMs: number;
  readonly calmMs: number;
}

/** The times of pairs of calls at one server and at another one, by turns. */
async function inTurn(attacked: TestCalls, calm: TestCalls, pairs: number): Promise<Took> {
  const took: { attacked: number[]; calm: number[] } = { attacked: [], calm: [] };
  for (let pair = 0; pair < pairs; pair++) {
    took.attacked.push(await pairMs(attacked, `quiet/${pair}`));
    took.calm.push(await pairMs(calm, `quiet/${pair}`));
  }
  return { attackedMs: p99(took.attacked), calmMs: p99(took.calm) };
}

/** Takes a lock and releases it. Returns the milliseconds. */
async function pairMs(client: TestCalls, name: string): Promise<number> {
  const askedMs = performance.now();
  const { leaseId } = await client.lease({ name });
  await client.call("release", { leaseId });
  return performance.now() - askedMs;
}

function p99(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] as number);
}

/** The most memory that the process has had at once. */
function peakBytes(pid: number): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) * 1_024;
}
