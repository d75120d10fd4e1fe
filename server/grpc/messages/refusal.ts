// Expected answers of "no", as messages that a program acts on and a person understands. Pure: the caller passes the
// holders.

import { create } from "@bufbuild/protobuf";
import { type ClaimEnd, type Refusal, RefusalReason, RefusalSchema } from "#proto/rowlock/v1/lock_pb.js";
import { SHOWN_BY_REFUSAL_MAX } from "../../core/bounds.ts";
import type { Claim, EndReason } from "../../core/claim.ts";
import type { OutcomeNamed, Refused } from "../../core/command.ts";
import type { EffectiveLimit, EffectiveQueueRules, EffectiveRate } from "../../core/limit.ts";
import { rateText as textOfRate } from "../../core/rate.ts";
import * as messages from "./messages.ts";

export interface Holders {
  readonly nowUs: number;
  readonly claims: readonly Claim[];
  /** Of several locks, by their ids; unset: all are of the lock that the answer is about. */
  readonly lockNames?: ReadonlyMap<bigint, string>;
}

export function showsHolders(reason: Refused | EndReason): boolean {
  return reason === "busy" || reason === "timed_out";
}

/** Says why a request left no claim behind. `holders`: null unless showsHolders. */
export function refusedMessage(
  firstName: string,
  refused: OutcomeNamed<"refused">,
  permits: number,
  holders: Holders | null,
): Refusal {
  const { rate, queueRules, at } = refused;
  const lockName = at?.lockName ?? firstName;
  const isByPool = refused.limit.source === "pool" && Number.isFinite(refused.limit.limit);
  const byLimit =
    isByPool || refused.reason === "paused" || (refused.reason === "never_fits" && !rate && !queueRules);
  return create(RefusalSchema, {
    reason: REASONS[refused.reason],
    message: refusedText(lockName, refused, permits, holders),
    status: refused.status ?? "",
    lockName: at?.lockName ?? "",
    ...shownHolders(lockName, holders, refused.forUs),
    ...(byLimit && { limit: messages.limitMessage(refused.limit) }),
    ...(rate && { rate: messages.rateInForceMessage(rate) }),
    ...(queueRules && { queueRules: messages.queueRulesInForceMessage(queueRules) }),
  });
}

/**
 * Says how a claim ended that was asked for again or waited for. `holders`: null unless showsHolders. `limit`: the
 * limit now in force, if the claim no longer fits it, or waited in vain because it is 0. `lockName`: of several locks, the one that
 * this is about.
 */
export function endedMessage(
  lockName: string,
  claim: Claim,
  holders: Holders | null,
  limit: EffectiveLimit | null = null,
): ClaimEnd {
  const { permits } = claim.members?.find(({ name }) => name === lockName) ?? claim;
  return {
    ...messages.endMessage(claim),
    message: `${quoted(lockName)}: ${endedText({ ...claim, permits }, claim.endReason as EndReason, limit)}`,
    ...shownHolders(lockName, holders),
    ...(limit && { limit: messages.limitMessage(limit) }),
  };
}

const REASONS: Readonly<Record<Refused, RefusalReason>> = {
  busy: RefusalReason.BUSY,
  paused: RefusalReason.PAUSED,
  failed_over: RefusalReason.PAUSED,
  not_before: RefusalReason.NOT_BEFORE,
  queue_full: RefusalReason.QUEUE_FULL,
  never_fits: RefusalReason.NEVER_FITS,
  exhausted: RefusalReason.EXHAUSTED,
  status_mismatch: RefusalReason.STATUS_MISMATCH,
  rate: RefusalReason.RATE,
};

/** The fields about holders. `forUs`: how long the refusal stays so at least; by default, until the first lease ends. */
function shownHolders(lockName: string, holders: Holders | null, forUs?: number) {
  const retryUs = forUs ?? (holders && nextEndUs(holders));
  const nameOf = ({ lockId }: Claim) => holders?.lockNames?.get(lockId) ?? lockName;
  return {
    holders: holders?.claims.map((claim) => messages.claimMessage(claim, nameOf(claim))) ?? [],
    ...(retryUs !== null && { retryAfter: messages.durationMessage(retryUs) }),
  };
}

function refusedText(
  lockName: string,
  { reason, limit, rate, queueRules, forUs, status, at }: OutcomeNamed<"refused">,
  permits: number,
  holders: Holders | null,
): string {
  const name = quoted(lockName);
  switch (reason) {
    case "busy":
      if (limit.source === "pool") return `${name} must wait: ${poolText(limit)} has no room now.`;
      return `${name} is busy: ${heldText(limit.limit, holders)}.`;
    case "paused":
      return `${name} is paused: ${limitText(limit)}. Wait in its queue, or try again when an operator has raised it.`;
    case "failed_over":
      return (
        `${name} is paused: the database has failed over, and leases that it may have lost must end first. ` +
        `Wait in its queue, or try again in ${messages.spanText(forUs ?? 0)}.`
      );
    case "queue_full":
      if (limit.source === "pool") return `The queue of ${poolText(limit)} is full. Try again later.`;
      if (queueRules) return `The queue of ${name} is full: ${fullText(queueRules)}`;
      return `The queue of ${name} is full. Try again later.`;
    case "never_fits": {
      if (queueRules)
        return `No request for several locks may wait for ${name}, because its queue rules ${whyNoSets(queueRules)}${byText(queueRules)}. Ask for it alone.`;
      // A pool counts the permits of all of the locks under it.
      const ofWhat = at && limit.source === "pool" ? "" : ` of ${name}`;
      return `${permits} permits${ofWhat} can never be granted: ${rate ? burstText(rate) : limitText(limit)}.`;
    }
    case "not_before":
      return `${name} is not due yet. Wait in its queue, or try again in ${messages.spanText(forUs ?? 0)}.`;
    case "rate":
      return `${name} is granted at ${rateText(rate)}. Wait in its queue, or try again in ${messages.spanText(forUs ?? 0)}.`;
    case "exhausted":
      return `${name} has no attempts left: set new ones with UpdateRecord, or with the Release of a holder.`;
    case "status_mismatch":
      return `${name} has the status ${quoted(status ?? "")}, which is none of those wanted.`;
  }
}

/** Such as: the pool "openai/*" with its limit of 50 for all names under it (reason: their quota). */
function poolText({ limit, pattern, reason }: EffectiveLimit): string {
  const which = pattern === "" ? "a pool" : `the pool ${quoted(pattern)}`;
  const bound = Number.isFinite(limit) ? ` with its limit of ${limit} for all names under it` : "";
  return `${which}${bound}${reason === "" ? "" : ` (reason: ${reason})`}`;
}

function limitText(effective: EffectiveLimit): string {
  if (effective.source === "pool") return poolText(effective);
  return `its limit is ${effective.limit}${byText(effective)}`;
}

function rateText(rate: EffectiveRate | undefined): string {
  if (!rate) return "a rate";
  const what = rate.source === "pool" ? "pool" : "pattern";
  const by = rate.pattern === "" ? "" : ` by the ${what} ${quoted(rate.pattern)}`;
  const why = rate.reason === "" ? "" : ` (reason: ${rate.reason})`;
  return `a rate of ${textOfRate(rate)}${by}${why}`;
}

function whyNoSets({ shareBy, headStartMaxUs }: EffectiveQueueRules): string {
  if (headStartMaxUs > 0) return "allow head starts";
  return shareBy === null ? "end the longest waiting" : "share it fairly";
}

function fullText(queueRules: EffectiveQueueRules): string {
  const most = `at most ${queueRules.waitingMax} may wait${byText(queueRules)}`;
  if (queueRules.whenFull === "refuse") return `${most}. Try again later.`;
  return `${most}, and the longest waiting is another principal's, which takes the right supersede. Try again later.`;
}

/** Of a limit or of queue rules: by which pattern, and why. */
function byText({ pattern, reason }: Pick<EffectiveLimit, "pattern" | "reason">): string {
  const by = pattern === "" ? "" : `, by the pattern ${quoted(pattern)}`;
  return `${by}${reason === "" ? "" : ` (reason: ${reason})`}`;
}

function burstText(rate: EffectiveRate): string {
  return `it has ${rateText(rate)}, whose burst is ${rate.burst}`;
}

function heldText(limit: number, holders: Holders | null): string {
  if (!holders || holders.claims.length === 0) return "others wait for it";
  const { claims } = holders;
  const who = claims[0]?.owner ? ` (the oldest by ${quoted(claims[0].owner)})` : "";
  return `${holdText(claims, limit)}${who}${untilText(holders)}`;
}

function holdText(claims: readonly Claim[], limit: number): string {
  const mode = claims[0]?.mode;
  if (mode === "exclusive") return "a writer holds it";
  if (mode === "shared") return `${claims.length === 1 ? "a reader holds" : "readers hold"} it`;
  const permits = claims.reduce((sum, claim) => sum + claim.permits, 0);
  const atLeast = claims.length < SHOWN_BY_REFUSAL_MAX ? "" : "at least ";
  return `${atLeast}${permits} of ${limit} ${limit === 1 ? "permit is" : "permits are"} held`;
}

function untilText(holders: Holders): string {
  const endUs = nextEndUs(holders);
  return endUs === null
    ? "; none of their leases has an end"
    : `; the next lease ends in ${messages.spanText(endUs)} unless renewed`;
}

function nextEndUs({ nowUs, claims }: Holders): number | null {
  const left = claims.map((claim) => messages.leaseLeftUs(claim, nowUs)).filter((leftUs) => leftUs !== null);
  return left.length === 0 ? null : Math.min(...left);
}

function endedText(claim: Claim, reason: EndReason, limit: EffectiveLimit | null): string {
  switch (reason) {
    case "released":
      return "the lease was released.";
    case "failed":
      return "the lease was released, as its work had failed.";
    case "expired":
      return "the lease's time to live ran out.";
    case "force_released":
      return `an operator ended the claim: ${claim.endNote}`;
    case "cancelled":
      return "the place in the queue was given up.";
    case "lapsed":
      return claim.grantedAtUs === null
        ? "the place in the queue was lost, because the client gave no sign of life."
        : "the lock was granted, but nobody fetched the lease in time.";
    case "timed_out":
      return `max_wait has passed before the lock was granted${limit ? `: it is paused, as ${limitText(limit)}` : ""}.`;
    case "never_fits":
      return `${claim.permits} permits can no longer be granted: the limit, or the burst of the rate, is lower.`;
    case "exhausted":
      return "the lock had no attempts left when its turn came.";
    case "spent":
      return "it was granted, and took what it asked for.";
    case "superseded":
      return "a newer request took the place in the queue, as the lock's queue rules say.";
    case "status_mismatch":
      return `the lock had the status ${quoted(claim.endNote)} when its turn came, which is none of those wanted.`;
  }
}

function quoted(text: string): string {
  return `"${text}"`;
}
