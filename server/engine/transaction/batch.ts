// One attempt at a transaction: which rows to read for its commands, and what was decided over all rounds of reading. A
// repeated transaction uses a new Batch. Does no I/O.

import { QUEUE_HEAD_EXTRA, QUEUE_HEAD_MAX } from "../../core/bounds.ts";
import { type ClaimKey, isServerMade } from "../../core/claim.ts";
import type { Outcome } from "../../core/command.ts";
import { hasChanged } from "../../core/decide.ts";
import { type AskedByLock, type BatchEvent, type Decided, decideBatch } from "../../core/decide-batch.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { Lock } from "../../core/lock.ts";
import type { Policy } from "../../core/rows.ts";
import type { Loaded, LoadPlan, Writes } from "../../storage/store.ts";
import { AGAIN_ROUNDS_MAX, REVISION_STEP_MAX } from "../engine-bounds.ts";
import { newMark } from "../random.ts";

const NO_COMMANDS: AskedByLock = new Map();
const NOTHING_DECIDED: ReadonlyMap<bigint, Decided> = new Map();

export class Batch {
  readonly #asked: AskedByLock;
  readonly #policy: Policy;
  /** Earlier attempts with an unknown outcome: commands must recognise the work of those attempts. */
  readonly #earlier: readonly Batch[];
  /**
   * What the transaction adds to the revisions of all its guard rows: one step for all, so that one statement does it.
   * The step is random, so that an unchanged revision proves an unchanged row: rows that were set back and written
   * again get other revisions, even after the same number of transactions.
   */
  readonly #revisionStep = BigInt(1 + Math.floor(Math.random() * REVISION_STEP_MAX));
  #mark: bigint | undefined;
  #round = 0;

  /** Results by lock; a lock whose guard row is gone has none. */
  decided: ReadonlyMap<bigint, Decided> = NOTHING_DECIDED;
  /** What happened, in order. */
  events: BatchEvent[] = [];
  /** Guard rows as written, each with its revision before. */
  readonly locks = new Map<bigint, { readonly lock: Lock; readonly revisionBefore: bigint }>();
  /** The limit rules that decided. */
  limitRules: readonly LimitRule[] = [];
  /** Locks with more to grant than one transaction should grant: the next transaction advances them. */
  leftOver: readonly bigint[] = [];

  constructor(asked: AskedByLock, policy: Policy, earlier: readonly Batch[]) {
    this.#asked = asked;
    this.#policy = policy;
    this.#earlier = earlier;
  }

  /** The mark that this attempt leaves at the locks it changes. Made on demand, because few attempts change a lock. */
  get mark(): bigint {
    this.#mark ??= newMark();
    return this.#mark;
  }

  /** `impatient`: whether to fail instead of waiting for row locks of others. */
  plan(likelyQueue: (lockId: bigint) => boolean, impatient: boolean): LoadPlan {
    const claims: ClaimKey[] = [];
    const requestIds: string[] = [];
    const holdersOf: bigint[] = [];
    for (const [lockId, asked] of this.#asked) {
      for (const [index, { command }] of asked.entries()) {
        if (command.verb === "acquire") {
          if (isServerMade(command.requestId)) claims.push(...claimsMadeBy(this.#earlier, lockId, index));
          else requestIds.push(command.requestId);
        } else if (command.verb === "withdraw") requestIds.push(command.requestId);
        else if (command.verb === "force_release") {
          if (command.ticketNumber === null) holdersOf.push(lockId);
          else claims.push({ lockId, ticketNumber: command.ticketNumber });
        } else if ("ref" in command) claims.push(command.ref);
        else if (command.verb === "advance") claims.push(...(command.claims ?? []));
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

  /** Decides about the rows read: all commands in the first round, then only what was left unfinished. */
  decide(loaded: Loaded): Writes {
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

  /** Whether this attempt decided to make the change that a command asks for. */
  changes(lockId: bigint, index: number): boolean {
    const outcome = this.decided.get(lockId)?.outcomes[index];
    return outcome !== undefined && hasChanged(outcome);
  }

  /** The outcome of a command, valid after the commit; undefined: its lock does not exist under this id. */
  outcome(lockId: bigint, index: number): Outcome | undefined {
    const outcome = this.decided.get(lockId)?.outcomes[index];
    if (!outcome && this.#earlier.some((attempt) => attempt.changes(lockId, index)))
      return { kind: "in_doubt" };
    const written = this.locks.get(lockId);
    // The answer about a limit has the counts that this transaction leaves behind, including all of its grants.
    return outcome?.kind === "limit" && written ? { ...outcome, lock: written.lock } : outcome;
  }
}

/**
 * The claims that these attempts made for an Acquire, if they were committed. No client can repeat a request id that the
 * server made, so only these claims can have it.
 */
export function claimsMadeBy(attempts: readonly Batch[], lockId: bigint, index: number): ClaimKey[] {
  return attempts.flatMap(({ decided }) => {
    const outcome = decided.get(lockId)?.outcomes[index];
    return outcome && "claim" in outcome ? [outcome.claim] : [];
  });
}
