// A store whose transactions end how and when the test says: with a commit, an error, or a commit whose answer is lost.
// Its rows are in memory.

import { type Claim, keyText } from "../../server/core/claim.ts";
import type { LimitRule } from "../../server/core/limit.ts";
import { type Lock, NO_FAIL_OVER } from "../../server/core/lock.ts";
import {
  CHANGED,
  type DecideRows,
  LOCKS_PER_RULE_MAX,
  type Loaded,
  type LoadPlan,
  ROW_LOCKED,
  type Store,
  StoreError,
  type Writes,
} from "../../server/storage/store.ts";
import { CLAIM, FREE_LOCK } from "./claims.ts";

export const held = () => new StoreError("transient", ROW_LOCKED, "A row is held by a test.");
export const changedSince = () => new StoreError("transient", CHANGED, "A test's.");
export const away = () => new StoreError("unavailable", "connection_lost", "A test's.");
export const unknownOutcome = () => new StoreError("unknown_outcome", "commit_lost", "A test's.");

/** Lets everything go on that does not wait for the test. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export interface Begun {
  readonly plan: LoadPlan;
  readonly lockIds: readonly bigint[];
  /** From all rounds of the commit. */
  readonly writes: readonly Writes[];
  /** Resolves after the code that waits for the commit has gone on. */
  commit(): Promise<void>;
  fail(error: unknown): Promise<void>;
  /** Commits, and loses the answer. */
  commitUnheard(): Promise<void>;
  /** Decides, and rolls back. */
  decideAndFail(error: unknown): Promise<void>;
  /** Decides, rolls back, and loses the answer. */
  rollBackUnheard(): Promise<void>;
}

export function lockRow(id: bigint, overrides: Partial<Lock> = {}): Lock {
  return { ...FREE_LOCK, id, name: `lock ${id}`, ...overrides };
}

export class ScriptedTransactions implements Pick<Store, "transact"> {
  readonly locks = new Map<bigint, Lock>();
  limitRules: readonly LimitRule[] = [];
  readonly begun: Begun[] = [];
  nowUs = 1_000_000_000;
  /** Waiters that are read from the head of a queue. */
  headMax = Number.POSITIVE_INFINITY;
  #claims = new Map<string, Claim>();

  /** These locks exist, unused. */
  constructor(...ids: bigint[]) {
    for (const id of ids) this.locks.set(id, lockRow(id));
  }

  /** The locks of each transaction, in the order in which the transactions began. */
  get lockIds(): (readonly bigint[])[] {
    return this.begun.map(({ lockIds }) => lockIds);
  }

  at(index: number): Begun {
    const begun = this.begun[index];
    if (!begun) throw new Error(`Only ${this.begun.length} transactions have begun.`);
    return begun;
  }

  /** A lock with one waiter, and its holder if there is one. */
  addWaited(id: bigint, overrides: Partial<Lock> = {}): void {
    const isHeld = overrides.heldPermits !== undefined;
    const lock = { nextTicket: 3n, waiting: 1, waitingPermits: 1, holders: isHeld ? 1 : 0, ...overrides };
    this.locks.set(id, lockRow(id, lock));
    const claim: Claim = { ...CLAIM, lockId: id, ticketNumber: 2n, requestId: `of ${id}`, state: "waiting" };
    this.#claims.set(keyText(claim), { ...claim, fencingToken: 0n, deadlineUs: this.nowUs + 1_000_000 });
  }

  transact(plan: LoadPlan, decide: DecideRows): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const writes: Writes[] = [];
    const failed = (error: unknown) => {
      reject(error);
      return turn();
    };
    const decided = (isWritten: boolean): boolean => {
      try {
        this.#decide(plan, decide, writes, isWritten);
        return true;
      } catch (error) {
        reject(error);
        return false;
      }
    };
    this.begun.push({
      plan,
      lockIds: plan.locks.map(({ id }) => id),
      writes,
      commit: () => {
        if (decided(true)) resolve();
        return turn();
      },
      fail: failed,
      commitUnheard: () => (decided(true) ? failed(unknownOutcome()) : turn()),
      decideAndFail: (error) => (decided(false) ? failed(error) : turn()),
      rollBackUnheard: () => (decided(false) ? failed(unknownOutcome()) : turn()),
    });
    return promise;
  }

  #decide(plan: LoadPlan, decide: DecideRows, writes: Writes[], isWritten: boolean): void {
    let ids = this.#planned(plan);
    for (;;) {
      const next = decide(this.#loaded(ids, plan));
      writes.push(next);
      if (isWritten) this.#write(next);
      ids = [...next.again];
      if (ids.length === 0) return;
    }
  }

  #planned({ locks, rule }: LoadPlan): bigint[] {
    if (!rule) return locks.map(({ id }) => id);
    if (rule.rulesOnly) return [];
    const under = [...this.locks.values()].filter(
      ({ id, name, waiting }) => id > rule.afterLockId && name.startsWith(rule.prefix) && waiting > 0,
    );
    return under.map(({ id }) => id).slice(0, LOCKS_PER_RULE_MAX);
  }

  #loaded(ids: readonly bigint[], { claims, requestIds }: LoadPlan): Loaded {
    const locks = ids.flatMap((id) => this.locks.get(id) ?? []);
    const all = [...this.#claims.values()];
    const named = new Set(claims.map(keyText));
    const queueOf = (id: bigint) => {
      const waiters = all.filter(({ lockId, state }) => lockId === id && state === "waiting");
      return { head: waiters.slice(0, this.headMax), complete: waiters.length <= this.headMax };
    };
    return structuredClone({
      ...{ nowUs: this.nowUs, atLeastUs: this.nowUs, jumpedAtUs: null, skippedUs: 0, backAtUs: null },
      failOver: NO_FAIL_OVER,
      levelMin: 0,
      locks: new Map(locks.map((lock) => [lock.id, lock])),
      limitRules: this.limitRules,
      claims: all.filter((claim) => named.has(keyText(claim)) || requestIds.includes(claim.requestId)),
      queues: new Map(locks.map(({ id }) => [id, queueOf(id)])),
      isSuccessor: false,
      rulesRevision: BigInt(this.limitRules.length),
    });
  }

  #write({ locks, added, changed, rule }: Writes): void {
    for (const lock of locks) this.locks.set(lock.id, structuredClone(lock));
    for (const claim of [...added, ...changed]) this.#claims.set(keyText(claim), structuredClone(claim));
    if (rule) this.limitRules = [...this.limitRules.filter(({ prefix }) => prefix !== rule.prefix), rule];
  }
}
