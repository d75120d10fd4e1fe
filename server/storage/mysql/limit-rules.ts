// Caches the limit rules that decisions use, by their revision, so that they are read only after a change. A
// transaction that itself changes a rule must not use the shared cache: it may yet be rolled back.

import type { LimitRule } from "../../core/limit.ts";
import { type Connection, query } from "./connection/connection.ts";
import { bigintOf, limitRuleFromRow } from "./rows.ts";

export interface RulesAt {
  readonly revision: bigint;
  readonly limitRules: readonly LimitRule[];
}

// One statement, so that the revision belongs to exactly these rules.
const RULES = `SELECT r.prefix, r.limit_value, r.version, r.reason, r.change_mark, m.rules_revision
  FROM rowlock_meta m LEFT JOIN rowlock_limit_rule r ON TRUE WHERE m.id = 1 ORDER BY r.prefix`;

const NONE: RulesAt = { revision: -1n, limitRules: [] };

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

/** Reads the rules as this connection sees them now. */
export async function readRules(connection: Connection): Promise<RulesAt> {
  const rows = await query(connection, "load_rules", RULES);
  return {
    revision: bigintOf(rows[0]?.[5]),
    limitRules: rows.filter((row) => row[0] !== null).map(limitRuleFromRow),
  };
}
