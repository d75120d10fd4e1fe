// The store in MySQL or MariaDB, for any number of servers. Owns the pool and the cache of rules; each method's SQL is
// in the file of its kind: deciding in storage/mysql/transaction/transact.ts, names in storage/mysql/names.ts, small writes in storage/mysql/maintenance.ts,
// reads in storage/mysql/reads.ts, checks in storage/mysql/checks.ts.

import type { Claim, ClaimKey, ClaimRef } from "../../core/claim.ts";
import { DatabaseClock } from "../../core/database-clock.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { MysqlAddress } from "../database-url.ts";
import { monotonicUs } from "../monotonic.ts";
import {
  CONNECTIONS_BESIDE_LANES,
  LANES_DEFAULT,
  PATIENT_SLOTS_MAX,
  POOL_SIZE_DEFAULT,
} from "../storage-bounds.ts";
import type {
  BusyLock,
  DecideRows,
  FailOverNote,
  Finding,
  LoadPlan,
  LockQuery,
  LockView,
  PoolState,
  QueuePlace,
  ReplicaRow,
  Store,
  StoreObserver,
  WaitedLock,
} from "../store.ts";
import { checkDurability, checkInvariants } from "./checks.ts";
import { UNOBSERVED } from "./connection/connect.ts";
import { MysqlPool } from "./connection/pool.ts";
import { adopt, failOver } from "./fail-over.ts";
import { RuleCache, readRules } from "./limit-rules.ts";
import { beat, heartbeat, purgeClaims, retire } from "./maintenance.ts";
import { findNames, purgeLocks, resolveNames } from "./names.ts";
import {
  busyLocks,
  claimsByKey,
  claimsByRequest,
  dueLocks,
  holders,
  list,
  queue,
  replicas,
  show,
  views,
  waitedLocks,
  watch,
} from "./reads.ts";
import { LockCache } from "./transaction/lock-cache.ts";
import { transactOn } from "./transaction/transact.ts";

export interface MysqlOptions extends MysqlAddress {
  /** Connections at the most. */
  readonly poolSize?: number;
  /** Transactions at once; chosen to fit the pool if not given. */
  readonly lanes?: number;
  readonly observer?: StoreObserver;
}

/** Connects, and makes sure that the schema is there; it must be up to date. Throws a StoreError that says what is missing. */
export async function openMysqlStore(options: MysqlOptions): Promise<Store> {
  const { observer = UNOBSERVED, poolSize = POOL_SIZE_DEFAULT } = options;
  const pool = new MysqlPool(options, poolSize, observer);
  try {
    await pool.use(adopt);
  } catch (error) {
    await pool.close();
    throw error;
  }
  const lanes = options.lanes ?? Math.max(1, Math.min(LANES_DEFAULT, poolSize - CONNECTIONS_BESIDE_LANES));
  const besides = poolSize - lanes - CONNECTIONS_BESIDE_LANES;
  const patientSlots = Math.max(1, Math.min(PATIENT_SLOTS_MAX, besides));
  const readers = Math.max(1, besides - patientSlots);
  return new MysqlStore(pool, { lanes, patientSlots, readers }, observer);
}

/** What the settings of this server could lose, whatever there is in the database. Throws a StoreError. */
export async function mysqlDurability(address: MysqlAddress): Promise<Finding[]> {
  const pool = new MysqlPool(address, 1, UNOBSERVED);
  try {
    return await checkDurability(pool);
  } finally {
    await pool.close();
  }
}

class MysqlStore implements Store {
  readonly product: string;
  readonly lanes: number;
  readonly patientSlots: number;
  readonly readers: number;
  readonly clock = new DatabaseClock();
  readonly #pool: MysqlPool;
  readonly #observer: StoreObserver;
  readonly #rules = new RuleCache();
  readonly #cache = new LockCache(this.clock);

  constructor(
    pool: MysqlPool,
    { lanes, patientSlots, readers }: Pick<Store, "lanes" | "patientSlots" | "readers">,
    observer: StoreObserver,
  ) {
    this.#pool = pool;
    pool.onBroken = () => {
      this.#cache.forgetAll();
      this.#rules.forget();
    };
    this.#observer = observer;
    this.product = pool.server?.product ?? "MySQL";
    this.lanes = lanes;
    this.patientSlots = patientSlots;
    this.readers = readers;
  }

  resolve(names: readonly string[]): Promise<Map<string, bigint>> {
    return resolveNames(this.#pool, names);
  }

  find(names: readonly string[]): Promise<Map<string, bigint>> {
    return findNames(this.#pool, names);
  }

  transact(plan: LoadPlan, decide: DecideRows): Promise<void> {
    const context = { rules: this.#rules, cache: this.#cache, clock: this.clock, observer: this.#observer };
    return this.#pool.use((session) => transactOn(session, plan, decide, context));
  }

  failOver(note: FailOverNote): Promise<number> {
    return failOver(this.#pool, note);
  }

  async heartbeat(
    replica: bigint,
    claims: readonly ClaimRef[],
    keepForUs: number,
  ): Promise<readonly ClaimKey[]> {
    const before = this.clock.estimate(monotonicUs());
    const { kept, skipped } = await heartbeat(this.#pool, replica, claims, keepForUs);
    if (before) this.#cache.prolonged(replica, kept, before.atLeastUs + keepForUs);
    return skipped;
  }

  beat(replica: ReplicaRow, keepForUs: number): Promise<void> {
    return beat(this.#pool, replica, keepForUs);
  }

  replicas(max: number): ReturnType<Store["replicas"]> {
    return replicas(this.#pool, max);
  }

  retire(replica: bigint): Promise<void> {
    return retire(this.#pool, replica);
  }

  watch(lockIds: readonly bigint[]): ReturnType<Store["watch"]> {
    return watch(this.#pool, lockIds);
  }

  claims(keys: readonly ClaimKey[]): Promise<{ nowUs: number; claims: Claim[] }> {
    return claimsByKey(this.#pool, keys);
  }

  claimsByRequest(requestIds: readonly string[]): ReturnType<Store["claimsByRequest"]> {
    return claimsByRequest(this.#pool, requestIds);
  }

  async dueLocks(afterLockId: bigint, max: number): ReturnType<Store["dueLocks"]> {
    const askedUs = monotonicUs();
    const due = await dueLocks(this.#pool, afterLockId, max);
    this.clock.read(due.nowUs, askedUs, monotonicUs());
    return due;
  }

  purgeClaims(untilUs: number, max: number): Promise<number> {
    return purgeClaims(this.#pool, untilUs, max);
  }

  purgeLocks(idleUs: number, max: number): Promise<number> {
    return purgeLocks(this.#pool, idleUs, max);
  }

  queue(lockId: bigint): Promise<{ nowUs: number; places: QueuePlace[] }> {
    return queue(this.#pool, lockId);
  }

  holders(lockId: bigint, max: number): Promise<{ nowUs: number; claims: Claim[] }> {
    return holders(this.#pool, lockId, max);
  }

  list(query: LockQuery): ReturnType<Store["list"]> {
    return list(this.#pool, query);
  }

  waitedLocks(prefix: string, order: "longest_wait" | "most_waiters", max: number): Promise<WaitedLock[]> {
    return waitedLocks(this.#pool, prefix, order, max);
  }

  views(ids: readonly bigint[], shown: number): Promise<LockView[]> {
    return views(this.#pool, ids, shown);
  }

  show(name: string, shown: number): Promise<LockView | null> {
    return show(this.#pool, name, shown);
  }

  async limitRules(): Promise<readonly LimitRule[]> {
    const { limitRules } = await this.#pool.use(readRules);
    return limitRules;
  }

  busyLocks(max: number): Promise<BusyLock[]> {
    return busyLocks(this.#pool, max);
  }

  checkInvariants(max: number): Promise<Finding[]> {
    return checkInvariants(this.#pool, max);
  }

  checkDurability(): Promise<Finding[]> {
    return checkDurability(this.#pool);
  }

  pool(): PoolState {
    return this.#pool.state;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
