// The locks that watches of this replica have told or are about to tell, by name, each as it was last seen: what tells a
// change from what is known already, and a lock that is gone. Reads nothing itself.

import type { DecidedLock } from "../../storage/store.ts";

export class KnownLocks {
  readonly #byName = new Map<string, DecidedLock>();
  /** Where the next part of the round begins. */
  #rest: Iterator<DecidedLock> | undefined;

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

  /** Whether that is news. */
  see(lock: DecidedLock): boolean {
    const before = this.#byName.get(lock.name);
    if (before && before.id === lock.id && before.revision === lock.revision) return false;
    this.#byName.set(lock.name, lock);
    return true;
  }

  /** Whether the name was that of this guard row, and is forgotten now: one that has come back has another id. */
  gone({ id, name }: Pick<DecidedLock, "id" | "name">): boolean {
    return this.#byName.get(name)?.id === id && this.#byName.delete(name);
  }

  values(): Iterable<DecidedLock> {
    return this.#byName.values();
  }

  /** The next ones of a round over all of them. */
  nextOf(max: number): DecidedLock[] {
    const part: DecidedLock[] = [];
    while (part.length < max) {
      this.#rest ??= this.#byName.values();
      const { value, done } = this.#rest.next();
      if (!done) part.push(value);
      else {
        this.#rest = undefined;
        break;
      }
    }
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
