// Where the data goes: a table that keeps, for each part, the highest fencing token that has written to it, and refuses lower
// ones. So a worker that was frozen, has lost its permit and wakes up too late spoils nothing.

import { DatabaseSync } from "node:sqlite";
import type { Order } from "./source.ts";

export class Warehouse implements Disposable {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS part (name TEXT PRIMARY KEY, fence INTEGER NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS orders (
        part TEXT NOT NULL, id INTEGER NOT NULL, cents INTEGER NOT NULL, PRIMARY KEY (part, id)
      ) STRICT;
    `);
  }

  /** Writes a batch, all of it or nothing. Throws where somebody with a higher token has written to this part. */
  load(part: string, orders: readonly Order[], token: bigint): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      this.#database.prepare("INSERT OR IGNORE INTO part (name, fence) VALUES (?, 0)").run(part);
      const fenced = this.#database
        .prepare("UPDATE part SET fence = :token WHERE name = :part AND fence <= :token")
        .run({ part, token });
      if (fenced.changes === 0) throw new Error(`Token ${token} is too old for ${part}.`);
      const insert = this.#database.prepare(
        "INSERT OR REPLACE INTO orders (part, id, cents) VALUES (?, ?, ?)",
      );
      for (const { id, cents } of orders) insert.run(part, id, cents);
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  rows(): number {
    return Number(this.#database.prepare("SELECT COUNT(*) AS rows FROM orders").get()?.rows);
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}
