// The locks that watches of this replica have reported or are about to report, by name, each as last seen. Says
// which states are news and which locks are gone. Reads nothing itself.

import type { DecidedLock } from "../../storage/store.ts";

export class ReportedLocks {
  readonly #byName = new Map<string, DecidedLock>();
  /** The rest of the present round over all locks. `take` leaves it open, as a Map's iterator cannot be closed. */
  #rest: IteratorObject<DecidedLock> | undefined;

  get size(): number {
    return this.#byName.size;
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  countUnder(prefix: string): number {
    let count = 0;
    for (const name of this.#byName.keys()) if (name.startsWith(prefix)) count += 1;
    return count;
  }

  /** Records the lock. Returns whether that is news. */
  see(lock: DecidedLock): boolean {
    const before = this.#byName.get(lock.name);
    if (before && before.id === lock.id && before.revision === lock.revision) return false;
    this.#byName.set(lock.name, lock);
    return true;
  }

  /**
   * Forgets the name if it belonged to this guard row; returns whether it did. A lock that came back has another id.
   */
  gone({ id, name }: Pick<DecidedLock, "id" | "name">): boolean {
    return this.#byName.get(name)?.id === id && this.#byName.delete(name);
  }

  values(): Iterable<DecidedLock> {
    return this.#byName.values();
  }

  /** The next locks of a round over all of them. */
  nextOf(max: number): DecidedLock[] {
    this.#rest ??= this.#byName.values();
    const part = [...this.#rest.take(max)];
    if (part.length < max) this.#rest = undefined;
    return part;
  }

  keepOnly(isKept: (name: string) => boolean): void {
    for (const name of this.#byName.keys()) if (!isKept(name)) this.#byName.delete(name);
  }

  clear(): void {
    this.#byName.clear();
    this.#rest = undefined;
  }
}
