// The working copy of one lock during one decision, and how what is in it is found and marked.

import type { Claim, ClaimKey } from "./claim.ts";
import type { Event } from "./command.ts";
import type { Clock } from "./database-clock.ts";
import {
  type EffectiveLimit,
  type EffectiveRate,
  effectiveLimit,
  effectiveRate,
  type LimitRule,
} from "./limit.ts";
import type { FailOver, Lock } from "./lock.ts";
import type { NotedChange } from "./noted-change.ts";
import type { Pools } from "./pools.ts";
import { byOrder } from "./queue-rules.ts";
import { correctedUntilUs } from "./rate.ts";
import type { GroupRead, Policy, Queue, Rows } from "./rows.ts";

/** What the drafts of one transaction share. */
export interface Batch {
  readonly drafts: readonly Draft[];
  /** A claim for several locks was granted or has ended, which may have made room at a lock that was decided about before. */
  setsMoved: boolean;
}

/**
 * The working copy of one lock during one decision: what was read, and what has to be written. It owns its rows until the
 * transaction has committed.
 */
export interface Draft {
  readonly policy: Policy;
  readonly limitRules: readonly LimitRule[];
  readonly clock: Clock;
  readonly failOver: FailOver;
  readonly nowUs: number;
  readonly lock: Lock;
  limit: EffectiveLimit;
  rate: EffectiveRate | null;
  readonly batch: Batch;
  /** The pools that the transaction has read. */
  readonly pools: Pools;
  /** The ids of those over the lock, narrow to wide; null: nobody has asked yet. */
  over: readonly bigint[] | null;
  /** Rises when a claim that enters takes a level or comes back. */
  moves: number;
  /** The claim that has its own lock, and goes from level to level just now; null: none does. */
  passing: Claim | null;
  /** The known claims of the lock, each once: see `claimOf`. */
  readonly claims: Claim[];
  /** The known head of the queue, in order: see `byOrder`. */
  readonly queue: Claim[];
  /**
   * The first waiter, if no mark is left here for it, and no command here can make it fit. If it fits, then it has been looked at since,
   * unless something ends or moves in this decision.
   */
  readonly known: Claim | null;
  /** Where shares are fair: by group, up to which ticket number its first waiters were read. null: none were. */
  readonly groups: ReadonlyMap<string, GroupRead> | null;
  /** Whether `queue` is the whole queue. */
  readonly queueComplete: boolean;
  /** Where shares are fair, whether `queue` has all waiters at the front. */
  readonly frontComplete: boolean;
  readonly added: Claim[];
  readonly changed: Claim[];
  readonly events: Event[];
  /** Changes for the history. */
  readonly noted: NotedChange[];
  /** Claims for several locks that are to be looked at with all of these. */
  readonly left: ClaimKey[];
  /** All known waiters were granted or ended, and there are more: the decision has to go on with the next ones. */
  unfinished: boolean;
}

const EMPTY: Queue = { head: [], complete: true };

/**
 * `claims`: those read of this lock. The draft owns the rows and the list from here on. Most locks have one claim or none, and
 * a transaction has many locks, so a draft has lists, which are searched, and not maps and sets. `mayHelp`: whether the commands can
 * make the first waiter fit.
 */
export function openDraft(
  lock: Lock,
  claims: Claim[],
  rows: Rows,
  batch: Batch,
  pools: Pools,
  policy: Policy,
  mayHelp: boolean,
): Draft {
  const { limitRules, failOver } = rows;
  const {
    head,
    complete,
    frontComplete = false,
  } = lock.waiting > 0 ? (rows.queues.get(lock.id) ?? EMPTY) : EMPTY;
  const queue: Claim[] = [];
  const mayBeRead = claims.length > 0;
  for (const waiter of head) {
    // Twice if by name, too. The queue then takes the same object.
    if (mayBeRead) queue.push(addOnce(claims, waiter));
    else {
      claims.push(waiter);
      queue.push(waiter);
    }
  }
  const groups = rows.groups?.get(lock.id) ?? null;
  if (groups)
    for (const { waiters } of groups.values()) for (const waiter of waiters) addOnce(claims, waiter);
  if (lock.sharedBy) queue.sort(byOrder);
  const rate = effectiveRate(lock, limitRules);
  if (rate) lock.rateUntilUs = correctedUntilUs(rate, lock.rateUntilUs, rows);
  return {
    policy,
    limitRules,
    clock: rows,
    failOver,
    nowUs: rows.nowUs,
    lock,
    limit: effectiveLimit(lock, limitRules),
    rate,
    batch,
    pools,
    over: null,
    moves: 0,
    passing: null,
    claims,
    queue,
    known: mayHelp || lock.wakesAtUs !== null ? null : (queue[0] ?? null),
    groups,
    queueComplete: complete,
    frontComplete: complete || frontComplete,
    added: [],
    changed: [],
    events: [],
    noted: [],
    left: [],
    unfinished: false,
  };
}

/** Adds the waiter, unless it was read in another way. Returns the object that is among the claims. */
function addOnce(claims: Claim[], waiter: Claim): Claim {
  const known = claims.find(({ ticketNumber }) => ticketNumber === waiter.ticketNumber);
  if (!known) claims.push(waiter);
  return known ?? waiter;
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

/** A copy of the claim as it is now, which later commands of the same batch do not change. */
export function snapshot(claim: Claim): Claim {
  return { ...claim };
}
