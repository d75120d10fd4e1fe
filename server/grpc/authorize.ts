// What a caller may do and see. It is asked after the check of a request and before its method, so that a request with
// faults hears of them, and nothing is done or shown without a right. What an answer may not show of locks, and of what
// others have done there, is left out for every method and carrier, never refused.

import type { Identity } from "../access/access.ts";
import { labelsFixed, rightMissing } from "../access/access-error.ts";
import { EVERYTHING } from "../access/policy.ts";
import type { Needed, Right } from "../access/rights.ts";
import { LABELS_MAX } from "../core/bounds.ts";
import type { Claim } from "../core/claim.ts";
import type { Caller, Place } from "../core/command.ts";
import type { EffectiveLimit, EffectiveQueueRules, EffectiveRate } from "../core/limit.ts";
import type { LockRecord } from "../core/lock.ts";
import type { AcquireInput, ViewedLock } from "../engine/answers.ts";
import type { LockEngine } from "../engine/engine.ts";
import type { ExplainedLock, Explanation, WaitCause } from "../engine/history.ts";
import type { Client } from "./call.ts";

/** What a request touches. A verb that only shows names leaves out those that its caller may not see instead. */
export interface Touched {
  readonly names?: readonly string[];
  readonly prefix?: string;
  readonly lockId?: bigint;
  /** The right that is enough here, instead of that of the verb. */
  readonly right?: Right;
}

export const NOTHING: Touched = {};

/**
 * Throws RIGHT_MISSING, or rejects with it if the name of a lock must be looked up first. undefined: it is allowed. An id
 * of a lock that does not exist is refused like that of another's lock, except to callers who may use every lock: numbers
 * of locks can be guessed, and the answer must not say which ones there are. Throws OVERLOADED if the caller has guessed too
 * many.
 */
export function authorize(
  call: Caller & { readonly client: Pick<Client, "identity" | "renewals"> },
  needed: Needed,
  { names, prefix, lockId }: Touched,
  engine: Pick<LockEngine, "lockName">,
): Promise<void> | undefined {
  const { identity, renewals } = call.client;
  const { allowed, principal } = identity;
  if (allowed === EVERYTHING) return undefined;
  const denied = names?.find((name) => !allowed.on(needed, name));
  if (denied !== undefined) throw rightMissing(principal, needed, `"${denied}"`);
  if (prefix !== undefined && !allowed.under(needed, prefix))
    throw rightMissing(principal, needed, `all of "${prefix}*"`);
  if (lockId === undefined) return undefined;
  renewals.check();
  const check = (name: string | null) => {
    if (name === null ? allowed.under(needed, "") : allowed.on(needed, name)) return;
    // Also for a name that was known without a read: what is left must not distinguish the guesses.
    renewals.denied();
    // The name is not shown: numbers of locks can be guessed.
    throw rightMissing(
      principal,
      needed,
      "the lock of this lease or ticket",
      name === null ? undefined : `"${name}"`,
    );
  };
  const found = engine.lockName(lockId, call);
  if (found instanceof Promise) return found.then(check);
  check(found);
  return undefined;
}

type ToClient = { readonly client: { readonly identity: Identity } };

/** The request with the labels that the policy fixes for its caller. Throws RIGHT_MISSING if it has chosen another value. */
export function labelled<Ask extends { readonly labels: Claim["labels"] }>(by: ToClient, ask: Ask): Ask {
  const { labels: fixed, principal } = by.client.identity;
  if (!fixed) return ask;
  const { keys, own } = fixed;
  for (const key of keys) {
    const chosen = ask.labels[key];
    if (chosen === undefined || chosen === own[key]) continue;
    const what = own[key] === undefined ? "has none" : `has ${JSON.stringify(own[key])}`;
    throw labelsFixed(principal, `${principal} ${what} for ${JSON.stringify(key)}, so leave it out`);
  }
  const labels = { ...ask.labels, ...own };
  const count = Object.keys(labels).length;
  if (count > LABELS_MAX)
    throw labelsFixed(
      principal,
      `with these the request has ${count} labels, and at most ${LABELS_MAX} may be`,
    );
  return { ...ask, labels };
}

/** The same of an Acquire. Throws RIGHT_MISSING also if it asks for a head start, and may not. */
export function asAllowed(by: ToClient, ask: AcquireInput): AcquireInput {
  const { allowed, principal } = by.client.identity;
  const needed: Needed = { verb: "Acquire", right: "head_start" };
  if (ask.headStartUs && !allowed.on(needed, ask.name))
    throw rightMissing(principal, needed, `"${ask.name}" with a head start`);
  return labelled(by, ask);
}

export interface Seen {
  /** All of them begin with this. */
  readonly prefix: string;
  /** null: it may see all with that prefix. */
  readonly isSeen: ((name: string) => boolean) | null;
}

/** What a listing of the prefix may show. Throws RIGHT_MISSING if that is nothing at all. */
export function seenUnder({ client: { identity } }: ToClient, verb: string, prefix: string): Seen {
  const { allowed, principal } = identity;
  if (allowed === EVERYTHING) return { prefix, isSeen: null };
  const needed: Needed = { verb, right: "read" };
  const within = allowed.within(needed, prefix);
  if (within === null) throw rightMissing(principal, needed, `"${prefix}*"`);
  if (allowed.under(needed, within)) return { prefix: within, isSeen: null };
  return { prefix: within, isSeen: (name) => allowed.on(needed, name) };
}

/** Whether what concerns all names with the prefix may be shown, such as the limit of a pattern. */
export function maySeeAllUnder({ client: { identity } }: ToClient, verb: string, prefix: string): boolean {
  return identity.allowed.under({ verb, right: "read" }, prefix);
}

/** Whether others' claims of the lock may be shown: those of its holders, and those of waiters. */
export function maySeeHolders({ client: { identity } }: ToClient, lockName: string): boolean {
  return identity.allowed.on({ verb: "GetLock", right: "read" }, lockName);
}

/** Whether the database's user and connection may be shown that hold the rows of the lock: who can end what stands there. */
function maySeeDatabase({ client: { identity } }: ToClient, lockName: string): boolean {
  return identity.allowed.on({ verb: "ForceRelease", right: "operate" }, lockName);
}

/** Whether a limit's text may be shown: that of the lock's own limit to everybody who hears of it. */
function maySeeSetting(
  by: ToClient,
  { source, pattern }: Pick<EffectiveLimit, "source" | "pattern">,
): boolean {
  return (
    (source !== "pattern" && source !== "pool") || maySeeAllUnder(by, "ListLimits", pattern.slice(0, -1))
  );
}

/** What is set for a pattern is bare numbers for a caller that may not read all names under the pattern. */
export function shownLimit<Setting extends EffectiveLimit | EffectiveRate | EffectiveQueueRules>(
  by: ToClient,
  set: Setting,
): Setting {
  return maySeeSetting(by, set) ? set : { ...set, pattern: "", version: 0n, reason: "" };
}

const NO_PATTERNS: ReadonlyMap<bigint, string> = new Map();

export function shownLock(by: ToClient, view: ViewedLock): ViewedLock {
  const { limit, rate, queueRules, holders, waiters, pools = [], poolPatterns = NO_PATTERNS } = view;
  const shown = {
    limit: shownLimit(by, limit),
    rate: rate && shownLimit(by, rate),
    queueRules: queueRules && shownLimit(by, queueRules),
  };
  const isShown = (pattern: string) => maySeeSetting(by, { source: "pool", pattern });
  return {
    ...{ ...view, ...shown },
    holders: shownClaims(by, holders),
    waiters: shownClaims(by, waiters),
    pools: pools.filter((pool) => isShown(pool.limit.pattern)),
    poolPatterns: new Map([...poolPatterns].filter(([, pattern]) => isShown(pattern))),
  };
}

/** A place at a pool does not say which one to a caller that may not read all names under it. */
export function shownPlace<At extends Pick<Place, "pool">>(by: ToClient, place: At): At {
  const { pool } = place;
  if (pool === undefined || maySeeSetting(by, { source: "pool", pattern: pool })) return place;
  return { ...place, pool: "" };
}

/** Of a claim for several locks, the other locks are for callers that may read them. Every claim that others have made passes here. */
export function shownMembers(by: ToClient, claim: Claim): Claim {
  const { members, lockId, endReason, endedBy } = claim;
  if (!members || by.client.identity.allowed === EVERYTHING) return claim;
  const shown = members.filter((member) => member.lockId === lockId || maySeeHolders(by, member.name));
  if (shown.length === members.length) return claim;
  // Of one that ended because of one of its locks, this is the lock's name.
  const isNamed = endReason !== "force_released" && !shown.some(({ name }) => name === endedBy);
  return { ...claim, members: shown, ...(isNamed && { endedBy: "" }) };
}

export function shownClaims(by: ToClient, claims: readonly Claim[]): readonly Claim[] {
  if (claims.every(({ members }) => !members)) return claims;
  return claims.map((claim) => shownMembers(by, claim));
}

/** A claim that the caller has ended. Whose it was is for callers that may see the lock. */
export function shownClaim(by: ToClient, claim: Claim, lockName: string): Claim {
  const shown = shownMembers(by, claim);
  return maySeeHolders(by, lockName) ? shown : { ...shown, owner: "", principal: "", labels: {} };
}

/** The caller's own claim, which has ended. Who ended it is for callers that may see the lock. */
export function shownEnd(by: ToClient, claim: Claim, lockName: string): Claim {
  const isByOther = claim.endReason === "force_released" && claim.endedBy !== "";
  return !isByOther || maySeeHolders(by, lockName) ? claim : { ...claim, endedBy: "" };
}

/** A record that the caller has changed. Who ran last, and who succeeded last, is for callers that may see the lock. */
export function shownRecord(by: ToClient, record: LockRecord, lockName: string): LockRecord {
  const { lastRun, lastSuccess } = record;
  if (!lastRun || maySeeHolders(by, lockName)) return record;
  return {
    ...record,
    lastRun: { ...lastRun, owner: "" },
    lastSuccess: lastSuccess && { ...lastSuccess, owner: "" },
  };
}

/**
 * Why a claim waits. A caller that may not see the lock, and has its own ticket, learns what a refusal would say: what is
 * in the way, how many there are, and nothing of them. Others learn only that a lock that they may not see is in the way, too.
 */
export function shownExplanation(by: ToClient, explained: Explanation): Explanation {
  const { each, isOwn, place, estimate } = explained;
  const isShown = ({ lock }: ExplainedLock) => isOwn || maySeeHolders(by, lock.name);
  const whole = {
    ...explained,
    ...shownExplainedLock(by, explained),
    place: shownPlace(by, place),
  };
  if (!each) return { ...whole, estimate: maySeeHolders(by, explained.lock.name) ? estimate : null };
  const isPartial = each.some((at) => at.causes.length > 0 && !isShown(at));
  const showsAll = each.every(({ lock }) => maySeeHolders(by, lock.name));
  return {
    ...whole,
    each: each.filter(isShown).map((at) => shownExplainedLock(by, at)),
    isPartial,
    estimate: showsAll ? estimate : null,
  };
}

function shownExplainedLock(by: ToClient, explained: ExplainedLock): ExplainedLock {
  const { lock, limit, limitSet, claim, place } = explained;
  const showsOthers = maySeeHolders(by, lock.name);
  const showsSetter =
    showsOthers &&
    maySeeSetting(by, limit) &&
    (limit.source !== "pattern" || maySeeAllUnder(by, "ListChanges", limit.pattern.slice(0, -1)));
  const shownCause = (cause: WaitCause): WaitCause => {
    switch (cause.kind) {
      case "limit":
        return { ...cause, limit: shownLimit(by, cause.limit), set: showsSetter ? cause.set : null };
      case "rate":
        return { ...cause, rate: shownLimit(by, cause.rate) };
      case "pool": {
        const { limit, rate } = cause.pool;
        const shown = { limit: shownLimit(by, limit), rate: rate && shownLimit(by, rate) };
        return { ...cause, pool: { ...cause.pool, ...shown } };
      }
      case "rows_held":
        return maySeeDatabase(by, lock.name) ? cause : { ...cause, holder: null };
      case "held":
        if (!showsOthers) return { ...cause, holders: [], firstEndsAtUs: undefined };
        return { ...cause, holders: shownClaims(by, cause.holders) };
      case "queued": {
        const { firstWaitsFor = [], ...queued } = cause;
        if (!showsOthers) return { ...queued, first: [] };
        const names = firstWaitsFor.filter((name) => maySeeHolders(by, name));
        const first = shownClaims(by, queued.first);
        return { ...queued, first, ...(names.length > 0 && { firstWaitsFor: names }) };
      }
      default:
        return cause;
    }
  };
  return {
    lock: showsOthers ? lock : { ...lock, lastToken: 0n },
    limit: shownLimit(by, limit),
    limitSet: showsSetter ? limitSet : null,
    claim: claim && shownMembers(by, claim),
    place: shownPlace(by, place),
    causes: explained.causes.map(shownCause),
  };
}
