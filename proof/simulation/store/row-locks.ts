// Exclusive locks on guard rows, on the row of rowlock_meta, and by transactions of somebody else. Whoever waits, waits in
// line, for as long as an InnoDB lock wait lasts.

import { LOCK_WAIT_S } from "../../../server/storage/storage-bounds.ts";
import { ROW_LOCKED, StoreError } from "../../../server/storage/store.ts";
import type { Process, World } from "../world/world.ts";

/** The row of rowlock_meta. */
export const META_ROW = 0n;

interface Waiting {
  readonly owner: object;
  granted(): void;
  gaveUp(): void;
}

export class RowLocks {
  readonly #world: World;
  readonly #database: Process;
  readonly #held = new Map<bigint, { owner: object; readonly line: Waiting[] }>();

  constructor(world: World, database: Process) {
    this.#world = world;
    this.#database = database;
  }

  get areHeld(): boolean {
    return this.#held.size > 0;
  }

  isFree(row: bigint, owner: object): boolean {
    const held = this.#held.get(row);
    return !held || held.owner === owner;
  }

  /** At once, or rejects. */
  take(row: bigint, owner: object): boolean {
    if (!this.isFree(row, owner)) return false;
    if (!this.#held.has(row)) this.#held.set(row, { owner, line: [] });
    return true;
  }

  /** Rejects with a StoreError if it takes too long. */
  async wait(row: bigint, owner: object, ms = LOCK_WAIT_S * 1_000): Promise<void> {
    if (this.take(row, owner)) return;
    const { line } = this.#held.get(row) as { line: Waiting[] };
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        owner,
        granted: () => {
          tooLong();
          this.#world.at(this.#database, 0, resolve);
        },
        gaveUp: () => {
          tooLong();
          reject(rowLocked());
        },
      };
      const tooLong = this.#world.at(this.#database, ms, () => {
        line.splice(line.indexOf(waiting), 1);
        reject(rowLocked());
      });
      line.push(waiting);
    });
  }

  /** Rows that somebody waits for while they are released go to the first in line at once. */
  release(owner: object): void {
    for (const [row, held] of [...this.#held]) {
      if (held.owner !== owner) {
        const at = held.line.findIndex((waiting) => waiting.owner === owner);
        if (at >= 0) held.line.splice(at, 1)[0]?.gaveUp();
        continue;
      }
      const next = held.line.shift();
      if (!next) {
        this.#held.delete(row);
        continue;
      }
      held.owner = next.owner;
      next.granted();
    }
  }
}

export function rowLocked(): StoreError {
  return new StoreError("transient", ROW_LOCKED, "Another transaction holds a row.");
}
