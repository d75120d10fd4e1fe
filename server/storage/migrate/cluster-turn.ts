// Whose turn it is to migrate on Galera. Row locks are local to a node there, and two nodes that change the same view at
// once may block each other, and all that is written, for ever (seen with MariaDB 10.11). So a migrator writes its name
// into a row before each statement. The nodes agree on who wrote first.

import { randomUUID } from "node:crypto";
import type { Knex } from "knex";

/** Its single row is the turn. Migrators lock it, or on Galera write it. */
export const TURN_TABLE = "rowlock_migration_turn";
export const MAKE_TURN_TABLE = `CREATE TABLE IF NOT EXISTS ${TURN_TABLE} (
     id INT UNSIGNED NOT NULL PRIMARY KEY,
     taken_by VARCHAR(36) NOT NULL DEFAULT '',
     taken_at DATETIME(6) NOT NULL DEFAULT '1970-01-01'
   ) ENGINE=InnoDB`;

/**
 * A migrator that has not written for so long is gone. While a statement of it takes longer, the cluster commits nothing
 * of others.
 */
const GONE_AFTER_S = 15;
const WRITE = `UPDATE ${TURN_TABLE} SET taken_by = ?, taken_at = UTC_TIMESTAMP(6)
  WHERE id = 1 AND (taken_by = ? OR taken_at < UTC_TIMESTAMP(6) - INTERVAL ${GONE_AFTER_S} SECOND)`;
const GIVE_BACK = `UPDATE ${TURN_TABLE} SET taken_at = DEFAULT WHERE id = 1 AND taken_by = ?`;

/** Another migrator has the turn. */
export class TurnTaken extends Error {}

export class ClusterTurn {
  readonly #knex: Knex;
  readonly #name = randomUUID();
  #isTaken = false;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** Runs `work` in this migrator's turn. Throws TurnTaken if it is another one's, and later if it no longer is this one's. */
  async during<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    await this.#write();
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      this.#isTaken = false;
      // If the database is away, others wait until this migrator counts as gone.
      await this.#knex.raw(GIVE_BACK, [this.#name]).catch(() => {});
    }
  }

  /** To be called before each statement that changes the schema. Does nothing where a row lock is the turn. */
  async keep(): Promise<void> {
    if (this.#isTaken) await this.#write();
  }

  async #write(): Promise<void> {
    const [{ affectedRows }] = await this.#knex.raw(WRITE, [this.#name, this.#name]);
    if (affectedRows === 0) throw new TurnTaken();
  }
}
