// The working copy of one lock during one decision: what was read, and what has to be written. It owns its rows until
// the transaction has committed; only core changes them.

import type { Claim } from "./claim.ts";
import type { Event } from "./command.ts";
import type { Clock } from "./database-clock.ts";
import type { FailOver } from "./fail-over.ts";
import { type EffectiveLimit, effectiveLimit, type LimitRule } from "./limit.ts";
import type { Lock } from "./lock.ts";
import type { NotedChange } from "./noted-change.ts";
import type { Policy, Queue, Rows } from "./rows.ts";

export interface Draft {
  readonly policy: Policy;
  readonly limitRules: readonly LimitRule[];
  readonly clock: Clock;
  readonly failOver: FailOver;
  readonly nowUs: number;
  readonly lock: Lock;
  limit: EffectiveLimit;
  readonly claims: Map<bigint, Claim>;
  /** The known head of the queue, in order of ticket numbers. */
  readonly queue: Claim[];
  /** Whether `queue` is the whole queue. */
  readonly queueComplete: boolean;
  readonly added: Set<Claim>;
  readonly changed: Set<Claim>;
  readonly events: Event[];
  /** Changes for the history. */
  readonly noted: NotedChange[];
  /** All known waiters were granted or ended, and there are more: the decision has to go on with the next ones. */
  unfinished: boolean;
}

const EMPTY: Queue = { head: [], complete: true };

/** Opens a working copy. `read`: the claims of this lock. The draft owns the rows from here on. */
export function openDraft(lock: Lock, read: readonly Claim[], rows: Rows, policy: Policy): Draft {
  const { limitRules, failOver } = rows;
  const claims = new Map<bigint, Claim>();
  for (const claim of read) claims.set(claim.ticketNumber, claim);
  const { head, complete } = rows.queues.get(lock.id) ?? EMPTY;
  // A waiter may have been read twice: by name, and at the head of the queue. The queue then takes the same object.
  const queue = head.map((waiter) => {
    const known = claims.get(waiter.ticketNumber);
    if (known) return known;
    claims.set(waiter.ticketNumber, waiter);
    return waiter;
  });
  return {
    policy,
    limitRules,
    clock: rows,
    failOver,
    nowUs: rows.nowUs,
    lock,
    limit: effectiveLimit(lock, limitRules),
    claims,
    queue,
    queueComplete: complete,
    added: new Set(),
    changed: new Set(),
    events: [],
    noted: [],
    unfinished: false,
  };
}

/** Marks a claim for writing. */
export function touch(draft: Draft, claim: Claim): void {
  if (!draft.added.has(claim)) draft.changed.add(claim);
}

/** A copy of the claim as it is now. Later commands of the same batch do not change it. */
export function snapshot(claim: Claim): Claim {
  return { ...claim };
}
