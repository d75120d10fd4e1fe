// One transaction, from its asks to its commit: what each attempt reads for them, and what it decides over all rounds of
// reading. Each attempt begins anew; one whose outcome is unknown is kept, so that the next one recognises its work. The
// asks of a transaction stay together over its attempts. Whoever submits a command makes its Ask, which is called back in
// the tick of the commit.

import { partsOf, QUEUE_HEAD_EXTRA, QUEUE_HEAD_MAX } from "../../core/bounds.ts";
import { type ClaimKey, isServerMade, keyText } from "../../core/claim.ts";
import type { Caller, Command, Outcome } from "../../core/command.ts";
import { hasChanged } from "../../core/decide.ts";
import {
  type BatchEvent,
  type Decided,
  decideBatch,
  type Submitted,
  type SubmittedByLock,
} from "../../core/decide-batch.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { Lock } from "../../core/lock.ts";
import { poolPrefix, RowsNeeded } from "../../core/pools.ts";
import { groupedBy, groupOf } from "../../core/queue-rules.ts";
import type { Policy } from "../../core/rows.ts";
import { type RetryPolicy, ROLLED_BACK, retry } from "../../storage/retry.ts";
import {
  isInDoubt,
  isRowLocked,
  type Loaded,
  type LoadPlan,
  type Store,
  StoreError,
  WHOLE_QUEUE,
  type Writes,
} from "../../storage/store.ts";
import type { Answer, Asker, EngineObserver, Follower } from "../answers.ts";
import { AGAIN_ROUNDS_MAX, REVISION_STEP_MAX } from "../engine-bounds.ts";
import { mayBeDone, outcomeUnknown, unavailable, withoutRepeating } from "../faults.ts";
import { newMark } from "../secrets.ts";
import type { PoolsOverNames } from "./pools-over-names.ts";
import type { SetMembers } from "./set-members.ts";
import { TransactionSpan } from "./transaction-span.ts";

/** Exactly one of `settle`, `gone` and `fail` is called each time that it is given to the lanes. They must not throw. */
export class Ask {
  readonly command: Command;
  /** Registered if the claim waits; null: nobody follows the claim from here. */
  readonly follower: Follower | null;
  protected readonly asker: Asker<Answer | null>;
  /** Set by the lanes; the time is of performance.now(). */
  lockId = 0n;
  submittedMs = 0;
  /** Whether the lanes are done with it. */
  isOver = false;

  constructor(command: Command, follower: Follower | null, asker: Asker<never>) {
    this.command = command;
    this.follower = follower;
    // Whoever makes an ask ties the verb to the answers: OutcomeKinds says which outcomes each verb can have.
    this.asker = asker as Asker<unknown>;
  }

  /** Whose call it is; undefined: the server's own, or unknown. */
  get caller(): Caller | undefined {
    return "caller" in this.command ? this.command.caller : undefined;
  }

  /** The command was decided, and the decision committed. */
  settle(answer: Answer): void {
    this.asker.settle(answer);
  }

  /** The guard row is gone, or belongs to another name. */
  gone(): void {
    this.asker.settle(null);
  }

  fail(error: unknown): void {
    this.asker.fail(error);
  }
}

/** The answer as a promise, for those who ask seldom. `begin` may throw instead of calling `fail`. */
export function promised<Given>(begin: (asker: Asker<Given>) => void): Promise<Given> {
  const { promise, resolve, reject } = Promise.withResolvers<Given>();
  begin({ settle: resolve, fail: reject });
  return promise;
}

const UNLESS_ROW_LOCKED: RetryPolicy<StoreError> = {
  ...ROLLED_BACK,
  isWorthIt: (error): error is StoreError => ROLLED_BACK.isWorthIt(error) && !isRowLocked(error),
};

/**
 * Runs `attempt` until it succeeds or is not worth repeating. Throws Faults for what the database cannot do, and bugs
 * as they are; `unlessRowLocked`: also, at once, that a row is held, for callers with a better way on.
 */
export function withAttempts<Result>(
  attempt: () => Promise<Result>,
  observer: EngineObserver,
  unlessRowLocked = false,
): Promise<Result> {
  let isDoubtful = false;
  const failed = (error: StoreError) => {
    isDoubtful ||= isInDoubt(error);
    observer({ kind: "retried", cause: error.reason });
  };
  const givenUp = (error: unknown) => {
    if (!(error instanceof StoreError)) return error;
    if (!unlessRowLocked || !isRowLocked(error)) return unavailable(error, isDoubtful);
    failed(error);
    return error;
  };
  return retry(unlessRowLocked ? UNLESS_ROW_LOCKED : ROLLED_BACK, attempt, failed, givenUp);
}

export type AsksByLock = ReadonlyMap<bigint, readonly Ask[]>;

export interface TransactionAsks {
  readonly byLock: AsksByLock;
  /** Attempts with an unknown outcome that included these asks. */
  earlier: readonly Attempt[];
  /** What a decision has missed. */
  needed?: Needed | undefined;
}

/** Rows that an attempt reads, although no command is about them: it cannot decide without. */
export interface Needed {
  readonly pools: ReadonlySet<bigint>;
  /** By their texts. */
  readonly claims: ReadonlyMap<string, ClaimKey>;
  /** Locks whose queues it reads to their ends; unset: none. */
  readonly wholeQueues?: ReadonlySet<bigint> | undefined;
}

export interface Deciding {
  readonly policy: Policy;
  readonly store: Pick<Store, "transact">;
  readonly observer: EngineObserver;
  readonly locks: {
    known(lockId: bigint): { readonly name: string | null; readonly hasShares: boolean } | undefined;
  };
  readonly pools: Pick<PoolsOverNames, "over" | "learn">;
  readonly sets: Pick<SetMembers, "membersOf" | "learn" | "missed">;
  /** A lock with followers here probably has a queue. */
  readonly followers: { follows(lockId: bigint): boolean };
  /** From `lateFromMs` on, by performance.now(), heartbeats are late and must precede each attempt. */
  readonly background: { readonly lateFromMs: number; lateHeartbeat(): Promise<void> };
  /** Whether calls may have spans; unset: none has. */
  readonly isTraced?: boolean | undefined;
}

/** Throws as `withAttempts` does, also that another one holds a row: at once if `impatient`, else after seconds. */
export function commitAsks(asks: TransactionAsks, impatient: boolean, by: Deciding): Promise<Attempt> {
  const { store, policy, observer, followers, background, isTraced, locks, pools, sets } = by;
  const expected: Expected = {
    hasQueue: (lockId) => followers.follows(lockId),
    hasShares: (lockId) => locks.known(lockId)?.hasShares ?? false,
    nameOf: (lockId) => locks.known(lockId)?.name ?? null,
    poolsOver: (name) => pools.over(name),
    membersOf: (claim) => sets.membersOf(claim),
  };
  const traced = isTraced ? TransactionSpan.of(asks.byLock) : undefined;
  const once = async () => {
    traced?.tried();
    // The heartbeats are repeated by themselves, so their failure ends the decision.
    if (performance.now() >= background.lateFromMs) await withoutRepeating(() => background.lateHeartbeat());
    for (;;) {
      const attempt = new Attempt(asks.byLock, policy, asks.earlier);
      try {
        const plan = attempt.plan(expected, impatient, asks.needed);
        await store.transact(traced ? { ...plan, span: traced.span } : plan, (loaded) =>
          attempt.decide(loaded),
        );
      } catch (error) {
        if (error instanceof RowsNeeded) {
          asks.needed = withNeeded(asks.needed, error);
          sets.missed(error.sets);
          continue;
        }
        if (isInDoubt(error)) asks.earlier = [...asks.earlier, attempt];
        throw error;
      }
      pools.learn(attempt.limitRules);
      sets.learn(attempt.decided);
      return attempt;
    }
  };
  const deciding = withAttempts(once, observer, true);
  return traced ? traced.until(deciding) : deciding;
}

export function inOrderOfIds(ids: ReadonlySet<bigint>): bigint[] {
  return [...ids].sort((a, b) => (a < b ? -1 : 1));
}

/** The next attempt reads these, too. There are few, so few attempts are in vain. */
export function withNeeded(known: Needed | undefined, missed: RowsNeeded): Needed {
  const pools = new Set([...(known?.pools ?? []), ...missed.pools]);
  const claims = new Map(known?.claims);
  for (const key of missed.sets.flat()) claims.set(keyText(key), key);
  const wholeQueues = new Set([...(known?.wholeQueues ?? []), ...missed.wholeQueues]);
  const sizes = [pools.size, claims.size, wholeQueues.size];
  const knownSizes = [known?.pools.size, known?.claims.size, known?.wholeQueues?.size];
  if (sizes.every((size, at) => size === (knownSizes[at] ?? 0)))
    throw new Error("A decision needs rows that the store did not read.");
  return { pools, claims, wholeQueues };
}

/**
 * Divides the work into at most `count` parts with about the same number of locks. Locks of one tree (by default, each is one)
 * stay together: two parts of it would only meet at their pool.
 */
export function parts(
  { byLock, earlier, needed }: TransactionAsks,
  count: number,
  treeOf = (lockId: bigint) => lockId,
): TransactionAsks[] {
  const trees = [...Map.groupBy(byLock, ([lockId]) => treeOf(lockId)).values()];
  const size = Math.ceil(trees.length / count);
  return partsOf(trees, size).map((part) => ({ byLock: new Map(part.flat()), earlier, needed }));
}

/** Fails the commands of a transaction that is given up. Returns the error that most of them get. */
export function giveUp({ byLock, earlier }: TransactionAsks, error: unknown): unknown {
  const failure = earlier.length > 0 ? mayBeDone(error) : error;
  for (const [lockId, list] of byLock) {
    for (const [index, ask] of list.entries()) {
      const isInDoubt = earlier.some((attempt) => attempt.changes(lockId, index));
      ask.isOver = true;
      ask.fail(isInDoubt ? outcomeUnknown(error) : failure);
    }
  }
  return failure;
}

type PlannedLock = LoadPlan["locks"][number];

/** What this server expects of a lock before it reads it. */
export interface Expected {
  hasQueue(lockId: bigint): boolean;
  /** Whether its shares are fair. */
  hasShares(lockId: bigint): boolean;
  /** null: unknown. */
  nameOf(lockId: bigint): string | null;
  /** Narrow to wide. */
  poolsOver(name: string | null): readonly bigint[];
  /** The rows of a claim for several locks; undefined: it is for one, as far as this server knows. */
  membersOf(claim: ClaimKey): readonly ClaimKey[] | undefined;
}

/** Commands that give nothing, and end nothing by themselves: they leave the pools alone, and so wait for none. */
function isLight({ verb }: Command): boolean {
  return verb === "renew" || verb === "attach" || verb === "detach";
}

const NO_COMMANDS: SubmittedByLock = new Map();
const NOTHING_DECIDED: ReadonlyMap<bigint, Decided> = new Map();

/** One attempt at a transaction. Does no I/O. */
export class Attempt {
  readonly #asked: SubmittedByLock;
  readonly #policy: Policy;
  /** Earlier attempts with an unknown outcome: commands must recognise the work of those attempts. */
  readonly #earlier: readonly Attempt[];
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
  events: BatchEvent[] = [];
  /** Guard rows as written, each with its revision before. */
  readonly locks = new Map<bigint, { readonly lock: Lock; readonly revisionBefore: bigint }>();
  limitRules: readonly LimitRule[] = [];
  /** The same of pools. */
  readonly pools = new Map<bigint, Lock>();
  /** Claims that may go on from these pools now, and whose locks are to be looked at. */
  mayGoOn: readonly ClaimKey[] = [];
  /** Locks with more to grant than one transaction should grant: the next transaction advances them. */
  leftOver: readonly bigint[] = [];

  constructor(asked: SubmittedByLock, policy: Policy, earlier: readonly Attempt[]) {
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
  plan(expected: Expected, impatient: boolean, needed?: Needed): LoadPlan {
    let pools = needed && needed.pools.size > 0 ? new Set(needed.pools) : undefined;
    /** Locks of no command: those of claims for several. */
    const further = new Set<bigint>();
    const claims: ClaimKey[] = [];
    let needsPools = false;
    const want = (key: ClaimKey) => {
      claims.push(key);
      if (!this.#asked.has(key.lockId)) further.add(key.lockId);
    };
    needed?.claims.forEach(want);
    const requestIds: string[] = [];
    const holdersOf: bigint[] = [];
    const locks: PlannedLock[] = [];
    // Not by for...of, which makes a list of two for each lock of each transaction.
    this.#asked.forEach((asked, lockId) => {
      const name = expected.nameOf(lockId);
      if (needed?.pools.has(lockId) || (name !== null && poolPrefix(name) !== null)) {
        pools ??= new Set();
        pools.add(lockId);
        return;
      }
      const over = expected.poolsOver(name);
      if (over.length > 0 && !asked.every(({ command }) => isLight(command))) {
        pools ??= new Set();
        for (const id of over) pools.add(id);
      }
      let anywhereInQueue = false;
      const requestIdsBefore = requestIds.length;
      for (let index = 0; index < asked.length; index++) {
        const { command } = asked[index] as Submitted;
        needsPools ||= !isLight(command);
        if (command.verb === "advance" || command.verb === "withdraw") anywhereInQueue = true;
        if (command.verb === "acquire") {
          if (command.also)
            for (const { lockId: id } of command.also) if (!this.#asked.has(id)) further.add(id);
          if (isServerMade(command.requestId)) claims.push(...claimsMadeBy(this.#earlier, lockId, index));
          else requestIds.push(command.requestId);
        } else if (command.verb === "withdraw") requestIds.push(command.requestId);
        else if (command.verb === "force_release") {
          if (command.ticketNumber === null) holdersOf.push(lockId);
          else claims.push({ lockId, ticketNumber: command.ticketNumber });
        } else if ("ref" in command) {
          claims.push(command.ref);
          expected.membersOf(command.ref)?.forEach(want);
        } else if (command.verb === "advance")
          command.claims?.forEach((key) => {
            claims.push(key);
            expected.membersOf(key)?.forEach(want);
          });
      }
      const heads = needed?.wholeQueues?.has(lockId)
        ? WHOLE_QUEUE
        : Math.min(asked.length + QUEUE_HEAD_EXTRA, QUEUE_HEAD_MAX);
      if (needed?.wholeQueues?.has(lockId) && !holdersOf.includes(lockId)) holdersOf.push(lockId);
      const byRequest = requestIds.length > requestIdsBefore;
      const likelyQueue = expected.hasQueue(lockId);
      const hasShares = likelyQueue && expected.hasShares(lockId);
      locks.push({ id: lockId, heads, likelyQueue, hasShares, anywhereInQueue, byRequest });
    });
    for (const id of further) {
      const over = needsPools ? expected.poolsOver(expected.nameOf(id)) : [];
      for (const pool of over) pools = (pools ?? new Set()).add(pool);
      locks.push({ id, heads: 1 + QUEUE_HEAD_EXTRA, likelyQueue: expected.hasQueue(id) });
    }
    locks.sort((a, b) => (a.id < b.id ? -1 : 1));
    const plan = { impatient, locks, claims, requestIds, holdersOf, joining: this.#joining };
    return pools ? { ...plan, pools: inOrderOfIds(pools) } : plan;
  }

  /** The groups of those who ask for a lock whose shares are fair. Made once, and not for each plan. */
  readonly #joining = (lock: Lock): readonly string[] => {
    const sharedBy = groupedBy(lock.sharedBy);
    if (!sharedBy) return [];
    const asked = this.#asked.get(lock.id) ?? [];
    return asked.flatMap(({ command }) =>
      command.verb === "acquire"
        ? [groupOf({ principal: command.caller?.principal ?? "", labels: command.labels }, sharedBy)]
        : [],
    );
  };

  /** Decides about the rows read: all commands in the first round, then only what was left unfinished. */
  decide(loaded: Loaded): Writes {
    this.#round += 1;
    const isFirst = this.#round === 1;
    this.limitRules = loaded.limitRules;
    const context = { policy: this.#policy, nowMs: performance.now(), attempt: this, earlier: this.#earlier };
    const decision = decideBatch(loaded, isFirst ? this.#asked : NO_COMMANDS, context);
    if (isFirst) {
      this.decided = decision.decided;
      this.events = decision.events;
    } else this.events.push(...decision.events);
    for (const lock of decision.locks) {
      const written = isFirst ? undefined : this.locks.get(lock.id);
      const revisionBefore = written?.revisionBefore ?? lock.revision;
      lock.revision += this.#revisionStep;
      this.locks.set(lock.id, { lock, revisionBefore });
    }
    for (const { lock } of decision.pools) {
      lock.revision += this.#revisionStep;
      this.pools.set(lock.id, lock);
    }
    // Those of an earlier round may have gone on in this one: then a look finds nothing to do.
    this.mayGoOn = isFirst ? decision.mayGoOn : [...this.mayGoOn, ...decision.mayGoOn];
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
  outcome(lockId: bigint, index: number, decided = this.decided.get(lockId)): Outcome | undefined {
    const outcome = decided?.outcomes[index];
    if (!outcome && this.#earlier.some((attempt) => attempt.changes(lockId, index)))
      return { kind: "in_doubt" };
    if (outcome?.kind !== "limit") return outcome;
    // The answer about a limit has the counts that this transaction leaves behind, including all of its grants.
    return { ...outcome, lock: this.locks.get(lockId)?.lock ?? this.pools.get(lockId) ?? outcome.lock };
  }
}

/** The claims that these attempts made for an Acquire whose request id no client can repeat, if they were committed. */
export function claimsMadeBy(attempts: readonly Attempt[], lockId: bigint, index: number): ClaimKey[] {
  return attempts.flatMap(({ decided }) => {
    const outcome = decided.get(lockId)?.outcomes[index];
    return outcome && "claim" in outcome ? [outcome.claim] : [];
  });
}
