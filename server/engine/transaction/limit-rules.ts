// Settings by pattern. One transaction changes the rule and grants what it makes room for at the first few hundred locks
// with waiters; further transactions do the rest. A transaction that changes a rule holds rows that every wait and
// every new name needs, so it waits for no lock's rows. If another transaction holds some, one transaction changes only
// the rule, and advances bring the locks up to date one by one.

import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "../../core/command.ts";
import {
  effectiveLimit,
  type LimitRule,
  limitUnder,
  type NewSettings,
  NO_SETTINGS,
  patternOf,
  queueRulesUnder,
  rateUnder,
  withSet,
} from "../../core/limit.ts";
import { type GuardRow, isDraining, totalHeld, waiterCount } from "../../core/lock.ts";
import { byOf, type NotedChange, settingsText } from "../../core/noted-change.ts";
import { RowsNeeded } from "../../core/pools.ts";
import type { Policy } from "../../core/rows.ts";
import type { Span } from "../../core/span.ts";
import { ROLLED_BACK } from "../../storage/retry.ts";
import {
  isInDoubt,
  isRowLocked,
  LOCKS_PER_RULE_MAX,
  type Loaded,
  type LoadPlan,
  ROW_LOCKED,
  type Store,
  StoreError,
} from "../../storage/store.ts";
import type { EngineObserver, LimitRuleAnswer } from "../answers.ts";
import { POOL_HELD_UP_MS } from "../engine-bounds.ts";
import { Fault, outcomeUnknown, unavailable } from "../faults.ts";
import { newMark } from "../secrets.ts";
import { lockSteps } from "../views/views.ts";
import type { Advances } from "./advances.ts";
import type { CheckedStore } from "./checked-store.ts";
import type { RulesInForce } from "./rules-in-force.ts";
import { Attempt, inOrderOfIds, type Needed, withAttempts, withNeeded } from "./transaction.ts";
import { TransactionSpan } from "./transaction-span.ts";

export interface RuleChange {
  readonly prefix: string;
  readonly set: NewSettings;
  /**
   * The guard row of the pool with this prefix. The rule then says of the pool what this row says when the rule is written: an
   * earlier call may be overtaken by a later one in between. Unset: what the rule says of a pool stays as it is.
   */
  readonly poolId?: bigint;
  readonly expectedVersion: bigint | undefined;
  readonly reason: string;
  readonly caller: Caller | undefined;
}

export interface LimitRulesOptions {
  readonly policy: Policy;
  readonly store: Pick<Store, "list" | "limitRules">;
  readonly checked: Pick<CheckedStore, "transact">;
  readonly rulesInForce: Pick<RulesInForce, "everywhereAfter">;
  readonly observer: EngineObserver;
  /** Wakes waiters and advances what one transaction left over. */
  readonly subscribers: { wake(attempt: Attempt): void };
  readonly advances: Pick<Advances, "owe">;
}

type Refused = Extract<LimitRuleAnswer, { kind: "version_mismatch" }>;

export async function changeLimitRule(
  change: RuleChange,
  options: LimitRulesOptions,
): Promise<LimitRuleAnswer> {
  const { prefix, caller } = change;
  const span = caller?.span;
  const changing = new ChangingRule(change);
  try {
    let reached = await grantUnder({ prefix, afterLockId: 0n }, options, span, changing);
    if (reached === "held_up")
      await grantUnder({ prefix, afterLockId: 0n, rulesOnly: true }, options, span, changing);
    const { answer } = changing;
    if (answer.kind === "version_mismatch") return answer;
    while (typeof reached === "bigint")
      reached = await grantUnder({ prefix, afterLockId: reached }, options, span);
    if (reached === "held_up") await advanceUnder(prefix, options);
    const { changedAfter } = changing;
    const { rulesInForce, store, observer } = options;
    const awaited = async () =>
      changedAfter === undefined ? 0 : await rulesInForce.everywhereAfter(changedAfter);
    const behind = await withAttempts(awaited, observer);
    return await withAttempts(() => describe(answer, behind, store), observer);
  } catch (error) {
    throw error instanceof Fault && changing.mayBeDone ? outcomeUnknown(error) : error;
  }
}

/** The rules now say that there is a pool, or none. Returns how many servers have not yet reported these rules. */
export async function changePoolOfRule(
  change: Omit<RuleChange, "expectedVersion"> & { readonly poolId: bigint },
  options: LimitRulesOptions,
): Promise<number> {
  const { prefix, caller, poolId } = change;
  const changing = new ChangingRule({ ...change, expectedVersion: undefined });
  const rule = { prefix, afterLockId: 0n, rulesOnly: true };
  const write = () => grantUnder(rule, options, caller?.span, changing, new Set([poolId]));
  for (const untilMs = performance.now() + ROLLED_BACK.longestMs; (await write()) === "held_up"; ) {
    if (performance.now() > untilMs) throw unavailable(poolHeldUp());
    await sleep(POOL_HELD_UP_MS);
  }
  const { changedAfter } = changing;
  if (changedAfter === undefined) return 0;
  return await withAttempts(() => options.rulesInForce.everywhereAfter(changedAfter), options.observer);
}

/** One call over all of its attempts, which share a mark: the mark shows whether any of them was committed. */
class ChangingRule {
  readonly #change: RuleChange;
  readonly #mark = newMark();
  /** The mark that the last attempt found. */
  #markFound = 0n;
  /** The mark that the attempts with an unknown outcome found; undefined: there were none. */
  #markFoundInDoubt: bigint | undefined;
  #answer: LimitRule | Refused | undefined;
  /** The revision of the rules that the last attempt to write a rule found. */
  changedAfter: bigint | undefined;

  constructor(change: RuleChange) {
    this.#change = change;
  }

  /** The rule to write, and its note; undefined: none. Throws a Fault if it may have been written before. */
  decide(loaded: Loaded): { rule: LimitRule; noted: NotedChange[] } | undefined {
    const { limitRules, rulesRevision } = loaded;
    const { prefix, set, expectedVersion, reason, caller } = this.#change;
    const now = limitRules.find((candidate) => candidate.prefix === prefix);
    const version = now?.version ?? 0n;
    if (this.#change.poolId !== undefined) return this.#decidePool(loaded, this.#change.poolId, now);
    this.#markFound = now?.changeMark ?? 0n;
    if (now?.changeMark === this.#mark) {
      this.#answer = now;
      return undefined;
    }
    if ((this.#markFoundInDoubt ?? this.#markFound) !== this.#markFound) throw outcomeUnknown();
    if (expectedVersion !== undefined && expectedVersion !== version) {
      this.#answer = { kind: "version_mismatch", version };
      return undefined;
    }
    this.changedAfter = rulesRevision;
    const ofPool = { poolId: now?.poolId ?? null };
    const settings = withSet(now ?? NO_SETTINGS, set);
    const rule = { prefix, ...settings, version: version + 1n, reason, changeMark: this.#mark, ...ofPool };
    this.#answer = rule;
    const [from, to] = [settingsText(now ?? NO_SETTINGS), settingsText(rule)];
    const target = patternOf(rule);
    const note: NotedChange = { kind: "limit", target, isPattern: true, by: byOf(caller), from, to, reason };
    return { rule, noted: [note] };
  }

  /** Another attempt comes to the same: it says what the pool's row says. The settings of each name stay, with their version. */
  #decidePool(
    { pools, rulesRevision }: Loaded,
    poolId: bigint,
    now: LimitRule | undefined,
  ): { rule: LimitRule; noted: NotedChange[] } | undefined {
    const row = pools?.get(poolId)?.lock;
    const isSet = row !== undefined && (row.limit !== null || row.rate !== null);
    const known = now?.poolId ?? null;
    const { prefix } = this.#change;
    const rule = now ?? { prefix, ...NO_SETTINGS, version: 0n, reason: "", changeMark: 0n };
    this.#answer = rule;
    // Somebody else has written the same, or the pool was made again since, with another row.
    if (isSet ? known === poolId : known !== poolId) {
      this.changedAfter = rulesRevision - 1n;
      return undefined;
    }
    this.changedAfter = rulesRevision;
    return { rule: { ...rule, poolId: isSet ? poolId : null, changeMark: this.#mark }, noted: [] };
  }

  failed(error: unknown): void {
    // An attempt that wrote no rule has changed nothing, and any other failure rolls the attempt back.
    if (isInDoubt(error) && this.#answer && !("kind" in this.#answer))
      this.#markFoundInDoubt = this.#markFound;
    this.#answer = undefined;
  }

  get mayBeDone(): boolean {
    return this.#markFoundInDoubt !== undefined || (this.#answer !== undefined && !("kind" in this.#answer));
  }

  get answer(): (LimitRule & { readonly kind?: undefined }) | Refused {
    if (!this.#answer) throw new Error("A limit rule was changed without a decision.");
    return this.#answer;
  }
}

/**
 * Runs one transaction: changes the rule, if `changing` says how, and grants under the prefix. Resolves with the last
 * lock that it reached, null if none is left, or `held_up` if it did nothing because another one holds rows.
 */
async function grantUnder(
  rule: NonNullable<LoadPlan["rule"]>,
  options: LimitRulesOptions,
  span: Span | undefined,
  changing: ChangingRule | null = null,
  ofPools: ReadonlySet<bigint> = new Set(),
): Promise<bigint | null | "held_up"> {
  const impatient = !rule.rulesOnly || ofPools.size > 0;
  const traced = span && new TransactionSpan([span]);
  const base = { impatient, locks: [], claims: [], requestIds: [], holdersOf: [], rule, span: traced?.span };
  let needed: Needed = { pools: ofPools, claims: new Map() };
  const { checked, subscribers, observer } = options;
  try {
    const once = async (): Promise<bigint | null> => {
      traced?.tried();
      const { wholeQueues } = needed;
      const plan = { ...base, rule: { ...rule, wholeQueues }, pools: inOrderOfIds(needed.pools) };
      const attempt = new Attempt(new Map(), options.policy, []);
      let reached: bigint | null | undefined;
      const transacting = checked.transact(plan, (loaded) => {
        if (reached !== undefined) return attempt.decide(loaded);
        const ids = [...loaded.locks.keys()];
        reached = ids.length < LOCKS_PER_RULE_MAX ? null : (ids.at(-1) ?? null);
        const next = changing?.decide(loaded);
        if (!next) return attempt.decide(loaded);
        const limitRules = [...loaded.limitRules.filter(({ prefix }) => prefix !== rule.prefix), next.rule];
        return { ...attempt.decide({ ...loaded, limitRules }), ...next };
      });
      try {
        await transacting;
      } catch (error) {
        changing?.failed(error);
        if (!(error instanceof RowsNeeded)) throw error;
        needed = withNeeded(needed, error);
        return await once();
      }
      subscribers.wake(attempt);
      return reached ?? null;
    };
    const granting = withAttempts(once, observer, impatient);
    return await (traced ? traced.until(granting) : granting);
  } catch (error) {
    if (isRowLocked(error)) return "held_up";
    throw error;
  }
}

function poolHeldUp(): StoreError {
  return new StoreError("transient", ROW_LOCKED, "Another transaction holds the pool's row.");
}

async function advanceUnder(prefix: string, { store, advances }: LimitRulesOptions): Promise<void> {
  for await (const locks of busyUnder(prefix, store))
    await Promise.all(locks.filter(({ waiting }) => waiting > 0).map(({ id }) => advances.owe(id)));
}

function busyUnder(prefix: string, store: LimitRulesOptions["store"]): AsyncIterable<readonly GuardRow[]> {
  return lockSteps(store, { prefix, afterName: null, max: Number.POSITIVE_INFINITY, which: "busy" });
}

/** Sums over the locks that match, after the change. */
async function describe(
  rule: LimitRule,
  serversBehind: number,
  store: LimitRulesOptions["store"],
): Promise<LimitRuleAnswer> {
  const limitRules = await store.limitRules();
  let heldPermits = 0;
  let waiting = 0;
  let draining = false;
  for await (const locks of busyUnder(rule.prefix, store)) {
    for (const lock of locks) {
      const inForce = effectiveLimit(lock, limitRules);
      heldPermits += totalHeld(lock);
      waiting += waiterCount(lock);
      if (inForce.pattern === patternOf(rule) && isDraining(lock, inForce.limit)) draining = true;
    }
  }
  const { version } = rule;
  const limit = rule.limit ?? limitUnder(rule.prefix, limitRules);
  const rate = rule.rate ?? rateUnder(rule.prefix, limitRules);
  const queueRules = rule.queueRules ?? queueRulesUnder(rule.prefix, limitRules);
  return {
    kind: "limit_rule",
    limit,
    rate,
    queueRules,
    version,
    heldPermits,
    waiting,
    draining,
    serversBehind,
  };
}
