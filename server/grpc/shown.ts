// What an answer may show its caller of locks, and of what others have done or set there: the one place that decides it,
// for every method and carrier. What may not be shown is left out, never refused. Decides nothing about what a caller
// may do: see authorize.ts.

import type { Identity } from "../access/access.ts";
import { rightMissing } from "../access/access-error.ts";
import { EVERYTHING } from "../access/policy.ts";
import type { Needed } from "../access/rights.ts";
import type { Claim } from "../core/claim.ts";
import type { EffectiveLimit } from "../core/limit.ts";
import type { LockRecord } from "../core/record.ts";
import type { ViewedLock } from "../engine/answers.ts";
import type { Explanation, WaitCause } from "../engine/history.ts";

type ByClient = { readonly client: { readonly identity: Identity } };

/** Names that a caller may see. */
export interface Seen {
  /** All of them begin with this. */
  readonly prefix: string;
  /** null: it may see all with that prefix. */
  readonly isSeen: ((name: string) => boolean) | null;
}

/** What a listing of the prefix may show. Throws RIGHT_MISSING if that is nothing at all. */
export function seenUnder({ client: { identity } }: ByClient, verb: string, prefix: string): Seen {
  const { allowed, principal } = identity;
  if (allowed === EVERYTHING) return { prefix, isSeen: null };
  const needed: Needed = { verb, right: "read" };
  const within = allowed.within(needed, prefix);
  if (within === null) throw rightMissing(principal, needed, `"${prefix}*"`);
  if (allowed.under(needed, within)) return { prefix: within, isSeen: null };
  return { prefix: within, isSeen: (name) => allowed.on(needed, name) };
}

/** Whether what concerns all names with the prefix may be shown, such as the limit of a pattern. */
export function maySeeAllUnder({ client: { identity } }: ByClient, verb: string, prefix: string): boolean {
  return identity.allowed.under({ verb, right: "read" }, prefix);
}

/** Whether others' claims of the lock may be shown: those of its holders, and those of waiters. */
export function maySeeHolders({ client: { identity } }: ByClient, lockName: string): boolean {
  return identity.allowed.on({ verb: "GetLock", right: "read" }, lockName);
}

/** Whether the database's user and connection may be shown that hold the rows of the lock: who can end what stands there. */
function maySeeDatabase({ client: { identity } }: ByClient, lockName: string): boolean {
  return identity.allowed.on({ verb: "ForceRelease", right: "operate" }, lockName);
}

/** Whether a limit's text may be shown: that of the lock's own limit to everybody who hears of it. */
function maySeeSetting(by: ByClient, { source, pattern }: EffectiveLimit): boolean {
  return source !== "pattern" || maySeeAllUnder(by, "ListLimits", pattern.slice(0, -1));
}

/** The limit of a pattern is a bare number for a caller that may not read all names under the pattern. */
export function shownLimit(by: ByClient, limit: EffectiveLimit): EffectiveLimit {
  return maySeeSetting(by, limit) ? limit : { ...limit, pattern: "", version: 0n, reason: "" };
}

/** A lock whose name the caller may see. */
export function shownLock(by: ByClient, view: ViewedLock): ViewedLock {
  return { ...view, limit: shownLimit(by, view.limit) };
}

/** A claim that the caller has ended. Whose it was is for callers that may see the lock. */
export function shownClaim(by: ByClient, claim: Claim, lockName: string): Claim {
  return maySeeHolders(by, lockName) ? claim : { ...claim, owner: "", principal: "", labels: {} };
}

/** The caller's own claim, which has ended. Who ended it is for callers that may see the lock. */
export function shownEnd(by: ByClient, claim: Claim, lockName: string): Claim {
  return claim.endedBy === "" || maySeeHolders(by, lockName) ? claim : { ...claim, endedBy: "" };
}

/** A record that the caller has changed. Who ran last is for callers that may see the lock. */
export function shownRecord(by: ByClient, record: LockRecord, lockName: string): LockRecord {
  const { lastRun } = record;
  if (!lastRun || maySeeHolders(by, lockName)) return record;
  return { ...record, lastRun: { ...lastRun, owner: "" } };
}

/**
 * Why a claim waits. A caller that may not see the lock, and has its own ticket, learns what a refusal would say: what is
 * in the way, how many there are, and nothing of them.
 */
export function shownExplanation(by: ByClient, explained: Explanation): Explanation {
  const { lock, limit, limitSet } = explained;
  const showsOthers = maySeeHolders(by, lock.name);
  const showsSetter =
    showsOthers &&
    maySeeSetting(by, limit) &&
    (limit.source !== "pattern" || maySeeAllUnder(by, "ListChanges", limit.pattern.slice(0, -1)));
  const shownCause = (cause: WaitCause): WaitCause => {
    switch (cause.kind) {
      case "limit":
        return { ...cause, limit: shownLimit(by, cause.limit), set: showsSetter ? cause.set : null };
      case "rows_held":
        return maySeeDatabase(by, lock.name) ? cause : { ...cause, holder: null };
      case "held":
        return showsOthers ? cause : { ...cause, holders: [], firstEndsAtUs: undefined };
      case "queued":
        return showsOthers ? cause : { ...cause, first: [] };
      default:
        return cause;
    }
  };
  return {
    ...explained,
    lock: showsOthers ? lock : { ...lock, lastToken: 0n },
    limit: shownLimit(by, limit),
    limitSet: showsSetter ? limitSet : null,
    causes: explained.causes.map(shownCause),
    estimate: showsOthers ? explained.estimate : null,
  };
}
