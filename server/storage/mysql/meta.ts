// What a transaction reads of rowlock_meta: the limit rules, by their revision, and the identity of the server through which
// the rows were last written, by which a database that was promoted or restored elsewhere reveals itself.

import type { LimitRule } from "../../core/limit.ts";
import { newEpochBy, RULE_LIST } from "../rows/columns.ts";
import { bigintOf, limitRuleFromRow, textOf } from "../rows/from-rows.ts";
import { bytesOf } from "../rows/values.ts";
import type { Store } from "../store.ts";
import { type Connection, query, type Row, rowsOf, Trip } from "./connection/connection.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { NOW_US } from "./statements.ts";

// One statement, so that the revision belongs to exactly these rules.
const RULES = `SELECT ${RULE_LIST}, rules_revision
  FROM rowlock_meta m LEFT JOIN rowlock_limit_rule r ON TRUE WHERE m.id = 1 ORDER BY r.prefix`;
const IDENTITY = "SELECT server_identity FROM rowlock_meta WHERE id = 1";
const ADOPT = "UPDATE rowlock_meta SET server_identity = ? WHERE id = 1 AND server_identity IS NULL";
const LONGEST_TTL = `SELECT COALESCE(MAX(ttl), 0) FROM (
    SELECT holder_ttl AS ttl FROM rowlock_lock FORCE INDEX (rowlock_lock_due)
      WHERE next_deadline IS NOT NULL AND holder_state = 2
    UNION ALL SELECT ttl FROM rowlock_claim WHERE state = 2) held`;
// The database evaluates assignments from left to right, after the condition.
const NOTE = `UPDATE rowlock_meta
  SET epoch = ${newEpochBy("GREATEST", "?", NOW_US)}, failed_over_at = ${NOW_US},
    grants_from = GREATEST(grants_from, ${NOW_US} + LEAST(?, GREATEST(?, (${LONGEST_TTL})))),
    server_identity = COALESCE(?, server_identity)
  WHERE id = 1 AND epoch = ?`;
// The revision makes every server read the row again before its next decision.
const RAISE_LEVEL_MIN = `UPDATE rowlock_meta SET level_min = ?, level_min_by = ?, rules_revision = rules_revision + 1
  WHERE id = 1 AND level_min < ?`;
const PAUSE = `SELECT GREATEST(0, CAST(grants_from AS SIGNED) - ${NOW_US}) FROM rowlock_meta WHERE id = 1`;

type RulesAt = { readonly revision: bigint; readonly limitRules: readonly LimitRule[] };

const NONE: RulesAt = { revision: -1n, limitRules: [] };

/** Caches the limit rules. A transaction that itself changes a rule must not use the shared one: it may be rolled back. */
export class RuleCache {
  #kept = NONE;

  /** Returns the rules at this revision or a later one. Needs a round trip unless this revision is cached. */
  async at(connection: Connection, revision: bigint): Promise<RulesAt> {
    if (this.#kept.revision !== revision) this.#kept = await readRules(connection);
    return this.#kept;
  }

  forget(): void {
    this.#kept = NONE;
  }
}

export async function readRules(connection: Connection): Promise<RulesAt> {
  const rows = await query(connection, "load_rules", RULES);
  return {
    revision: bigintOf(rows[0]?.at(-1)),
    limitRules: rows.filter((row) => row[0] !== null).map(limitRuleFromRow),
  };
}

/** Writes the server's identity to rows that have none yet. Throws a StoreError if the schema is missing. */
export async function adopt(connection: Connection): Promise<void> {
  const [meta] = await query(connection, "identity", IDENTITY);
  if (connection.serverIdentity === null || meta?.[0] !== null) return;
  await query(connection, "adopt", ADOPT, bytesOf(connection.serverIdentity));
}

/** Whether rows with this identity were written through another server than the connection's. */
export function isSuccessor(connection: Connection, identity: Row[number] | undefined): boolean {
  if (identity === null || identity === undefined || connection.serverIdentity === null) return false;
  return textOf(identity) !== connection.serverIdentity;
}

export function meta(pool: MysqlPool) {
  return {
    async raiseLevelMin({ level, by }) {
      await pool.write((connection) =>
        query(connection, "raise_level_min", RAISE_LEVEL_MIN, level, bytesOf(by), level),
      );
    },

    /** If `seenEpoch` is no longer the epoch, changes nothing and returns what is left of the pause. */
    failOver: ({ seenEpoch, epochMin, pauseUsMin, pauseUsMax }) =>
      pool.write(async (connection) => {
        const identity = connection.serverIdentity === null ? null : bytesOf(connection.serverIdentity);
        const trip = new Trip("fail_over");
        trip.add(NOTE, epochMin, pauseUsMax, pauseUsMin, identity, seenEpoch);
        const pauseAt = trip.add(PAUSE);
        return Number(rowsOf((await connection.run(trip))[pauseAt])[0]?.[0]);
      }),
  } satisfies Partial<Store>;
}
