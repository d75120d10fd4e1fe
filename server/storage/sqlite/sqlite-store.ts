// The store in an embedded SQLite file, for a single server: opens the file and checks its schema, and has the methods that
// are neither decisions nor steps of `reads/`.

import type { DatabaseSync } from "node:sqlite";
import { LEVEL } from "../../core/level.ts";
import { IN_MEMORY } from "../database-url.ts";
import { LATEST_MIGRATION } from "../fleet.ts";
import { pendingOf, runPending, sqliteSchema } from "../migrate/schema.ts";
import { checkNow } from "../reads/invariants.ts";
import { coldReads } from "../reads/reads.ts";
import { bigintOf, claimFromRow, type Row } from "../rows/from-rows.ts";
import { boundFromRow, dueStep, IdleScan, isStale } from "../rows/guard-scans.ts";
import { changeValues } from "../rows/kept-changes.ts";
import { bytesOf } from "../rows/values.ts";
import { CHECKED_ROWS_MAX } from "../storage-bounds.ts";
import { type Finding, type Polled, type Store, StoreError, WITNESS_KEPT_US } from "../store.ts";
import { sqliteError } from "./errors.ts";
import { type OpenDatabase, openSqliteFile } from "./file.ts";
import { SqliteHandle, type SqliteOptions } from "./handle.ts";
import { claimByRequest, listOf, type SqliteStatements } from "./statements.ts";
import { stepsOn } from "./steps.ts";
import { transactOn } from "./transaction.ts";

/** Opens the file for this process alone. Its schema must be up to date; only a database in memory creates its own. */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const database = openSqliteFile(options.path);
  try {
    if (options.path === IN_MEMORY) await runPending(sqliteSchema(database));
    await mustHaveSchema(database, options.path);
    return sqliteStore(database, options);
  } catch (error) {
    database.close();
    throw sqliteError(error, options.path);
  }
}

/** Takes ownership of an open database, whose schema must be up to date. */
export function sqliteStore(database: OpenDatabase, options: SqliteOptions): Store {
  const handle = new SqliteHandle(database, options);
  return {
    product: `SQLite ${handle.version}`,
    localHost: null,
    lanes: 1,
    patientSlots: 1,
    readers: 1,
    clock: handle.clock,
    transact: async (plan, decide) => transactOn(handle, plan, decide, options.observer),
    ...checked(handle, {
      ...ownMethods(handle),
      ...coldReads(stepsOn(handle)),
      // One process has the file to itself.
      rowHolder: async () => null,
      waitForRows: async () => {},
    }),
    // The file was opened for writing.
    checkRights: async () => [],
    checkDurability: async () => sqliteDurability(options.path),
    servers: () => [],
    pool: () => ({ open: Number(handle.isOpen), idle: Number(handle.isOpen), waiting: 0 }),
    bounds: () => [],
    close: async () => handle.close(),
  };
}

/** The same methods, each of which first checks that the file is still the one that was opened. */
function checked<Methods extends Record<string, (...values: never[]) => Promise<unknown>>>(
  handle: SqliteHandle,
  methods: Methods,
): Methods {
  const entries = Object.entries(methods).map(([name, method]) => {
    const checkedMethod = async (...values: never[]) => {
      handle.checkFile();
      return await method(...values);
    };
    return [name, checkedMethod];
  });
  return Object.fromEntries(entries) as Methods;
}

export function sqliteDurability(path: string): Finding[] {
  if (path !== IN_MEMORY) return [];
  const message = "The database is in memory: everything in it is lost when the server ends.";
  return [{ severity: "warning", check: "durability", message }];
}

/** Checks the list of migrations, because SQLite reports a missing table with the same code as any mistake in SQL. */
async function mustHaveSchema(database: DatabaseSync, path: string): Promise<void> {
  if ((await pendingOf(sqliteSchema(database))).length === 0) return;
  const message = `The database file ${path} lacks some or all rowlock tables: run \`rowlock migrate up\`.`;
  throw new StoreError("unavailable", "schema", message);
}

/** What SQLite does by statements of its own, apart from decisions. */
export function ownMethods(handle: SqliteHandle) {
  const { statements, cache, times, nowUs } = handle;
  const on = stepsOn(handle);
  const scan = new IdleScan();
  return {
    find: async (names) => find(statements, names),

    async poll(lockIds, aheadUs) {
      const atLeastUs = nowUs() - handle.coarseUs;
      const { rulesRevision } = handle.meta();
      const polled: Polled = { revisions: new Map(), due: [], dueSoon: new Map(), rulesRevision };
      if (lockIds.length === 0) return polled;
      for (const row of statements.all("watch", atLeastUs, listOf(lockIds), atLeastUs + aheadUs)) {
        const [id, revision, inUs] = row;
        const lockId = bigintOf(id);
        polled.revisions.set(lockId, bigintOf(revision));
        if (inUs === null) continue;
        if (Number(inUs) > 0) polled.dueSoon.set(lockId, Number(inUs));
        else polled.due.push(lockId);
      }
      return polled;
    },

    claims: async (keys) => {
      const rows = keys.map((key) => statements.get("claim", key.lockId, key.ticketNumber));
      return { nowUs: nowUs(), claims: rows.filter((row) => row !== undefined).map(claimFromRow) };
    },

    claimsByRequest: async (ids) => {
      const claims = ids.flatMap((id) => claimByRequest(statements, id) ?? []);
      return { nowUs: nowUs(), claims: claims.filter(({ requestId }) => ids.includes(requestId)) };
    },

    async dueLocks(afterLockId, max) {
      const { nowUs, atLeastUs } = handle.readClock();
      const bounds = statements.all("due_locks", atLeastUs, afterLockId, max).map(boundFromRow);
      const stale = bounds.filter((bound) => isStale(bound, atLeastUs));
      if (stale.length > 0) {
        handle.inTransaction(() => {
          for (const { id, atUs } of stale) {
            statements.run("write_bound", atUs, id);
            const known = times.get(id);
            if (known) times.set(id, { ...known, boundUs: atUs });
          }
        });
      }
      return { nowUs, ...dueStep(bounds, atLeastUs, max) };
    },

    limitRules: async () => handle.meta().limitRules,

    checkInvariants: (max) => on.read(checkNow(max, "all")),

    async checkLiveClaims(max) {
      const [[count] = []] = statements.read("check_size", CHECKED_ROWS, []);
      // This process does nothing else during a check, so its length is bounded by the rows and not by the time.
      return Number(count) > CHECKED_ROWS_MAX ? null : on.read(checkNow(max, "live"));
    },

    async resolve(names, mayMake = (missing) => missing) {
      const found = find(statements, names);
      const unknown = [...new Set(names.filter((name) => !found.has(name)))];
      if (unknown.length === 0) return found;
      const missing = mayMake(unknown);
      handle.inTransaction(() => {
        for (const name of missing)
          found.set(name, bigintOf(statements.get("add_lock", bytesOf(name), nowUs())?.[0]));
      });
      return found;
    },

    async failOver({ seenEpoch, epochMin, pauseUsMin, pauseUsMax }) {
      const notedUs = nowUs();
      handle.inTransaction(() =>
        statements.run("fail_over", notedUs, epochMin, pauseUsMin, pauseUsMax, seenEpoch),
      );
      handle.forgetMeta();
      return Math.max(0, handle.meta().failOver.grantsFromUs - notedUs);
    },

    async heartbeat(replica, claims, keepForUs) {
      const untilUs = nowUs() + keepForUs;
      handle.inTransaction(() => {
        for (const { lockId, ticketNumber, secret } of claims) {
          statements.run("heartbeat", replica, untilUs, lockId, ticketNumber, bytesOf(secret));
        }
      });
      cache.prolonged(replica, claims, untilUs);
      return [];
    },

    register: async ({ id, address, version, secret }, keepForUs, rulesRevision) =>
      handle.inTransaction(() => {
        const atUs = nowUs();
        const texts = [address, version, secret].map(bytesOf);
        statements.run("register", id, ...texts, LEVEL, KNOWN, atUs, rulesRevision, atUs + keepForUs);
        statements.run("forget_replicas", atUs);
      }),

    async raiseLevelMin({ level, by }) {
      handle.inTransaction(() => statements.run("raise_level_min", level, bytesOf(by)));
      handle.forgetMeta();
    },

    mark: async (witness, expected, mark) =>
      handle.inTransaction(() => {
        const atUs = nowUs();
        const list = expected === null ? null : listOf(expected);
        const isDone = statements.run("mark", witness, mark, atUs, list) > 0;
        if (expected === null) statements.run("forget_marks", atUs - WITNESS_KEPT_US);
        return { isDone, nowUs: atUs };
      }),

    async noteChange(change) {
      handle.inTransaction(() => statements.run("add_change", ...changeValues(change, nowUs())));
    },

    purgeLocks: async (idleUs, max) =>
      handle.inTransaction(() => {
        const { decidedAtUs, id } = scan.after;
        const old = statements.all("old_locks", decidedAtUs, id, nowUs() - idleUs);
        const idle = scan.take(old.map(oldLockFromRow), max);
        for (const row of idle) {
          statements.run("raise_token_floor", row.lastToken, row.recordFloor);
          statements.run("remove_lock", row.id);
          cache.forget(row.id);
          times.delete(row.id);
        }
        return idle.length;
      }),
  } satisfies Partial<Store>;
}

const KNOWN = bytesOf(LATEST_MIGRATION);

/** As many guard rows and live claims as may be checked beside decisions, or one more. */
const CHECKED_ROWS = `SELECT COUNT(*) FROM (SELECT 1 FROM rowlock_lock UNION ALL SELECT 1 FROM rowlock_claim
  LIMIT ${CHECKED_ROWS_MAX + 1})`;

function find(statements: SqliteStatements, names: readonly string[]): Map<string, bigint> {
  const ids = new Map<string, bigint>();
  for (const name of names) {
    const row = statements.get("lock_id", bytesOf(name));
    if (row) ids.set(name, bigintOf(row[0]));
  }
  return ids;
}

function oldLockFromRow([id, decidedAt, isIdle, lastToken, recordFloor]: Row) {
  return {
    id: bigintOf(id),
    decidedAtUs: Number(decidedAt),
    isIdle: Number(isIdle) === 1,
    lastToken: bigintOf(lastToken),
    recordFloor: bigintOf(recordFloor),
  };
}
