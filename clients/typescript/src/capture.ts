// Some of many locks being asked for: from the first request to the leases, or to none, however many connections that takes.
// A long wait is asked for in pieces, as it has no place to lose: so a server that hangs is noticed, and no proxy cuts it off.

import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import {
  CaptureRequestSchema,
  type CaptureResponse,
  RenewRequestSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import type { Clock } from "./clock.ts";
import type { Call } from "./connection/call.ts";
import type { Calls } from "./connection/calls.ts";
import { untilGivenUp } from "./give-up.ts";
import { HeldLease } from "./leases/held-lease.ts";
import { type Forever, TTL_MS } from "./options.ts";
import { hasTerms, type RecordOptions, termsOf } from "./records.ts";
import { RowlockError } from "./rowlock-error.ts";
import { durationOf, msOf } from "./times.ts";

/** What one piece of a wait takes at the most; at the most half of the time after which a call without an answer fails. */
const PIECE_MS = 15_000;
/** As for one lock. */
const LATE_GRANTS_MAX = 3;
/** Nobody can hold these any more. */
const GONE = ["LEASE_LOST", "UNKNOWN_CLAIM"];

export interface CaptureOptions extends RecordOptions {
  /** Locks whose names begin so, and that have a record; "": all. One of `prefix` and `names` has to be set. */
  readonly prefix?: string;
  /** Of these locks, 1,000 at the most; also those that nobody has named before. */
  readonly names?: readonly string[];
  /** How many at the most, 1 to 100; 1. */
  readonly count?: number;
  /** How long to wait for the first one, in milliseconds; 0: not at all, unless told otherwise. */
  readonly wait?: number | Forever;
  /** Time to live of each lease, in milliseconds, which is renewed at every third of it; 30,000. */
  readonly ttl?: number;
  /** Gives up the wait. */
  readonly signal?: AbortSignal | undefined;
  /** For these claims alone. */
  readonly owner?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * The same id always means the same leases, as long as they are held; when they have ended, it gets none, and at once,
   * whatever `wait` is. Unset: an id of this call's own.
   */
  readonly requestId?: string;
  /** As for a lock. */
  readonly margin?: number;
}

/** The leases that were taken, those longest due first. */
export interface CapturedLeases {
  readonly leases: readonly HeldLease[];
  /** When there are none: when another try may be worth while, as far as that is known. */
  readonly retryAfterMs?: number | undefined;
}

export interface CaptureSettings {
  readonly calls: Calls;
  readonly clock: Clock;
  readonly asked: CaptureOptions;
  readonly giveUpAfterMs: number;
  readonly marginMs: number;
  /** One that this client holds already: the request id is that of a capture of its own. */
  readonly find: (leaseId: string) => HeldLease | undefined;
  /** The lease is held from now on. */
  readonly keep: (lease: HeldLease) => void;
  /** Ends a lease that nobody wants any more. */
  readonly giveBack: (id: string) => void;
  /** Ends one that was kept. */
  readonly letGo: (lease: HeldLease) => void;
}

export class Capture {
  readonly #settings: CaptureSettings;
  readonly #outcome = Promise.withResolvers<CapturedLeases>();
  readonly #untilMs: number;
  readonly #kept: HeldLease[] = [];
  #requestId = "";
  #pieceEndsMs = 0;
  /** Whose leases had all ended before they could be relied on. */
  #lateAnswers = 0;
  #call: Call | undefined;
  #isSettled = false;
  #isAbandoned = false;

  constructor(settings: CaptureSettings) {
    const { asked, clock } = settings;
    const { wait = 0 } = asked;
    this.#settings = settings;
    this.#untilMs = wait === "forever" ? Number.POSITIVE_INFINITY : clock.now() + wait;
  }

  /** To be called once. Rejects with a RowlockError, or with the reason of the signal. */
  async run(): Promise<CapturedLeases> {
    const { signal } = this.#settings.asked;
    return await untilGivenUp(
      signal,
      (why) => this.abandon(why),
      () => {
        this.#begin();
        return this.#outcome.promise;
      },
    );
  }

  /** Rejects with `why`, and gives back what was or will be got. */
  abandon(why: unknown): void {
    if (this.#isSettled) return;
    this.#fail(why);
    if (this.#call?.timesSent === 0) this.#settings.calls.cancel(this.#call);
    else if (this.#call && this.#isWait) this.#settings.calls.withdraw(this.#call);
  }

  get #isWait(): boolean {
    const { wait = 0 } = this.#settings.asked;
    return wait !== 0;
  }

  #begin(): void {
    const { asked, calls, clock, giveUpAfterMs } = this.#settings;
    // If something was got under the last one after all, and was lost on its way, that id gets nothing else any more.
    this.#requestId = asked.requestId ?? randomUUID();
    const pieceMs = Math.min(this.#leftMs(), PIECE_MS, giveUpAfterMs / 2);
    this.#pieceEndsMs = clock.now() + pieceMs;
    this.#call = calls.begin({
      kind: this.#isWait ? "wait" : "other",
      command: () => ({ case: "capture", value: this.#request() }),
      repeat: "always",
      giveUpAfterMs: () => giveUpAfterMs,
      answered: (result, basisMs) => {
        if (result.case === "capture") void this.#answered(result.value, basisMs);
        else this.#fail(new Error(`capture was answered by ${result.case}`));
        return true;
      },
      failed: (error) => this.#fail(error),
    });
  }

  #leftMs(): number {
    return Math.max(1, this.#untilMs - this.#settings.clock.now());
  }

  #request() {
    // Its connection was lost, and nobody wants it any more.
    if (this.#isAbandoned) throw RowlockError.cancelled();
    const { asked, clock } = this.#settings;
    const { prefix, names = [], count = 1, ttl = TTL_MS, owner = "", labels = {} } = asked;
    return create(CaptureRequestSchema, {
      ...(prefix !== undefined && { prefix }),
      names: [...names],
      maxLeases: count,
      ttl: durationOf(ttl),
      requestId: this.#requestId,
      owner,
      labels: { ...labels },
      ...termsOf(asked),
      ...(this.#isWait && { maxWait: durationOf(Math.max(1, this.#pieceEndsMs - clock.now())) }),
    });
  }

  async #answered({ leases, retryAfter, isRepeated }: CaptureResponse, basisMs: number): Promise<void> {
    const taken = await Promise.all(leases.map((lease) => this.#taken(lease, basisMs)));
    if (this.#isSettled) return;
    const held = taken.filter((lease) => lease !== undefined);
    // What the caller's own id had has ended, and it gets nothing else.
    const isSpent = isRepeated && this.#settings.asked.requestId !== undefined;
    if (leases.length > 0) this.#lateAnswers += 1;
    if (held.length > 0) this.#settle({ leases: held });
    else if (leases[0] && this.#lateAnswers > LATE_GRANTS_MAX)
      this.#fail(RowlockError.ttlTooShort(leases[0].lockName));
    else if (this.#isWait && !isSpent && this.#settings.clock.now() < this.#untilMs) this.#begin();
    else this.#settle({ leases: [], retryAfterMs: retryAfter && msOf(retryAfter) });
  }

  /** undefined: it was lost on its way, or nobody wants it any more. */
  #taken(
    lease: Lease,
    basisMs: number,
    lateGrants = 0,
  ): Promise<HeldLease | undefined> | HeldLease | undefined {
    const { asked, clock, marginMs, find, keep, giveBack } = this.#settings;
    if (this.#isAbandoned) {
      giveBack(lease.leaseId);
      return undefined;
    }
    const known = find(lease.leaseId);
    if (known) return known;
    const held = new HeldLease(lease, basisMs, marginMs, clock, hasTerms(asked));
    if (held.isTooEarly) return this.#late(lease, lateGrants + 1);
    // In this very turn, so that nothing that is said of it is missed.
    keep(held);
    this.#kept.push(held);
    return held;
  }

  /** Of one that always comes too late to be relied on, the ttl is too short. */
  #late({ leaseId, lockName }: Lease, lateGrants: number): Promise<HeldLease | undefined> | undefined {
    if (lateGrants <= LATE_GRANTS_MAX) return this.#renewed(leaseId, lateGrants);
    this.#unused(leaseId, RowlockError.ttlTooShort(lockName));
    return undefined;
  }

  /** It fails, and nothing of what it has taken is left. */
  #unused(leaseId: string, error: RowlockError): void {
    this.#settings.giveBack(leaseId);
    this.#fail(error);
  }

  /** The grant was long on its way, or came after a wait: nobody relies on it before it is renewed. */
  #renewed(leaseId: string, lateGrants: number): Promise<HeldLease | undefined> {
    const { calls, giveUpAfterMs } = this.#settings;
    const answer = Promise.withResolvers<HeldLease | undefined>();
    calls.begin({
      kind: "urgent",
      command: () => ({ case: "renew", value: create(RenewRequestSchema, { leaseId }) }),
      repeat: "always",
      giveUpAfterMs: () => giveUpAfterMs,
      answered: (result, basisMs) => {
        const lease = result.case === "renew" ? result.value.lease : undefined;
        answer.resolve(lease && this.#taken(lease, basisMs, lateGrants));
        return true;
      },
      failed: (error) => {
        if (!GONE.includes(error.reason)) this.#unused(leaseId, error);
        answer.resolve(undefined);
      },
    });
    return answer.promise;
  }

  #settle(captured: CapturedLeases): void {
    this.#isSettled = true;
    this.#outcome.resolve(captured);
  }

  #fail(error: unknown): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#isAbandoned = true;
    this.#outcome.reject(error);
    for (const lease of this.#kept.splice(0)) this.#settings.letGo(lease);
  }
}
