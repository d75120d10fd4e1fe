// Guard rows by name: finds them, creates them, and removes unused ones. A creator locks the row of rowlock_meta shared and
// reads the token floor; a remover locks it exclusively and raises the floor. So a name that was removed and returns starts
// above every token and every record version that it ever had.

import { NAME_BYTES_MAX, partsOf } from "../../core/bounds.ts";
import { IDLE_LOCK_CONDITION } from "../rows/columns.ts";
import { bigintOf, textOf } from "../rows/from-rows.ts";
import { IdleScan } from "../rows/guard-scans.ts";
import { bytesOf } from "../rows/values.ts";
import { IDLE_SCAN_MAX, NAMES_MAX } from "../storage-bounds.ts";
import { type Store, StoreError } from "../store.ts";
import { type Connection, query, type Row, rowsOf, Trip, writtenBy } from "./connection/connection.ts";
import { inTransaction, repeatedly } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { NOW_US } from "./statements.ts";
import { mustStillBeOpen, WHILE_OPEN } from "./transaction/assertions.ts";

const FIND = "SELECT id, name FROM rowlock_lock FORCE INDEX (rowlock_lock_name) WHERE name IN (?)";
// One statement with a known number of rows, which takes no lock on the counter of ids. The rows are in order of names,
// so that two servers which create the same names do not deadlock.
const NEW = `(?, (SELECT token_floor FROM rowlock_meta WHERE id = 1 LOCK IN SHARE MODE), last_token, ${NOW_US})`;
// No row has this id.
const LOCK_NONE = "SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id = 0 FOR UPDATE";

const OLD = `SELECT l.id, l.decided_at, ${IDLE_LOCK_CONDITION} AND l.rate_until < ${NOW_US} - ?, ${NOW_US}
  FROM rowlock_lock l FORCE INDEX (rowlock_lock_idle)
  WHERE l.decided_at >= ? AND (l.decided_at > ? OR l.id > ?) AND l.decided_at < ${NOW_US} - ?
  ORDER BY l.decided_at, l.id LIMIT ${IDLE_SCAN_MAX}`;
const FLOOR_LOCK = "SELECT token_floor FROM rowlock_meta WHERE id = 1 FOR UPDATE";
const GUARDS_LOCK =
  "SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR UPDATE";
// Creators of guard rows need the floor, so a remover that holds it must not wait for guard rows.
const FREE_GUARDS_LOCK = `${GUARDS_LOCK} SKIP LOCKED`;
const STILL_IDLE = `SELECT l.id, GREATEST(l.last_token, l.record_floor) FROM rowlock_lock l
  WHERE l.id IN (?) AND GREATEST(l.decided_at, l.rate_until) < ? AND ${IDLE_LOCK_CONDITION}`;
const RAISE_FLOOR = "UPDATE rowlock_meta SET token_floor = GREATEST(token_floor, ?) WHERE id = 1";
const REMOVE = `DELETE l FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE l.id IN (?) ${WHILE_OPEN}`;

export function names(pool: MysqlPool) {
  const scan = new IdleScan();

  const find = async (names: readonly string[]) => {
    const ids = new Map<string, bigint>();
    for (const part of partsOf([...new Set(names)], NAMES_MAX))
      addIds(ids, await pool.use((connection) => query(connection, "find", FIND, part)));
    return ids;
  };

  return {
    find,

    async resolve(names, mayMake = (missing) => missing) {
      const ids = await find(names);
      const unknown = [...new Set(names)].filter((name) => !ids.has(name));
      if (unknown.length === 0) return ids;
      const missing = mayMake(unknown);
      const bytes = missing.map(nameBytes).sort(Buffer.compare);
      for (const part of partsOf(bytes, NAMES_MAX))
        addIds(ids, await pool.write((connection) => make(connection, part)));
      if (missing.every((name) => ids.has(name))) return ids;
      throw new StoreError(
        "transient",
        "names_vanish",
        "A new lock was deleted by a clean-up before it could be read.",
      );
    },

    async purgeLocks(idleUs, max) {
      // Searches without locks, because there may be many old rows that have to stay.
      const { decidedAtUs, id } = scan.after;
      const old = await pool.use((connection) =>
        query(connection, "idle_locks", OLD, idleUs, decidedAtUs, decidedAtUs, id, idleUs),
      );
      const idle = scan.take(old.map(oldRow), max);
      const [first] = idle;
      if (!first) return 0;
      const ids = idle.map((row) => row.id);
      const before = first.nowUs - idleUs;
      return repeatedly(pool, (connection) =>
        inTransaction(connection, () => remove(connection, ids, before)),
      );
    },
  } satisfies Partial<Store>;
}

/**
 * On Galera, locks something exclusively before the floor, because only then InnoDB numbers the transaction. MariaDB 10.11
 * may not end a transaction in favour of another node's writes while it gets its number. If these raise the revision of the
 * rules, they then wait for the floor's row, and this transaction waits until they are committed: the node commits nothing
 * for innodb_lock_wait_timeout, which is 50 s by default.
 */
async function make(connection: Connection, names: readonly Buffer[]): Promise<readonly Row[]> {
  const { mayLag: isGalera } = connection;
  const trip = new Trip("add_locks");
  if (isGalera) {
    trip.add("START TRANSACTION");
    trip.add(LOCK_NONE);
  }
  const rows = names.map(() => NEW).join(", ");
  trip.add(
    `INSERT IGNORE INTO rowlock_lock (name, last_token, record_floor, decided_at) VALUES ${rows}`,
    ...names,
  );
  // Not `addCommit`: if the outcome is unknown, the rows can be made again.
  if (isGalera) trip.add("COMMIT");
  const foundAt = trip.add(FIND, names);
  const find = async () => rowsOf((await connection.run(trip))[foundAt]);
  return isGalera ? inTransaction(connection, find) : find();
}

/** INSERT IGNORE would truncate a name that is too long. Callers refuse such names, so one here is a bug. */
function nameBytes(name: string): Buffer {
  const bytes = bytesOf(name);
  if (bytes.length > NAME_BYTES_MAX) throw new Error(`A name of ${bytes.length} bytes reached the database.`);
  return bytes;
}

function oldRow([id, decidedAt, isIdle, now]: Row) {
  return {
    id: bigintOf(id),
    decidedAtUs: Number(decidedAt),
    isIdle: Number(isIdle) === 1,
    nowUs: Number(now),
  };
}

async function remove(connection: Connection, ids: readonly bigint[], before: number): Promise<number> {
  const lock = new Trip("purge_locks_load");
  lock.add("START TRANSACTION");
  lock.add(FLOOR_LOCK);
  const lockedAt = lock.add(connection.skipsLocked ? FREE_GUARDS_LOCK : GUARDS_LOCK, ids);
  const idleAt = lock.add(STILL_IDLE, ids, before);
  const read = await connection.run(lock);
  const locked = new Set(rowsOf(read[lockedAt]).map(([id]) => id));
  const idle = rowsOf(read[idleAt]).filter(([id]) => locked.has(id as string));

  const save = new Trip("purge_locks");
  if (idle.length === 0) {
    save.addCommit();
    await connection.run(save);
    return 0;
  }
  const highest = idle.map(([, highest]) => bigintOf(highest)).reduce((a, b) => (a > b ? a : b));
  const idleIds = idle.map(([id]) => bigintOf(id));
  save.add(RAISE_FLOOR, highest);
  const removedAt = save.add(REMOVE, idleIds);
  save.addCommit();
  const results = await connection.run(save);
  mustStillBeOpen(results.slice(0, -1));
  return writtenBy(results[removedAt]);
}

function addIds(ids: Map<string, bigint>, rows: readonly Row[]): void {
  for (const [id, name] of rows) ids.set(textOf(name), bigintOf(id));
}
