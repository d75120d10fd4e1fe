// One attempt of a transaction: which rows to read for its commands, and what was decided, over all rounds of reading. A
// repeated transaction starts with a new one. Does no I/O.

import { randomBytes } from "node:crypto";
import { QUEUE_HEAD_EXTRA, QUEUE_HEAD_MAX } from "../../core/bounds.ts";
import { hasChanged } from "../../core/changes.ts";
import type { ClaimKey } from "../../core/claim.ts";
import { isServerMade } from "../../core/claim.ts";
import type { Outcome } from "../../core/command.ts";
import { type AskedByLock, type BatchEvent, type Decided, decideBatch } from "../../core/decide-batch.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { Lock } from "../../core/lock.ts";
import type { Policy } from "../../core/policy.ts";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../../core/random-numbers.ts";
import type { Changes, Loaded, LoadPlan } from "../../storage/store.ts";
import { AGAIN_ROUNDS_MAX, REVISION_STEP_MAX } from "../engine-bounds.ts";

const NO_COMMANDS: AskedByLock = new Map();
const NOTHING_DECIDED: ReadonlyMap<bigint, Decided> = new Map();

/**
 * By how much a transaction raises the revisions of its guard rows, all alike, so that one statement does it. At random, so
 * that a revision which is still the known one proves that the row is, too: rows that were set back and written again come
 * to other revisions, even after as many transactions.
 */
function newRevisionStep(): bigint {
  return BigInt(1 + Math.floor(Math.random() * REVISION_STEP_MAX));
}

/** Never 0. */
export function newChangeMark(): bigint {
  return randomNumberOf(randomBytes(RANDOM_NUMBER_BYTES)) | 1n;
}

export class Batch {
  readonly #asked: AskedByLock;
  readonly #policy: Policy;
  /** Attempts with an unknown outcome: commands must recognise their own work. */
  readonly #earlier: readonly Batch[];
  readonly #revisionStep = newRevisionStep();
  #mark: bigint | undefined;
  #round = 0;

  /** Results by lock; a lock whose guard row is gone has none. */
  decided: ReadonlyMap<bigint, Decided> = NOTHING_DECIDED;
  /** What happened, in order. */
  events: BatchEvent[] = [];
  /** Guard rows as written, and the revision that each had before. */
  readonly locks = new Map<bigint, { readonly lock: Lock; readonly revisionBefore: bigint }>();
  /** The limit rules that it went by. */
  limitRules: readonly LimitRule[] = [];
  /** Locks that have more to grant than one transaction should: to be advanced by the next one. */
  leftOver: readonly bigint[] = [];

  constructor(asked: AskedByLock, policy: Policy, earlier: readonly Batch[]) {
    this.#asked = asked;
    this.#policy = policy;
    this.#earlier = earlier;
  }

  /** What it leaves at locks that it changes. Few attempts change any. */
  get mark(): bigint {
    this.#mark ??= newChangeMark();
    return this.#mark;
  }

  /** `impatient`: whether it is not to wait for row locks that others hold. */
  plan(likelyQueue: (lockId: bigint) => boolean, impatient: boolean): LoadPlan {
    const claims: ClaimKey[] = [];
    const requestIds: string[] = [];
    const holdersOf: bigint[] = [];
    for (const [lockId, asked] of this.#asked) {
      for (const { command } of asked) {
        if (command.verb === "acquire") {
          if (this.#earlier.length > 0 || !isServerMade(command.requestId)) {
            requestIds.push(command.requestId);
          }
        } else if (command.verb === "withdraw") requestIds.push(command.requestId);
        else if (command.verb === "force_release") {
          if (command.ticketNumber === null) holdersOf.push(lockId);
          else claims.push({ lockId, ticketNumber: command.ticketNumber });
        } else if ("ref" in command) claims.push(command.ref);
      }
    }
    const locks = [...this.#asked]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, asked]) => ({
        id,
        heads: Math.min(asked.length + QUEUE_HEAD_EXTRA, QUEUE_HEAD_MAX),
        likelyQueue: likelyQueue(id),
        anywhereInQueue: asked.some(({ command: { verb } }) => verb === "advance" || verb === "withdraw"),
      }));
    return { impatient, locks, claims, requestIds, holdersOf };
  }

  /** Decides what was read: all commands in the first round, then only what was left unfinished. */
  decide(loaded: Loaded): Changes {
    this.#round += 1;
    const isFirst = this.#round === 1;
    this.limitRules = loaded.limitRules;
    const context = {
      policy: this.#policy,
      nowMs: performance.now(),
      attempt: this,
      earlier: this.#earlier,
    };
    const decision = decideBatch(loaded, isFirst ? this.#asked : NO_COMMANDS, context);
    if (isFirst) {
      this.decided = decision.decided;
      this.events = decision.events;
    } else this.events.push(...decision.events);
    for (const lock of decision.locks) {
      const revisionBefore = this.locks.get(lock.id)?.revisionBefore ?? lock.revision;
      lock.revision += this.#revisionStep;
      this.locks.set(lock.id, { lock, revisionBefore });
    }
    if (this.#round < AGAIN_ROUNDS_MAX) return decision;
    this.leftOver = decision.again;
    return { ...decision, again: [] };
  }

  /** Whether it has decided to make the change that a command asks for. */
  changes(lockId: bigint, index: number): boolean {
    const outcome = this.decided.get(lockId)?.outcomes[index];
    return outcome !== undefined && hasChanged(outcome);
  }

  /** The outcome of a command, to be asked for after the commit; undefined: its lock is not there under this id. */
  outcome(lockId: bigint, index: number): Outcome | undefined {
    const outcome = this.decided.get(lockId)?.outcomes[index];
    if (!outcome && this.#earlier.some((attempt) => attempt.changes(lockId, index)))
      return { kind: "in_doubt" };
    const written = this.locks.get(lockId);
    // A limit is answered with the counts that this transaction has left behind, all of its grants included.
    return outcome?.kind === "limit" && written ? { ...outcome, lock: written.lock } : outcome;
  }
}
