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
  /** The known claims of the lock, each once: see `claimOf`. */
  readonly claims: Claim[];
  /** The known head of the queue, in order of ticket numbers. */
  readonly queue: Claim[];
  /** Whether `queue` is the whole queue. */
  readonly queueComplete: boolean;
  readonly added: Claim[];
  readonly changed: Claim[];
  readonly events: Event[];
  /** Changes for the history. */
  readonly noted: NotedChange[];
  /** All known waiters were granted or ended, and there are more: the decision has to go on with the next ones. */
  unfinished: boolean;
}

const EMPTY: Queue = { head: [], complete: true };

// A decision makes few objects: most locks have one claim or none, and a transaction has many locks. So these are lists,
// which are searched, and not maps and sets.

/** Opens a working copy. `claims`: those read of this lock. The draft owns the rows and the list from here on. */
export function openDraft(lock: Lock, claims: Claim[], rows: Rows, policy: Policy): Draft {
  const { limitRules, failOver } = rows;
  const { head, complete } = lock.waiting > 0 ? (rows.queues.get(lock.id) ?? EMPTY) : EMPTY;
  const queue: Claim[] = [];
  const read = claims.length;
  for (const waiter of head) {
    // A waiter may have been read twice: by name, and at the head of the queue. The queue then takes the same object.
    const known = read > 0 && claims.find(({ ticketNumber }) => ticketNumber === waiter.ticketNumber);
    if (!known) claims.push(waiter);
    queue.push(known || waiter);
  }
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
    added: [],
    changed: [],
    events: [],
    noted: [],
    unfinished: false,
  };
}

/** The claim with this number, if it is known. */
export function claimOf({ claims }: Draft, ticketNumber: bigint): Claim | undefined {
  for (const claim of claims) if (claim.ticketNumber === ticketNumber) return claim;
  return undefined;
}

/** Marks a claim for writing. */
export function touch({ added, changed }: Draft, claim: Claim): void {
  if (!changed.includes(claim) && !added.includes(claim)) changed.push(claim);
}

/** A copy of the claim as it is now. Later commands of the same batch do not change it. */
export function snapshot(claim: Claim): Claim {
  return { ...claim };
}
