// The store in MySQL or MariaDB, for any number of servers. Assembled from parts: each file provides the methods of its
// kind. Owns the pool, the clock and the caches that they share.

import { DatabaseClock } from "../../core/database-clock.ts";
import type { MysqlAddress } from "../database-url.ts";
import { coldReads } from "../reads/reads.ts";
import * as bounds from "../storage-bounds.ts";
import type { Finding, Store, StoreOptions } from "../store.ts";
import { checkDurability, checks, mustBeInnodb } from "./checks.ts";
import { UNOBSERVED } from "./connection/connect.ts";
import { MysqlPool } from "./connection/pool.ts";
import { LockCache } from "./lock-cache.ts";
import { maintenance } from "./maintenance.ts";
import { adopt, meta, RuleCache } from "./meta.ts";
import { names } from "./names.ts";
import { reads } from "./reads.ts";
import { rowHolder } from "./row-holder.ts";
import { stepsOn } from "./steps.ts";
import { transactOn } from "./transaction/transact.ts";

/** Connects and checks that the schema exists; it must be up to date. Throws a StoreError that says what is missing. */
export async function openMysqlStore(options: MysqlAddress & StoreOptions): Promise<Store> {
  const { observer = UNOBSERVED, poolSize = bounds.POOL_SIZE_DEFAULT } = options;
  const pool = new MysqlPool(options, poolSize, observer);
  try {
    await pool.use(mustBeInnodb);
    await pool.use(adopt);
  } catch (error) {
    await pool.close();
    throw error;
  }
  const lanes =
    options.lanes ?? Math.max(1, Math.min(bounds.LANES_DEFAULT, poolSize - bounds.CONNECTIONS_BESIDE_LANES));
  const besides = poolSize - lanes - bounds.CONNECTIONS_BESIDE_LANES;
  const patientSlots = Math.max(1, Math.min(bounds.PATIENT_SLOTS_MAX, besides));
  const clock = new DatabaseClock();
  const cache = new LockCache(clock, options.cachedLocks);
  const rules = new RuleCache();
  const context = { rules, cache, clock, observer };
  pool.onBroken = () => {
    cache.forgetAll();
    rules.forget();
  };
  return {
    product: pool.server?.product ?? "MySQL",
    localHost: pool.server?.localHost ?? null,
    lanes,
    patientSlots,
    readers: Math.max(1, besides - patientSlots),
    clock,
    transact: (plan, decide) => pool.use((connection) => transactOn(connection, plan, decide, context)),
    ...meta(pool),
    ...names(pool),
    ...maintenance(pool, cache, clock),
    ...reads(pool, clock),
    ...coldReads(stepsOn(pool, clock)),
    ...rowHolder(pool),
    ...checks(pool),
    pool: () => pool.state,
    servers: () => pool.servers,
    bounds: () => pool.bounds,
    close: () => pool.close(),
  };
}

/** Reports which settings of this server could lose acknowledged commits; needs no schema. Throws a StoreError. */
export async function mysqlDurability(address: MysqlAddress): Promise<Finding[]> {
  const pool = new MysqlPool(address, 1, UNOBSERVED);
  try {
    return await checkDurability(pool);
  } finally {
    await pool.close();
  }
}
