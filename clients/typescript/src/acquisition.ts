// The request for one claim, for one lock or several, from the first try to the grant or the refusal, over any number of
// connections. If the caller gives up, the acquisition gives the place back as soon as it knows the ticket. A request that
// only spends goes the same way, but its grant leaves nothing to hold or to give back.

import { create } from "@bufbuild/protobuf";
import { type ClaimEnd, EndReason, type Lease } from "#proto/rowlock/v1/lock_pb.js";
import {
  type AcquireRequest,
  AcquireRequestSchema,
  QueueRequestSchema,
  RenewRequestSchema,
  WaitInQueueRequestSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { wantedLock } from "./also.ts";
import type { Clock } from "./clock.ts";
import type { Call } from "./connection/call.ts";
import type { Calls } from "./connection/calls.ts";
import type { Command, Connection, Result } from "./connection/connection.ts";
import { untilGivenUp } from "./give-up.ts";
import { leaseTermsOf, spendTermsOf } from "./lease-terms.ts";
import { HeldLease } from "./leases/held-lease.ts";
import { protoMode } from "./mode.ts";
import type { LockOptions, Place } from "./options.ts";
import { type Spent, spentView } from "./rates.ts";
import { hasTerms } from "./records.ts";
import { type Refusal, refusalOf, refusalOfEnd } from "./refusal.ts";
import { newRequestId } from "./request-id.ts";
import { RowlockError } from "./rowlock-error.ts";
import { durationOf, msOf } from "./times.ts";

/** The caller never learned of the lease, or the place was lost: asking again takes nothing from anybody. */
const UNTOLD_ENDS: readonly EndReason[] = [EndReason.LAPSED, EndReason.EXPIRED];
const UNTOLD_FAILURES = ["UNKNOWN_CLAIM", "LEASE_LOST"];
/** How many times a lease that arrives too late to be relied on is renewed before the acquisition fails. */
const LATE_GRANTS_MAX = 3;
/** How long the server may take to report that a wait is over. */
const LATE_MS = 2_000;
/** The interval between positions if nobody looks at them. */
const SELDOM_MS = 3_600_000;
const INTERVAL_MS = 1_000;
/** The pause before it asks again after an outdated grant. */
const OUTDATED_AGAIN_MS = 150;

export interface AcquisitionOptions {
  readonly calls: Calls;
  readonly clock: Clock;
  readonly name: string;
  readonly asked: LockOptions;
  /** Only take permits of the lock's rate. */
  readonly spendOnly?: boolean;
  readonly giveUpAfterMs: number;
  readonly marginMs: number;
  /** The trace context of the request. */
  readonly traceparent?: string;
  /** Returns a lease that this client already holds, as an earlier call with the same request id got it. */
  readonly find: (leaseId: string) => HeldLease | undefined;
  /** Holds and renews a lease from now on. */
  readonly keep: (lease: HeldLease) => void;
  /** Gives back a claim that nobody wants any more. */
  readonly giveBack: (id: string) => void;
  /** Gives back the lease without end that a server may have granted for this request. */
  readonly giveBackUnheard: (request: AcquireRequest) => void;
  /** Called with the first place in the queue. */
  readonly waits?: (acquisition: Acquisition) => void;
  /** Whether another call of this client waits for the same claim. */
  readonly isShared: (acquisition: Acquisition) => boolean;
}

export class Acquisition {
  readonly #options: AcquisitionOptions;
  readonly #outcome = Promise.withResolvers<HeldLease | Spent | Refusal>();
  readonly #untilMs: number;
  #requestId: string;
  #ticketId: string | undefined;
  #call: Call | undefined;
  #lateGrants = 0;
  #isSettled = false;
  #isAbandoned = false;
  /** The leases of its request id that this client has released meanwhile. */
  readonly #released = new Set<string>();
  #place: Place | undefined;

  constructor(options: AcquisitionOptions) {
    const { asked, clock } = options;
    const { wait = "forever" } = asked;
    this.#options = options;
    this.#requestId = asked.requestId ?? newRequestId();
    this.#untilMs = wait === "forever" ? Number.POSITIVE_INFINITY : clock.now() + wait;
  }

  /** Asks for the lock. Call it once. Rejects with a RowlockError, or with the reason of the signal. */
  async run(): Promise<HeldLease | Spent | Refusal> {
    const { signal } = this.#options.asked;
    return await untilGivenUp(
      signal,
      (why) => this.abandon(why),
      () => {
        this.#begin();
        return this.#outcome.promise;
      },
    );
  }

  /** Rejects with `why`, and gives back the place or lease that was or will be granted. */
  abandon(why: unknown): void {
    if (this.#isSettled) return;
    this.#settle(() => this.#outcome.reject(why));
    this.#isAbandoned = true;
    if (this.#ticketId) this.#giveBack(this.#ticketId);
    else if (this.#call?.timesSent === 0) this.#options.calls.cancel(this.#call);
  }

  /** Notes that this client has released a lease that another call under this request id had got. */
  released(leaseId: string): void {
    this.#released.add(leaseId);
  }

  /** The request id that the caller chose; undefined: the client made it, so nobody else can know it. */
  get sharedId(): string | undefined {
    return this.#options.asked.requestId;
  }

  /** Whether it has had a place in the queue. */
  get hasWaited(): boolean {
    return this.#place !== undefined;
  }

  /** The last known place in the queue. */
  get place(): Place | undefined {
    return this.#place;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  #settle(how: () => void): void {
    this.#isSettled = true;
    how();
  }

  /** Asks for the lock under another request id, as the claim of the last one is gone. */
  #again(): void {
    this.#requestId = newRequestId();
    this.#ticketId = undefined;
    this.#begin();
  }

  get #isWait(): boolean {
    return this.#options.asked.wait !== 0;
  }

  #begin(): void {
    this.#call = this.#options.calls.begin({
      kind: this.#isWait ? "wait" : "other",
      command: (connection) => this.#command(connection),
      repeat: "always",
      traceparent: this.#options.traceparent ?? "",
      giveUpAfterMs: () => this.#giveUpAfterMs(),
      answered: (result, basisMs) => this.#answered(result, basisMs),
      failed: (error) => this.#failed(error),
    });
  }

  #giveUpAfterMs(): number {
    const { giveUpAfterMs } = this.#options;
    return this.#isWait ? Math.min(giveUpAfterMs, this.#leftMs() + LATE_MS) : giveUpAfterMs;
  }

  #leftMs(): number {
    return Math.max(1, this.#untilMs - this.#options.clock.now());
  }

  #command({ via }: Connection): Command {
    const { asked } = this.#options;
    if (!this.#isWait) return { case: "acquire", value: create(AcquireRequestSchema, this.#request()) };
    const value = create(WaitInQueueRequestSchema, {
      target:
        this.#ticketId && via === "session"
          ? { case: "ticketId", value: this.#ticketId }
          : {
              case: "request",
              value: create(QueueRequestSchema, { ...this.#request(), ...this.#maxWait() }),
            },
      minUpdateInterval: durationOf(asked.onPosition ? (asked.positionInterval ?? INTERVAL_MS) : SELDOM_MS),
    });
    return { case: "waitInQueue", value };
  }

  /** The fields of its requests, whether they wait or not. */
  #request() {
    const { name, asked, spendOnly = false } = this.#options;
    const { permits = 0, mode = "permit", also = [], headStart = 0 } = asked;
    const terms = spendOnly ? spendTermsOf(asked) : leaseTermsOf(asked);
    const requestId = this.#requestId;
    const more = { also: also.map(wantedLock), ...(headStart > 0 && { headStart: durationOf(headStart) }) };
    return { name, mode: protoMode(mode), permits, terms, requestId, spendOnly, ...more };
  }

  #maxWait() {
    return this.#untilMs < Number.POSITIVE_INFINITY ? { maxWait: durationOf(this.#leftMs()) } : {};
  }

  #answered(result: Result, basisMs: number): boolean {
    const update =
      result.case === "acquire"
        ? result.value.outcome
        : result.case === "waitInQueue"
          ? result.value.update
          : undefined;
    switch (update?.case) {
      case "lease":
      case "granted":
        this.#granted(update.value, basisMs);
        return true;
      case "spent": {
        const spent = spentView(update.value);
        if (!this.#isAbandoned) this.#settle(() => this.#outcome.resolve(spent));
        return true;
      }
      case "refusal": {
        const refusal = refusalOf(update.value);
        this.#settle(() => this.#outcome.resolve(refusal));
        return true;
      }
      case "ended":
        this.#ended(update.value);
        return true;
      case "position": {
        const { ticketId, ahead, permitsAhead, queueLength, waited, rateWait, pool, waitsFor } = update.value;
        const isFirst = this.#place === undefined;
        const waitedMs = waited ? msOf(waited) : 0;
        this.#ticketId = ticketId;
        this.#place = {
          ticketId,
          ahead,
          permitsAhead: Number(permitsAhead),
          queueLength,
          waitedMs,
          ...(rateWait && { rateWaitMs: msOf(rateWait) }),
          ...(pool !== "" && { pool }),
          ...(waitsFor !== "" && { waitsFor }),
        };
        if (this.#isAbandoned) {
          this.#giveBack(ticketId);
          return true;
        }
        try {
          if (isFirst) this.#options.waits?.(this);
          this.#options.asked.onPosition?.(this.#place);
        } catch (error) {
          this.abandon(error);
        }
        return this.#isAbandoned;
      }
      default:
        this.#failed(new RowlockError("UNKNOWN", "INTERNAL", `The server answered with ${update?.case}.`));
        return true;
    }
  }

  #granted(lease: Lease, basisMs: number): void {
    if (this.#isAbandoned) {
      this.#unwanted(lease.leaseId);
      return;
    }
    if (this.#options.spendOnly) {
      this.#ticketId = lease.leaseId;
      this.abandon(RowlockError.cannotSpend());
      return;
    }
    if (lease.also.length < (this.#options.asked.also ?? []).length) {
      this.#ticketId = lease.leaseId;
      this.abandon(RowlockError.cannotTakeSeveral());
      return;
    }
    if (this.#released.has(lease.leaseId)) {
      // The answer is older than the release. A little later, the server reports the release.
      setTimeout(() => this.#isSettled || this.#begin(), OUTDATED_AGAIN_MS);
      return;
    }
    const { asked, clock, marginMs, find, keep } = this.#options;
    const known = find(lease.leaseId);
    if (known) {
      this.#settle(() => this.#outcome.resolve(known));
      return;
    }
    const held = new HeldLease(lease, basisMs, marginMs, clock, hasTerms(asked));
    if (held.isTooEarly) {
      this.#ticketId = lease.leaseId;
      this.#lateGrants += 1;
      if (this.#lateGrants > LATE_GRANTS_MAX) this.abandon(RowlockError.ttlTooShort(lease.lockName));
      else this.#renew(lease.leaseId);
      return;
    }
    // In this turn, so that no later message about this lease is missed.
    keep(held);
    this.#settle(() => this.#outcome.resolve(held));
  }

  /** Renews the lease before anybody relies on it: the grant took long to arrive, or is not confirmed yet. */
  #renew(leaseId: string): void {
    this.#call = this.#options.calls.begin({
      kind: "urgent",
      command: () => ({ case: "renew", value: create(RenewRequestSchema, { leaseId }) }),
      repeat: "always",
      traceparent: this.#options.traceparent ?? "",
      giveUpAfterMs: () => this.#options.giveUpAfterMs,
      answered: (result, basisMs) => {
        if (result.case === "renew" && result.value.lease) this.#granted(result.value.lease, basisMs);
        return true;
      },
      failed: (error) => this.#failed(error),
    });
  }

  #ended(end: ClaimEnd): void {
    const isLeft = !this.#isWait || this.#options.clock.now() < this.#untilMs;
    if (UNTOLD_ENDS.includes(end.reason) && isLeft && this.#mayAskAgain) this.#again();
    else this.#settle(() => this.#outcome.resolve(refusalOfEnd(end)));
  }

  #failed(error: RowlockError): void {
    if (UNTOLD_FAILURES.includes(error.reason) && this.#ticketId && this.#mayAskAgain) {
      this.#again();
      return;
    }
    const why = this.#leave(error);
    this.#settle(() => this.#outcome.reject(why));
  }

  /**
   * Gives back the claim that a server may have granted, and returns the error for the caller. If the ticket is not
   * known, a lease with an end ends by itself. If the caller chose the request id, the claim stays, as the caller may
   * ask for it again under that id.
   */
  #leave(error: RowlockError): RowlockError {
    const { asked, giveBackUnheard, name } = this.#options;
    if (!error.leavesInDoubt || !this.#call?.mayBeKnown) return error;
    const isOwn = asked.requestId === undefined || this.#isAbandoned;
    if (this.#ticketId) {
      if (isOwn) this.#giveBack(this.#ticketId);
    } else if (asked.ttl === "forever" && isOwn && !this.#options.isShared(this))
      giveBackUnheard(create(AcquireRequestSchema, this.#request()));
    return asked.ttl === "forever" ? error.mayBeHeld(name, this.#requestId, isOwn) : error;
  }

  /** Whether another request id may be used: one that the caller chose stands for one claim. */
  get #mayAskAgain(): boolean {
    return this.#options.asked.requestId === undefined && !this.#isAbandoned;
  }

  #giveBack(ticketId: string): void {
    if (this.#call) this.#options.calls.cancel(this.#call);
    this.#unwanted(ticketId);
  }

  #unwanted(id: string): void {
    if (!this.#options.isShared(this)) this.#options.giveBack(id);
  }
}
