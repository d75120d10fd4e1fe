// The working copy of one lock during one decision: what was read, and what has to be written. Owns its rows until
// the transaction has committed; nothing outside core changes them.

import type { Claim } from "./claim.ts";
import type { Event } from "./command.ts";
import type { FailOver } from "./fail-over.ts";
import type { EffectiveLimit, LimitRule } from "./limit.ts";
import { effectiveLimit } from "./limit.ts";
import type { Lock } from "./lock.ts";

/** The settings that decisions depend on. */
export interface Rules {
  /** How long a place is kept without a sign of life, and a lease that was granted after a wait until it is fetched. */
  readonly graceUs: number;
  /** How long a sign of life by a replica counts: the grace period and the replica's pace of heartbeats. */
  readonly attachedForUs: number;
  /** How long an ended claim is remembered. */
  readonly retentionUs: number;
  /** Longest queue of a lock. */
  readonly queueMax: number;
}

/** What was read of one lock, under its guard row. */
export interface LoadedLock {
  readonly lock: Lock;
  /** Claims that commands name, claims that are due, and the head of the queue, in any order, each once. */
  readonly claims: readonly Claim[];
  /** Whether the waiting ones among `claims` include the first waiters in order, and whether those are all of them. */
  readonly queue: { readonly head: readonly Claim[]; readonly complete: boolean };
}

/** The database's clock when a decision is made, as far as that is known. */
export interface Clock {
  /** No earlier than it is: what is given counts from here, so that it never ends too early. */
  readonly nowUs: number;
  /** No later than it is: what ends by time has ended for sure. */
  readonly atLeastUs: number;
  /**
   * When it was seen to jump ahead, by the clock as it goes since; null: never. What was given before the jump is not due
   * until its time has passed after it: to its holder, that much time has not gone by.
   */
  readonly jumpedAtUs: number | null;
  /**
   * When this replica came to the database after it had been away from it, its start included; null: not known. Others
   * may have been away for as long and come back later, so from then on places are kept for a grace period.
   */
  readonly backAtUs: number | null;
}

export interface Draft {
  readonly rules: Rules;
  readonly limitRules: readonly LimitRule[];
  readonly clock: Clock;
  readonly failOver: FailOver;
  readonly nowUs: number;
  readonly lock: Lock;
  limit: EffectiveLimit;
  readonly claims: Map<bigint, Claim>;
  /** The head of the queue as far as it is known, in order of ticket numbers. */
  readonly queue: Claim[];
  /** Whether `queue` is the whole queue. */
  readonly queueComplete: boolean;
  readonly added: Set<Claim>;
  readonly changed: Set<Claim>;
  readonly events: Event[];
  /** All known waiters were granted or ended, and there are more: the decision has to go on with the next ones. */
  unfinished: boolean;
}

/** Opens a working copy. The rows are the draft's from here on. */
export function openDraft(
  loaded: LoadedLock,
  limitRules: readonly LimitRule[],
  rules: Rules,
  clock: Clock,
  failOver: FailOver,
): Draft {
  const claims = new Map<bigint, Claim>();
  for (const claim of loaded.claims) claims.set(claim.ticketNumber, claim);
  // A waiter may have been read twice, by name and as the head of the queue: the queue takes the same object.
  const queue = loaded.queue.head.map((head) => {
    const known = claims.get(head.ticketNumber);
    if (known) return known;
    claims.set(head.ticketNumber, head);
    return head;
  });
  return {
    rules,
    limitRules,
    clock,
    failOver,
    nowUs: clock.nowUs,
    lock: loaded.lock,
    limit: effectiveLimit(loaded.lock, limitRules),
    claims,
    queue,
    queueComplete: loaded.queue.complete,
    added: new Set(),
    changed: new Set(),
    events: [],
    unfinished: false,
  };
}

/** Marks a claim for writing. */
export function touch(draft: Draft, claim: Claim): void {
  if (!draft.added.has(claim)) draft.changed.add(claim);
}

/** The claim as it is now, safe from what later commands of the same batch do to it. */
export function snapshot(claim: Claim): Claim {
  return { ...claim };
}
