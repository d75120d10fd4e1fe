// The locks that a Capture may take, those longest due first, then by the bytes of their names: a few at a time, as more are
// asked for. What is found was free a moment ago; only an Acquire can tell. What this replica is just taking is left out,
// so that its callers do not run after the same locks.

import { effectiveLimit, type LimitRule } from "../../core/limit.ts";
import type { FreeLock, NamedLock, RecordGroup, Store } from "../../storage/store.ts";
import { CAPTURE_GROUPS_MAX, CAPTURE_LOOKS_MAX, CAPTURE_PAGE } from "../engine-bounds.ts";

export interface Candidate {
  readonly name: string;
  /** null: nobody has named it yet. */
  readonly id: bigint | null;
}

export type CandidateStore = Pick<
  Store,
  "recordGroups" | "freeLocks" | "nextDueIn" | "namedLocks" | "limitRules"
>;

export interface Candidates {
  /** Up to so many more, which are marked as being taken; none: there are no more. */
  next(max: number): Promise<Candidate[]>;
  /** To be told when one was refused because its limit is 0. Such a limit may be that of a pattern. */
  paused(): Promise<void>;
  /** In how long the next one is due, as far as that is known; null: it is not. */
  nextDueIn(): Promise<number | null>;
}

/** Which locks of this replica are being taken, by name. */
export type Taking = Set<string>;

/** What both kinds of candidates are chosen by. */
class Choice {
  readonly #taking: Taking;
  readonly #store: CandidateStore;
  #rules: readonly LimitRule[] = [];

  constructor(store: CandidateStore, taking: Taking) {
    this.#store = store;
    this.#taking = taking;
  }

  async learnRules(): Promise<void> {
    this.#rules = await this.#store.limitRules();
  }

  /** Takes the lock, if nobody here is about to and its limit lets anybody have it. */
  takes({ name, limit }: Pick<FreeLock, "name" | "limit">): boolean {
    if (this.#taking.has(name)) return false;
    const own = { name, limit, limitVersion: 0n, limitReason: "" };
    if (effectiveLimit(own, this.#rules).limit === 0) return false;
    this.#taking.add(name);
    return true;
  }

  /** It failed before it has told of them. */
  giveUp(candidates: readonly Candidate[]): void {
    for (const { name } of candidates) this.#taking.delete(name);
  }

  /** How many rows may be in the way of those that are wanted. */
  get inTheWay(): number {
    return this.#taking.size;
  }
}

/** Locks with records under a prefix. */
export class CandidatesUnder implements Candidates {
  readonly #store: CandidateStore;
  readonly #prefix: string;
  readonly #statuses: readonly string[];
  readonly #choice: Choice;
  /** Those that are looked at now; null: none yet. */
  #groups: readonly RecordGroup[] | null = null;
  #lastGroup: RecordGroup | null;
  #areAllGroups = false;
  /** All that there are, where they were looked at together. */
  #onlyGroups: readonly RecordGroup[] | null = null;
  #after: FreeLock | null = null;
  #looks = 0;

  /** `from`: the group after which to begin. */
  constructor(
    store: CandidateStore,
    taking: Taking,
    target: {
      readonly prefix: string;
      readonly statuses: readonly string[];
      readonly from: RecordGroup | null;
    },
  ) {
    this.#store = store;
    this.#choice = new Choice(store, taking);
    this.#prefix = target.prefix;
    this.#statuses = target.statuses;
    this.#lastGroup = target.from;
  }

  /** Where to begin the next time: after the last group that was looked at, or (null) at the first one. */
  get reached(): RecordGroup | null {
    return this.#areAllGroups ? null : this.#lastGroup;
  }

  async next(max: number): Promise<Candidate[]> {
    const chosen: Candidate[] = [];
    try {
      await this.#choose(chosen, max);
    } catch (error) {
      this.#choice.giveUp(chosen);
      throw error;
    }
    return chosen;
  }

  async #choose(chosen: Candidate[], max: number): Promise<void> {
    while (chosen.length < max) {
      if (!this.#groups && !(await this.#nextGroups())) break;
      if (this.#looks === CAPTURE_LOOKS_MAX) break;
      // Where much of what is found cannot be had, more is read at a time.
      const rows = (max - chosen.length + this.#choice.inTheWay) * 2 ** this.#looks;
      const wanted = Math.min(CAPTURE_PAGE, rows);
      this.#looks += 1;
      const page = await this.#store.freeLocks(this.#groups ?? [], this.#after, wanted);
      for (const lock of page) {
        if (chosen.length === max) break;
        this.#after = lock;
        if (lock.name.startsWith(this.#prefix) && this.#choice.takes(lock)) chosen.push(lock);
      }
      if (page.length === wanted || chosen.length === max) continue;
      this.#groups = null;
      this.#after = null;
      if (this.#areAllGroups) break;
    }
  }

  paused(): Promise<void> {
    return this.#choice.learnRules();
  }

  async nextDueIn(): Promise<number | null> {
    // Of more groups than are looked at together nobody knows the first.
    return this.#onlyGroups ? await this.#store.nextDueIn(this.#onlyGroups) : null;
  }

  /** False: there are no more. */
  async #nextGroups(): Promise<boolean> {
    if (this.#areAllGroups) return false;
    const after = this.#lastGroup;
    const groups = await this.#store.recordGroups(this.#prefix, after, CAPTURE_GROUPS_MAX);
    this.#areAllGroups = groups.length < CAPTURE_GROUPS_MAX;
    this.#lastGroup = groups.at(-1) ?? this.#lastGroup;
    this.#groups = this.#wanted(groups);
    this.#onlyGroups = this.#areAllGroups && !after ? this.#groups : null;
    return true;
  }

  #wanted(groups: readonly RecordGroup[]): readonly RecordGroup[] {
    return this.#statuses.length === 0
      ? groups
      : groups.filter(({ status }) => this.#statuses.includes(status));
  }
}

/** Locks by name, of which some may not be there yet. */
export class CandidatesNamed implements Candidates {
  readonly #store: CandidateStore;
  readonly #names: readonly string[];
  readonly #statuses: readonly string[];
  readonly #choice: Choice;
  /** Those that are free and due, in order; undefined: not read yet. */
  #left: FreeLock[] | undefined;
  #nextDueIn: number | null = null;

  constructor(store: CandidateStore, taking: Taking, names: readonly string[], statuses: readonly string[]) {
    this.#store = store;
    this.#names = names;
    this.#statuses = statuses;
    this.#choice = new Choice(store, taking);
  }

  async next(max: number): Promise<Candidate[]> {
    this.#left ??= await this.#read();
    const chosen: Candidate[] = [];
    while (chosen.length < max) {
      const lock = this.#left.shift();
      if (!lock) break;
      if (this.#choice.takes(lock)) chosen.push({ name: lock.name, id: lock.id === NO_ID ? null : lock.id });
    }
    return chosen;
  }

  paused(): Promise<void> {
    return this.#choice.learnRules();
  }

  async nextDueIn(): Promise<number | null> {
    return this.#nextDueIn;
  }

  async #read(): Promise<FreeLock[]> {
    const { nowUs, locks } = await this.#store.namedLocks(this.#names);
    const found = new Map(locks.map((lock) => [lock.name, lock]));
    const free: FreeLock[] = [];
    for (const name of this.#names) {
      const lock = found.get(name) ?? { ...UNNAMED, name };
      if (lock.dueAtUs === null || !this.#isWanted(lock.status)) continue;
      const inUs = lock.dueAtUs - nowUs;
      if (inUs <= 0) free.push({ ...lock, dueAtUs: lock.dueAtUs });
      else this.#nextDueIn = Math.min(this.#nextDueIn ?? inUs, inUs);
    }
    return longestDueFirst(free);
  }

  #isWanted(status: string): boolean {
    return this.#statuses.length === 0 || this.#statuses.includes(status);
  }
}

const NO_ID = 0n;
/** What holds for a name that nobody has used. */
const UNNAMED: Omit<NamedLock, "name"> = { id: NO_ID, dueAtUs: 0, limit: null, status: "" };

function longestDueFirst(locks: readonly FreeLock[]): FreeLock[] {
  const bytes = new Map(locks.map(({ name }) => [name, Buffer.from(name)]));
  const byName = (a: FreeLock, b: FreeLock) =>
    Buffer.compare(bytes.get(a.name) as Buffer, bytes.get(b.name) as Buffer);
  return locks.toSorted((a, b) => a.dueAtUs - b.dueAtUs || byName(a, b));
}
