// A server in the smallest heap that is promised, under one attack: whether it lives, whether other clients keep their
// leases, how long a quiet client waits, and the most memory that the server has had. Asserts nothing.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import type { BareOptions } from "../../clients/typescript/src/bare/index.ts";
import { RowlockProcess, screenOf, serveArgs } from "../process/server-process.ts";
import type { RawTls } from "../support/http2-frames.ts";
import { TestCalls } from "../support/test-calls.ts";

/** The heap that Node takes in a container of 512 MiB, the Helm chart's default. */
export const HEAP_MIB = 268;
const MIB = 2 ** 20;
const LEASES = 20;
const TTL_S = 5n;
/** As clients do it: every third of the ttl. */
const RENEW_MS = 1_600;
/** A quiet client asks again this long after its answer. */
const QUIET_MS = 20;
/** Of a quiet client that is alone, before the attack. */
const ALONE_PAIRS = 100;
/** A call of the quiet clients without an answer for so long counts as lost. */
const PATIENCE_MS = 20_000;
const ATTACKER = "test/attacks/attacker.ts";

export interface Withstood {
  /** false: the server has ended. */
  readonly isAlive: boolean;
  readonly leases: number;
  readonly leasesLost: number;
  /** Of taking a lock and giving it back, in milliseconds. */
  readonly aloneP99Ms: number;
  readonly p99Ms: number;
  readonly pairs: number;
  /** Pairs of the quiet client that failed, by their codes. */
  readonly failed: Readonly<Record<string, number>>;
  readonly peakMib: number;
  /** Processors that the server used under the attack. */
  readonly cores: number;
  /** What the attacker saw, by what it was. */
  readonly seen: Readonly<Record<string, number>>;
}

export interface Situation {
  readonly seconds: number;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How the quiet clients reach the server. */
  readonly client?: BareOptions;
  readonly attackTls?: RawTls;
  /** Whether the address for calls over HTTP is attacked. */
  readonly overHttp?: boolean;
  /** Of the environment of the attacker. */
  readonly attackEnv?: Readonly<Record<string, string>>;
}

/** Starts a server and attacks it. Ends all that it starts. */
export async function withstand(attack: string, situation: Situation): Promise<Withstood> {
  const { seconds, args = [], env = {}, client: options = {}, attackTls, attackEnv = {} } = situation;
  const { overHttp = false } = situation;
  await using ends = new AsyncDisposableStack();
  const server = new RowlockProcess(
    serveArgs("sqlite::memory:", ...args, ...(overHttp ? ["--http-listen", "127.0.0.1:0"] : [])),
    {
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
      ...env,
    },
  );
  ends.defer(() => server.destroy());
  let isAlive = true;
  void server.exited.then(() => {
    isAlive = false;
  });
  const { grpcAddress, screen } = await screenOf(server);
  const [, httpAddress] = /HTTP +https?:\/\/(\S+)/.exec(screen) ?? [];
  const address = options.tls ? grpcAddress.replace("127.0.0.1", "localhost") : grpcAddress;
  // A channel of its own each, which grpc-js would otherwise share.
  const channel = { "grpc.use_local_subchannel_pool": 1 };
  const [holder, quiet] = [
    new TestCalls(address, { ...options, channel }),
    new TestCalls(address, { ...options, channel }),
  ];
  for (const each of [holder, quiet]) ends.defer(() => each.close());
  const held = await Promise.all(
    Array.from({ length: LEASES }, (_, index) =>
      holder.lease({
        name: `held/${index}`,
        terms: { lasting: { case: "ttl", value: { seconds: TTL_S, nanos: 0 } } },
      }),
    ),
  );
  const keeper = new Keeper(holder, held);
  const alone = await pairs(quiet, (count) => count < ALONE_PAIRS);
  const attacker = new RowlockProcess(
    [attack, overHttp ? (httpAddress as string) : grpcAddress],
    { ...(attackTls && { ATTACK_TLS: JSON.stringify(attackTls) }), ...attackEnv },
    ATTACKER,
  );
  ends.defer(() => attacker.destroy());
  await attacker.said(/attacking/);
  const [fromMs, fromCpuMs] = [performance.now(), cpuMs(server.pid)];
  const untilMs = performance.now() + seconds * 1_000;
  const under = await pairs(quiet, () => isAlive && performance.now() < untilMs);
  const cores = isAlive ? (cpuMs(server.pid) - fromCpuMs) / (performance.now() - fromMs) : 0;
  const peakMib = isAlive ? Math.round(peakBytes(server.pid) / MIB) : 0;
  attacker.kill("SIGTERM");
  const { out } = await attacker.ended();
  const leasesLost = isAlive ? await keeper.lost() : LEASES;
  keeper.stop();
  return {
    isAlive,
    leases: LEASES,
    leasesLost,
    aloneP99Ms: p99(alone.took),
    p99Ms: p99(under.took),
    pairs: under.took.length,
    failed: under.failed,
    peakMib,
    cores: Math.round(cores * 100) / 100,
    seen: JSON.parse(out.trim().split("\n").at(-1) ?? "{}"),
  };
}

/** Renews leases as clients do, and remembers which are lost. */
class Keeper {
  readonly #client: TestCalls;
  readonly #held: readonly Lease[];
  readonly #lost = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(client: TestCalls, held: readonly Lease[]) {
    this.#client = client;
    this.#held = held;
    this.#timer = setInterval(() => void this.#renewAll(), RENEW_MS);
  }

  /** How many are lost by now. */
  async lost(): Promise<number> {
    await this.#renewAll();
    return this.#lost.size;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #renewAll(): Promise<void> {
    const renewals = this.#held.map(({ leaseId }) =>
      this.#client
        .call("renew", { leaseId }, { timeout: PATIENCE_MS })
        .catch((error: { reason?: string }) => {
          if (/LEASE_LOST|UNKNOWN_CLAIM/.test(error.reason ?? "")) this.#lost.add(leaseId);
        }),
    );
    await Promise.all(renewals);
  }
}

/** Takes a lock and gives it back, again and again. A pair that fails counts with its time, too. */
async function pairs(
  client: TestCalls,
  goesOn: (count: number) => boolean,
): Promise<{ readonly took: readonly number[]; readonly failed: Readonly<Record<string, number>> }> {
  const took: number[] = [];
  const failed: Record<string, number> = {};
  for (let count = 0; goesOn(count); count++) {
    const askedMs = performance.now();
    try {
      const { leaseId } = await client.lease({ name: `quiet/${count % 100}-${took.length}` });
      await client.call("release", { leaseId }, { timeout: PATIENCE_MS });
    } catch (error) {
      const { code = "", reason = "" } = error as { code?: string; reason?: string };
      failed[`${code} ${reason}`] = (failed[`${code} ${reason}`] ?? 0) + 1;
    }
    took.push(performance.now() - askedMs);
    await sleep(QUIET_MS);
  }
  return { took, failed };
}

function p99(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * 0.99) - 1)] ?? 0);
}

/** The most memory that the process has had at once. */
function peakBytes(pid: number): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) * 1_024;
}

/** The processor time that the process has used. Linux counts it in hundredths of a second. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}
