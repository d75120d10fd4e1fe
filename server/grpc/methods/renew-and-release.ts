// Renew and Release: the methods by which a client keeps its leases, or gives them back.

import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import type { ReleaseRequest, RenewLeases, RenewRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { AccessError } from "../../access/access-error.ts";
import type { Needed } from "../../access/rights.ts";
import type { ClaimRef } from "../../core/claim.ts";
import type { Outcome, Release, Renew } from "../../core/command.ts";
import type { RunResult } from "../../core/lock.ts";
import type { AnswerTo } from "../../engine/answers.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { OVERLOADED_RETRY_AFTER_MS } from "../../engine/engine-bounds.ts";
import { Fault } from "../../engine/faults.ts";
import { authorize, shownEnd } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import { RENEWED_AT_ONCE_MAX, RENEWED_LATER_MS_MAX } from "../grpc-bounds.ts";
import { CallError, leaseLost, notGrantedYet, unknownClaim } from "../messages/call-error.ts";
import { leaseMessage } from "../messages/messages.ts";
import { failureOf } from "../messages/status.ts";
import { costOfRenewal } from "../renewal-bounds.ts";
import { OneDecision, type To } from "./claims.ts";
import { type Check, DELAY, TTL } from "./fields.ts";

/** Fails with LEASE_LOST, NOT_GRANTED_YET or UNKNOWN_CLAIM. */
export function renew({ engine }: MethodContext, asked: CheckedRenew, call: Call<RenewMessage>): void {
  new Renewal(engine, { verb: "renew", ...asked, caller: call }, call, call).enter();
}

type RenewMessage = { readonly lease: Lease };

abstract class Keeping<Command extends Renew | Release, Message> extends OneDecision<
  AnswerTo<Command["verb"]>,
  Message
> {
  readonly #engine: Pick<LockEngine, "beginAsk">;
  readonly #command: Command;
  readonly #paid: (cost: number | null) => void;

  /** Throws OVERLOADED. */
  constructor(engine: Pick<LockEngine, "beginAsk">, command: Command, call: Call, reply: To<Message>) {
    super(call, reply);
    this.#engine = engine;
    this.#command = command;
    this.#paid = call.client.renewals.begin(command.ref);
  }

  protected get ref(): ClaimRef {
    return this.#command.ref;
  }

  protected ask(): void {
    this.#engine.beginAsk<Command>(this.#command, this);
  }

  /** What the database could not answer costs nothing. */
  protected ended(answer: AnswerTo<Command["verb"]> | null): void {
    this.#paid(answer && costOf(answer.outcome));
  }
}

function costOf(outcome: Outcome): number {
  if (outcome.kind === "released") return outcome.byThisCall ? 0 : 1;
  if (outcome.kind !== "held" || outcome.ranUs === undefined) return 1;
  return costOfRenewal(outcome.claim.ttlUs, outcome.ranUs);
}

class Renewal extends Keeping<Renew, RenewMessage> {
  protected messageOf({ outcome, lockName, nowUs }: AnswerTo<"renew">): RenewMessage {
    switch (outcome.kind) {
      case "held":
        return { lease: leaseMessage(outcome.claim, lockName, nowUs) };
      case "waiting":
        throw notGrantedYet();
      case "ended":
        this.call.reportsEnd?.(this.ref, outcome.claim);
        throw leaseLost(shownEnd(this.call, outcome.claim, lockName));
      case "unknown_claim":
        this.call.reportsEnd?.(this.ref);
        throw unknownClaim();
    }
  }
}

/**
 * If a renewal takes much longer than the first one, its answer is an error, though it may still take effect: its lock
 * is held up, and if the others waited for it, their holders would take their leases for lost.
 */
export async function renewLeases({ engine }: MethodContext, asked: readonly CheckedRenew[], call: Call) {
  const late = Promise.withResolvers<never>();
  // Avoids an unhandled rejection if nobody waits for it any more.
  late.promise.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const first = () => {
    timer ??= setTimeout(() => late.reject(tooLate()), RENEWED_LATER_MS_MAX);
  };
  const leases = await Promise.all(
    asked.map(async (checked) => {
      try {
        const authorizing = authorize(call, RENEW, { lockId: checked.ref.lockId }, engine);
        if (authorizing) await authorizing;
        const { promise, resolve, reject } = Promise.withResolvers<Lease>();
        const answer = (message?: RenewMessage | Buffer) => resolve((message as RenewMessage).lease);
        new Renewal(engine, { verb: "renew", ...checked, caller: call }, call, {
          answer,
          fail: reject,
        }).enter();
        const value = await Promise.race([promise, late.promise]);
        first();
        return { outcome: { case: "lease" as const, value } };
      } catch (error) {
        // Anything else is a bug, and fails the whole command.
        if (!(error instanceof CallError || error instanceof Fault || error instanceof AccessError))
          throw error;
        if (error instanceof AccessError) call.denied?.(error);
        // Anything else was no answer of the database, and says nothing about how long the others take.
        if (error instanceof CallError) first();
        return { outcome: failed(error) };
      }
    }),
  );
  clearTimeout(timer);
  // A lease may have ended while this command waited for others.
  return {
    leases: leases.map((renewed, index) => {
      const ended = call.endOf?.((asked[index] as CheckedRenew).ref);
      return ended ? { outcome: failed(leaseLost(ended)) } : renewed;
    }),
  };
}

/** A policy knows renewals by one name. */
const RENEW: Needed = { verb: "Renew", right: "use" };

function failed(error: unknown) {
  return { case: "error" as const, value: failureOf(error).packed };
}

function tooLate(): Fault {
  const message = "Another transaction holds the lock's rows, so it is not renewed yet: try again.";
  return new Fault("unavailable", "lock_wait_timeout", message, {
    retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
    outcomeUnknown: true,
  });
}

/** Answers whether this call ended the lease. Fails with NOT_GRANTED_YET or UNKNOWN_CLAIM. */
export function release({ engine }: MethodContext, asked: CheckedRelease, call: Call<ReleaseMessage>): void {
  new Releasing(engine, { verb: "release", ...asked, caller: call }, call, call).enter();
}

type ReleaseMessage = { readonly released: boolean };

class Releasing extends Keeping<Release, ReleaseMessage> {
  protected messageOf({ outcome }: AnswerTo<"release">): ReleaseMessage {
    switch (outcome.kind) {
      case "released":
        return { released: outcome.byThisCall };
      case "waiting":
        throw notGrantedYet();
      case "unknown_claim":
        this.call.reportsEnd?.(this.ref);
        throw unknownClaim();
    }
  }
}

type CheckedRenew = Pick<Renew, "ref" | "ttlUs">;
type CheckedRelease = Required<Pick<Release, "ref" | "result">> & Pick<Release, "failed">;

export function checkRenew({ leaseId, ttl }: RenewRequest, check: Check): CheckedRenew {
  const ref = check.claimId(leaseId, "lease_id");
  return { ref, ttlUs: check.duration(ttl, TTL, "ttl") };
}

export function checkRenewLeases({ leases }: RenewLeases, check: Check): CheckedRenew[] {
  const isMany = leases.length >= 1 && leases.length <= RENEWED_AT_ONCE_MAX;
  if (!isMany) check.add("leases", `has ${leases.length}; name 1 to ${RENEWED_AT_ONCE_MAX} leases`);
  return (isMany ? leases : []).map((lease, index) => checkRenew(lease, check.within(`leases[${index}]`)));
}

export function checkRelease(message: ReleaseRequest, check: Check): CheckedRelease {
  return {
    ref: check.claimId(message.leaseId, "lease_id"),
    result: checkResult(message, check),
    ...(message.failed && { failed: true }),
  };
}

function checkResult(message: ReleaseRequest, check: Check): RunResult | null {
  const coolDownUs = check.duration(message.coolDown, DELAY, "cool_down");
  const status = check.status(message.status, "status");
  const attemptsLeft = check.attempts(message.attemptsLeft);
  if (coolDownUs === undefined && status === undefined && attemptsLeft === undefined) return null;
  return {
    ...(coolDownUs !== undefined && { coolDownUs }),
    ...(status !== undefined && { status }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
  };
}
