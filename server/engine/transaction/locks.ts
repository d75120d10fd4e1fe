// What this server knows of each lock apart from its rows: one object a lock, found by its id or by its name, in one
// table with one bound. The table forgets the lock that was used longest ago, unless commands wait for it. Decides
// nothing and reads nothing.

import { type Linked, RecentList } from "../../core/recent-map.ts";
import * as bounds from "../engine-bounds.ts";
import type { Ask } from "./transaction.ts";

/** What happens to the commands of a lock that were taken from the queue. */
export type UnderWay =
  /** A lane decides about them. */
  | { readonly kind: "in_lane" }
  /** They wait for a row lock. The timer reports that they have waited for long. */
  | { readonly kind: "patient"; readonly timer: NodeJS.Timeout; readonly sinceMs: number }
  /** They have waited for a row lock for long. */
  | { readonly kind: "held_up"; readonly sinceMs: number };

/** How other transactions hold a lock: briefly, as those of other replicas do, or so long that a wait has failed. */
export type Hold = "passing" | "stuck";

export class LockEntry implements Linked<LockEntry> {
  readonly id: bigint;
  /** null: unknown. An id gets another name only if the database is replaced by another copy of itself. */
  name: string | null = null;
  /** The token given last, as far as this server knows, and the epoch of the database in which it was given. */
  lastToken = 0n;
  epoch = 0n;
  /** Whether its shares are fair, as far as this server knows. */
  hasShares = false;
  /** Commands whose transaction has not begun: first the urgent ones. */
  queued: Ask[] = [];
  /** null: all commands that were taken from the queue have their answers. */
  underWay: UnderWay | null = null;
  /** The root pool that its lane keeps for it, if it is in a lane and under a pool. */
  tree: bigint | null = null;
  /** How another transaction held its rows, and for how long and until when the lock stays out of the lanes for that. */
  #hold: Hold = "passing";
  #outForMs = 0;
  #outUntilMs = Number.NEGATIVE_INFINITY;
  older: LockEntry | undefined;
  newer: LockEntry | undefined;

  constructor(id: bigint) {
    this.id = id;
  }

  get hold(): Hold | "free" {
    const isFree = this.#outForMs === 0 || performance.now() >= this.#outUntilMs;
    return isFree ? "free" : this.#hold;
  }

  /** Another transaction held the lock just now. It stays out for longer each time that it is found held again. */
  met(): void {
    const isAgain = performance.now() < this.#outUntilMs + bounds.HELD_UP_MS_MAX;
    const againMs = Math.min(bounds.HELD_UP_GROWTH * this.#outForMs, bounds.HELD_UP_MS_MAX);
    this.#keepOut("passing", isAgain ? againMs : bounds.HELD_UP_MS);
  }

  /** A wait for the lock has failed. */
  stuck(): void {
    this.#keepOut("stuck", bounds.STUCK_MS);
  }

  #keepOut(hold: Hold, forMs: number): void {
    this.#hold = hold;
    this.#outForMs = forMs;
    this.#outUntilMs = performance.now() + forMs;
  }

  get isAsked(): boolean {
    return this.underWay !== null || this.queued.length > 0;
  }
}

export class Locks {
  readonly #byId = new Map<bigint, LockEntry>();
  /** Under each name the lock whose id was looked up last. */
  readonly #byName = new Map<string, LockEntry>();
  readonly #max: number;
  readonly #inOrder = new RecentList<LockEntry>();

  constructor(max = bounds.LOCKS_REMEMBERED_MAX) {
    this.#max = max;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** The lock with this id. Counts as a use. */
  get(id: bigint): LockEntry {
    const known = this.#byId.get(id);
    if (known) {
      this.#inOrder.use(known);
      return known;
    }
    const lock = new LockEntry(id);
    this.#byId.set(id, lock);
    this.#inOrder.add(lock);
    if (this.#byId.size > this.#max) this.#forgetOldest();
    return lock;
  }

  /** The lock with this id, if it is known. No use. */
  known(id: bigint): LockEntry | undefined {
    return this.#byId.get(id);
  }

  /** The lock with this name, if its id is known. Counts as a use. */
  named(name: string): LockEntry | undefined {
    const known = this.#byName.get(name);
    if (known) this.#inOrder.use(known);
    return known;
  }

  /** The name of the lock with this id was read. The lock may be gone by now, so the name does not lead to it. */
  learnName(id: bigint, name: string): LockEntry {
    const lock = this.get(id);
    if (lock.name !== null && lock.name !== name) this.#unname(lock, lock.name);
    lock.name = name;
    return lock;
  }

  /** The name was resolved to this id. */
  learn(id: bigint, name: string): void {
    this.#byName.set(name, this.learnName(id, name));
  }

  /** Call when no command waits for the lock any more: the table keeps no lock of which it knows nothing. */
  leave(lock: LockEntry): void {
    if (!lock.isAsked && lock.name === null && lock.lastToken === 0n && lock.hold === "free")
      this.#forget(lock);
  }

  /** Call when the guard row to which the name leads is gone, or has another name. */
  forgetName(name: string): void {
    this.#byName.delete(name);
  }

  /** The newest one stays: whoever asked for it is about to use it. */
  #forgetOldest(): void {
    let lock = this.#inOrder.oldest;
    while (lock?.isAsked) lock = lock.newer;
    if (lock && lock !== this.#inOrder.newest) this.#forget(lock);
  }

  #forget(lock: LockEntry): void {
    this.#inOrder.remove(lock);
    this.#byId.delete(lock.id);
    if (lock.name !== null) this.#unname(lock, lock.name);
  }

  #unname(lock: LockEntry, name: string): void {
    if (this.#byName.get(name) === lock) this.#byName.delete(name);
  }
}
