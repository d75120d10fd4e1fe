// A capture of some of many locks, from the first try to the leases, or to none, over any number of connections.
// It splits a long wait into short requests, so that it detects a server that hangs and no proxy cuts the wait off. A
// capture has no place in a queue that this could lose.

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
import { leaseTermsOf } from "./lease-terms.ts";
import { HeldLease } from "./leases/held-lease.ts";
import type { Forever } from "./options.ts";
import { hasTerms, type RecordOptions } from "./records.ts";
import { newRequestId } from "./request-id.ts";
import { RowlockError } from "./rowlock-error.ts";
import { durationOf, msOf } from "./times.ts";

/** The longest piece of a wait; a piece also takes at most half of `giveUpAfter`. */
const PIECE_MS = 15_000;
/** As for one lock: see acquisition.ts. */
const LATE_GRANTS_MAX = 3;
/** A lease that fails so has ended: there is nothing to give back. */
const GONE = ["LEASE_LOST", "UNKNOWN_CLAIM"];

/** The options of a capture. All times are milliseconds. */
export interface CaptureOptions extends RecordOptions {
  /** Choose among locks whose names begin so and that have a record; "": all. Set either `prefix` or `names`. */
  readonly prefix?: string;
  /** Choose among these locks, at most 1,000; locks that do not exist yet count as free and due. */
  readonly names?: readonly string[];
  /** The most locks to take, 1 to 100; 1 by default. */
  readonly count?: number;
  /** The longest wait for the first lock; 0 by default: do not wait. */
  readonly wait?: number | Forever;
  /** Time to live of each lease; 30,000 by default. The client renews each lease after each third of it. */
  readonly ttl?: number;
  /** Cancels the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The owner of these claims; by default that of the client. */
  readonly owner?: string;
  /** Labels of these claims, in addition to those of the client. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * The same id always means the same leases, so a retry is safe: it gets those that are still held. When all have
   * ended it gets none, and at once, whatever `wait` is. Default: a new id for each request.
   */
  readonly requestId?: string;
  /** As for a lock. */
  readonly margin?: number;
}

/** The captured leases, longest due first. */
export interface CapturedLeases {
  readonly leases: readonly HeldLease[];
  /** If there are no leases: how long until another try may succeed; undefined if the server does not know. */
  readonly retryAfterMs?: number | undefined;
}

export interface CaptureSettings {
  readonly calls: Calls;
  readonly clock: Clock;
  readonly asked: CaptureOptions;
  readonly giveUpAfterMs: number;
  readonly marginMs: number;
  /** The trace context of the request. */
  readonly traceparent?: string;
  /** Returns a lease that this client already holds, as an earlier call with the same request id got it. */
  readonly find: (leaseId: string) => HeldLease | undefined;
  /** Holds and renews a lease from now on. */
  readonly keep: (lease: HeldLease) => void;
  /** Gives back a lease that nobody wants any more. */
  readonly giveBack: (id: string) => void;
  /** Gives back a lease that was kept. */
  readonly letGo: (lease: HeldLease) => void;
}

export class Capture {
  readonly #settings: CaptureSettings;
  readonly #outcome = Promise.withResolvers<CapturedLeases>();
  readonly #untilMs: number;
  readonly #kept: HeldLease[] = [];
  /** The leases of its request id that this client has released meanwhile. */
  readonly #released = new Set<string>();
  #requestId = "";
  #pieceEndsMs = 0;
  /** Answers with leases so far; if too many end before anybody can rely on them, the ttl is too short. */
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

  /** Asks for the leases. Call it once. Rejects with a RowlockError, or with the reason of the signal. */
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

  /** Rejects with `why`, and gives back the leases that were or will be granted. */
  abandon(why: unknown): void {
    if (this.#isSettled) return;
    this.#fail(why);
    if (this.#call?.timesSent === 0) this.#settings.calls.cancel(this.#call);
    else if (this.#call && this.#isWait) this.#settings.calls.withdraw(this.#call);
  }

  /** Notes that this client has released a lease that another call under this request id had got. */
  released(leaseId: string): void {
    this.#released.add(leaseId);
  }

  /** The request id that the caller chose; undefined: each request has an id of its own. */
  get sharedId(): string | undefined {
    return this.#settings.asked.requestId;
  }

  get #isWait(): boolean {
    const { wait = 0 } = this.#settings.asked;
    return wait !== 0;
  }

  #begin(): void {
    const { asked, calls, clock, giveUpAfterMs, traceparent = "" } = this.#settings;
    // A new id for each piece: if the last one got leases that were lost on their way, it never gets others.
    this.#requestId = asked.requestId ?? newRequestId();
    const pieceMs = Math.min(this.#leftMs(), PIECE_MS, giveUpAfterMs / 2);
    this.#pieceEndsMs = clock.now() + pieceMs;
    this.#call = calls.begin({
      kind: this.#isWait ? "wait" : "other",
      command: () => ({ case: "capture", value: this.#request() }),
      repeat: "always",
      traceparent,
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
    // The connection was lost, and the caller has given up.
    if (this.#isAbandoned) throw RowlockError.cancelled();
    const { asked, clock } = this.#settings;
    const { prefix, names, count = 1 } = asked;
    return create(CaptureRequestSchema, {
      ...(prefix !== undefined && { from: { case: "prefix", value: prefix } }),
      ...(names !== undefined && { from: { case: "names", value: { names: [...names] } } }),
      maxLeases: count,
      terms: leaseTermsOf(asked),
      requestId: this.#requestId,
      ...(this.#isWait && { maxWait: durationOf(Math.max(1, this.#pieceEndsMs - clock.now())) }),
    });
  }

  async #answered({ leases, retryAfter, isRepeated }: CaptureResponse, basisMs: number): Promise<void> {
    const taken = await Promise.all(leases.map((lease) => this.#taken(lease, basisMs)));
    if (this.#isSettled) return;
    const held = taken.filter((lease) => lease !== undefined);
    // The caller's own request id had leases before, and never gets others.
    const isSpent = isRepeated && this.#settings.asked.requestId !== undefined;
    if (leases.length > 0) this.#lateAnswers += 1;
    if (held.length > 0) this.#settle({ leases: held });
    else if (leases[0] && this.#lateAnswers > LATE_GRANTS_MAX)
      this.#fail(RowlockError.ttlTooShort(leases[0].lockName));
    else if (this.#isWait && !isSpent && this.#settings.clock.now() < this.#untilMs) this.#begin();
    else this.#settle({ leases: [], retryAfterMs: retryAfter && msOf(retryAfter) });
  }

  /** Keeps a lease and returns it; undefined if it has ended, was released meanwhile, or the caller has given up. */
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
    // The answer is older than the release.
    if (this.#released.has(lease.leaseId)) return undefined;
    const known = find(lease.leaseId);
    if (known) return known;
    const held = new HeldLease(lease, basisMs, marginMs, clock, hasTerms(asked));
    if (held.isTooEarly) return this.#late(lease, lateGrants + 1);
    // In this turn, so that no later message about this lease is missed.
    keep(held);
    this.#kept.push(held);
    return held;
  }

  /** Renews a lease that came too late to be relied on; fails the capture if that happens too often. */
  #late({ leaseId, lockName }: Lease, lateGrants: number): Promise<HeldLease | undefined> | undefined {
    if (lateGrants <= LATE_GRANTS_MAX) return this.#renewed(leaseId, lateGrants);
    this.#unused(leaseId, RowlockError.ttlTooShort(lockName));
    return undefined;
  }

  /** Fails the capture, and gives back all its leases. */
  #unused(leaseId: string, error: RowlockError): void {
    this.#settings.giveBack(leaseId);
    this.#fail(error);
  }

  /** Renews the lease before anybody relies on it: the grant took long to arrive, or came after a wait. */
  #renewed(leaseId: string, lateGrants: number): Promise<HeldLease | undefined> {
    const { calls, giveUpAfterMs, traceparent = "" } = this.#settings;
    const answer = Promise.withResolvers<HeldLease | undefined>();
    calls.begin({
      kind: "urgent",
      command: () => ({ case: "renew", value: create(RenewRequestSchema, { leaseId }) }),
      repeat: "always",
      traceparent,
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
