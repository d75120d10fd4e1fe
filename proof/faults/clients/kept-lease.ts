// A lease that a bare client keeps: it believes in it until (monotonic time before the last call that succeeded) + ttl,
// and renews it meanwhile.

import { setTimeout as sleep } from "node:timers/promises";
import { RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { monotonicMs } from "../history/clock.ts";
import type { Leased, Repeated } from "./repeated.ts";

/** Parts of a ttl between renewals. */
const RENEWALS = 3;
const CONFIRMING_MS = 1_000;
const GONE = ["LEASE_LOST", "UNKNOWN_CLAIM"];

export class KeptLease {
  readonly leaseId: string;
  readonly token: string;
  /** Of each of its locks. */
  readonly tokens: ReadonlyMap<string, string>;
  readonly #calls: Repeated;
  readonly #onLost: (atMs: number) => void;
  readonly #stopped = new AbortController();
  #untilMs: number;
  /** Whether a server has said that it has ended. */
  #isGone = false;

  /**
   * `gone`: the server said that it had ended, when the client came for it. `late`: the client did not hear in time whether
   * it had. `onLost` gets the time from which on the client does not believe. A lease after a wait is confirmed by a
   * renewal, for which the client has the time from when it was told.
   */
  static async confirmed(
    leased: Leased,
    calls: Repeated,
    onLost: (atMs: number) => void,
  ): Promise<KeptLease | "gone" | "late"> {
    const { provisional } = leased.lease;
    const kept = new KeptLease(provisional ? { ...leased, sentMs: monotonicMs() } : leased, calls, onLost);
    // Asked even if no time is left, because only the server's answer says that it is gone.
    if (provisional) kept.#untilMs = Math.max(kept.#untilMs, monotonicMs() + CONFIRMING_MS);
    const isGood = !provisional || (await kept.#renew());
    if (kept.#isGone) return "gone";
    if (!isGood || monotonicMs() >= kept.#untilMs) return "late";
    void kept.#keep();
    return kept;
  }

  private constructor({ lease, sentMs }: Leased, calls: Repeated, onLost: (atMs: number) => void) {
    this.leaseId = lease.leaseId;
    this.token = String(lease.fencingToken);
    this.tokens = new Map(
      [lease, ...lease.also].map(({ lockName, fencingToken }) => [lockName, String(fencingToken)]),
    );
    this.#untilMs = sentMs + msOf(lease.ttl);
    this.#calls = calls;
    this.#onLost = onLost;
  }

  /** Until then it may be believed in, unless a renewal comes before. */
  get untilMs(): number {
    return this.#untilMs;
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const restMs = this.#untilMs - monotonicMs();
      await sleep(Math.max(0, restMs - (restMs * (RENEWALS - 1)) / RENEWALS), undefined, { signal }).catch(
        () => {},
      );
      if (signal.aborted) return;
      const isRenewed = monotonicMs() < this.#untilMs && (await this.#renew());
      if (signal.aborted) return;
      if (!isRenewed || monotonicMs() >= this.#untilMs) {
        this.#onLost(Math.min(this.#untilMs, monotonicMs()));
        return;
      }
    }
  }

  /** Whether the lease goes on. */
  async #renew(): Promise<boolean> {
    for (;;) {
      const sentMs = monotonicMs();
      const restMs = this.#untilMs - sentMs;
      if (restMs <= 0) return false;
      try {
        const { lease } = await this.#calls.once(
          "renew",
          { leaseId: this.leaseId },
          Math.max(50, restMs / RENEWALS),
        );
        this.#untilMs = sentMs + msOf(lease?.ttl);
        return true;
      } catch (error) {
        this.#isGone = error instanceof RowlockError && GONE.includes(error.reason);
        if (this.#isGone) return false;
        this.#calls.next();
        await sleep(20);
      }
    }
  }
}

export function ttlOf(ms: number): { seconds: bigint; nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1e6 };
}

/** How long a lease lasts, as its request says it. */
export function lasting(ms: number) {
  return { case: "ttl" as const, value: ttlOf(ms) };
}

/** A time of the database's clock. */
export function usOf(
  time: { readonly seconds: bigint; readonly nanos: number } | undefined,
): number | undefined {
  return time && Number(time.seconds) * 1e6 + time.nanos / 1e3;
}

export function msOf(duration: { readonly seconds: bigint; readonly nanos: number } | undefined): number {
  return duration ? Number(duration.seconds) * 1_000 + duration.nanos / 1e6 : Number.POSITIVE_INFINITY;
}
