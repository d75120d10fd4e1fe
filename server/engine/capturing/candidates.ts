// Finds locks that a Capture may take, longest free first, then by the bytes of their names: a few at a time, on demand.
// A found lock was free a moment ago; only an Acquire decides. Leaves out locks that this replica is taking right now,
// so that its callers do not compete for the same locks. Each read and each search is bounded. The next search
// continues where the last one stopped, so that no lock stays hidden behind those that cannot be taken.

import { effectiveLimit, type LimitRule } from "../../core/limit.ts";
import {
  FIRST_FREE,
  type FreeLock,
  type FreePage,
  type FreePosition,
  type FreeSelector,
  type PausedNames,
  type Store,
} from "../../storage/store.ts";
import type { CaptureTarget } from "../answers.ts";
import { CAPTURE_LOOKS_MAX } from "../engine-bounds.ts";

export type Candidate = Pick<FreeLock, "id" | "name">;

export type CandidateStore = Pick<Store, "freeLocks" | "limitRules">;

/** Names of the locks that this replica is taking. */
export type Taking = Set<string>;

export class Candidates {
  readonly #store: CandidateStore;
  readonly #taking: Taking;
  #selector: FreeSelector;
  #rules: readonly LimitRule[] = [];
  /** Prefixes of pools that have no room now. */
  readonly #full: string[] = [];
  #at: FreePosition;
  /** The last page that was read, and its locks that were not looked at yet. */
  #page: FreePage | null = null;
  #left: FreeLock[] = [];
  /** The search began in the middle and has not reached the end yet. */
  #isFromMiddle: boolean;
  /** The search has looked at everything. */
  #isDone = false;
  #looks = 0;

  /**
   * `statuses`: only locks with one of these; empty: with any. `from`: where an earlier search stopped; null: at the
   * beginning. A search from there goes once around.
   */
  constructor(
    store: CandidateStore,
    taking: Taking,
    target: CaptureTarget,
    statuses: readonly string[],
    from: FreePosition | null,
  ) {
    this.#store = store;
    this.#taking = taking;
    this.#selector = target.kind === "names" ? { ...target, statuses } : { ...target, statuses, paused: [] };
    this.#at = from ?? FIRST_FREE;
    this.#isFromMiddle = from !== null;
  }

  /** Where the next search continues; null: at the beginning. `wasCutShort`: more was wanted. */
  reached(wasCutShort: boolean): FreePosition | null {
    const { behind, after } = this.#at;
    return this.#isDone || !(wasCutShort || this.#isFromMiddle) ? null : { behind, after };
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Returns up to `max` further candidates, marked as being taken; none: there are no more. */
  async next(max: number): Promise<Candidate[]> {
    const chosen: Candidate[] = [];
    try {
      while (chosen.length < max) {
        const lock = this.#left.shift();
        if (lock) {
          if (this.#takes(lock)) chosen.push(lock);
          this.#pass(lock);
        } else if (this.#isDone || this.#looks === CAPTURE_LOOKS_MAX) break;
        else await this.#look(max - chosen.length);
      }
    } catch (error) {
      for (const { name } of chosen) this.#taking.delete(name);
      throw error;
    }
    return chosen;
  }

  /** From now on the search knows the patterns. Resolves with whether any of them pauses names. */
  async paused(): Promise<boolean> {
    this.#rules = await this.#store.limitRules();
    if (this.#selector.kind === "prefix") {
      const paused = pausedUnder(this.#selector.prefix, this.#rules);
      this.#selector = { ...this.#selector, paused };
    }
    return this.#rules.some(({ limit }) => limit === 0);
  }

  /** A pool over some candidates has no room: others under it are not worth a try. */
  isFull(poolPrefix: string): void {
    this.#full.push(poolPrefix);
    // Then there is nothing to take at all.
    if (this.#selector.kind === "prefix" && this.#selector.prefix.startsWith(poolPrefix)) this.#isDone = true;
  }

  /** In how long the next lock becomes free, once the search is done; null: unknown. */
  async nextInUs(): Promise<number | null> {
    const page = this.#page;
    if (!this.#isDone || !page || page.at.behind !== null) return null;
    if (this.#selector.kind === "names" || page.locks.length === 0) return page.nextInUs;
    // The last page had locks, which could not be taken. The next one to become free is behind them.
    const { locks, nextInUs } = await this.#store.freeLocks(this.#selector, this.#at, 1);
    return locks.length > 0 ? 0 : nextInUs;
  }

  /** Reads the next page. If much of what is found cannot be taken, each look reads more. */
  async #look(max: number): Promise<void> {
    const atMost = (max + this.#taking.size) * 2 ** this.#looks;
    this.#looks += 1;
    this.#page = await this.#store.freeLocks(this.#selector, this.#at, atMost);
    this.#left = [...this.#page.locks];
    if (this.#left.length === 0) this.#goOn(this.#page);
  }

  /** Marks the lock as being taken and returns true, unless this replica is taking it already or its limit is 0. */
  #takes({ name, limit }: FreeLock): boolean {
    if (this.#taking.has(name) || this.#full.some((prefix) => name.startsWith(prefix))) return false;
    const own = { name, limit, limitVersion: 0n, limitReason: "" };
    if (effectiveLimit(own, this.#rules).limit === 0) return false;
    this.#taking.add(name);
    return true;
  }

  #pass({ freeSinceUs, name }: FreeLock): void {
    const page = this.#page as FreePage;
    this.#at = { ...page.at, after: { freeSinceUs, name } };
    if (this.#left.length === 0) this.#goOn(page);
  }

  /** Continues behind the page; after the last page, at the beginning, if the search began in the middle. */
  #goOn({ next }: FreePage): void {
    if (next) this.#at = next;
    else if (this.#isFromMiddle) {
      this.#at = FIRST_FREE;
      this.#isFromMiddle = false;
    } else this.#isDone = true;
  }
}

/** The names under `prefix` that patterns pause, which are those without limits of their own. */
export function pausedUnder(prefix: string, rules: readonly LimitRule[]): PausedNames[] {
  const inForce = rules.filter(({ limit }) => limit !== null);
  return inForce
    .filter((rule) => rule.limit === 0 && (rule.prefix.startsWith(prefix) || prefix.startsWith(rule.prefix)))
    .map((rule) => ({
      prefix: rule.prefix,
      // A longer pattern decides about these names. If it pauses too, the list has it as a separate entry.
      except: inForce
        .filter((other) => other.prefix.length > rule.prefix.length && other.prefix.startsWith(rule.prefix))
        .map((other) => other.prefix),
    }));
}
