// Finds locks that a Capture may take, longest due first, then by the bytes of their names: a few at a time, on demand.
// A found lock was free a moment ago; only an Acquire decides. Leaves out locks that this replica is taking right now,
// so that its callers do not compete for the same locks. Each read and each search is bounded. The next search
// continues where the last one stopped, so that no lock stays hidden behind those that cannot be taken.

import { effectiveLimit, type LimitRule } from "../../core/limit.ts";
import type { FreeLock, FreePlace, NamedLock, RecordGroup, Store, WantedNames } from "../../storage/store.ts";
import { CAPTURE_GROUPS_MAX, CAPTURE_LOOKS_MAX, CAPTURE_PAGE } from "../engine-bounds.ts";
import { pausedUnder } from "./paused-names.ts";

export interface Candidate {
  readonly name: string;
  /** null: nobody has used the name yet. */
  readonly id: bigint | null;
}

export type CandidateStore = Pick<
  Store,
  "recordGroups" | "freeLocks" | "nextDueIn" | "namedLocks" | "limitRules"
>;

export interface Candidates {
  /** Up to `max` further candidates, marked as being taken; none: there are no more. */
  next(max: number): Promise<Candidate[]>;
  /**
   * Call it when a candidate was refused because its limit is 0, which may be a pattern's limit: from now on the search
   * knows the patterns. Resolves with whether any pattern pauses names.
   */
  paused(): Promise<boolean>;
  /** In how long the next lock is due; null: unknown. */
  nextDueIn(): Promise<number | null>;
}

/** Names of the locks that this replica is taking. */
export type Taking = Set<string>;

/** Chooses among the found locks, for both kinds of candidates. */
class Choice {
  readonly #taking: Taking;
  readonly #store: CandidateStore;
  #rules: readonly LimitRule[] = [];

  constructor(store: CandidateStore, taking: Taking) {
    this.#store = store;
    this.#taking = taking;
  }

  async learnRules(): Promise<readonly LimitRule[]> {
    this.#rules = await this.#store.limitRules();
    return this.#rules;
  }

  get arePatternsInTheWay(): boolean {
    return this.#rules.some(({ limit }) => limit === 0);
  }

  /** Marks the lock as being taken and returns true, unless this replica is taking it already or its limit is 0. */
  takes({ name, limit }: Pick<FreeLock, "name" | "limit">): boolean {
    if (this.#taking.has(name)) return false;
    const own = { name, limit, limitVersion: 0n, limitReason: "" };
    if (effectiveLimit(own, this.#rules).limit === 0) return false;
    this.#taking.add(name);
    return true;
  }

  /** Unmarks the candidates of a search that failed before it returned them. */
  giveUp(candidates: readonly Candidate[]): void {
    for (const { name } of candidates) this.#taking.delete(name);
  }

  /** How many rows may lie before the wanted ones. */
  get inTheWay(): number {
    return this.#taking.size;
  }
}

/** How far a search has come: which groups are searched together, and where in them. */
export interface Reached {
  /** The last group before them; null: they are the first groups. */
  readonly behind: RecordGroup | null;
  /** null: the search of these groups has not begun. */
  readonly after: FreePlace | null;
}

/** The part of a read that was not looked at yet. */
interface Page {
  readonly locks: FreeLock[];
  /** Where the read stopped; null: it reached the end of these groups. */
  readonly next: FreePlace | null;
  readonly lastGroup: RecordGroup | null;
}

const AT_FIRST: Reached = { behind: null, after: null };

/** Locks with records under a prefix. A search that was cut short continues later, once around all groups. */
export class CandidatesUnder implements Candidates {
  readonly #store: CandidateStore;
  readonly #statuses: readonly string[];
  readonly #choice: Choice;
  #wanted: WantedNames;
  /** The present position. */
  #at: Reached;
  /** The groups that are searched now, and the last one of them, wanted or not; null: not yet known. */
  #groups: { readonly wanted: readonly RecordGroup[]; readonly last: RecordGroup | null } | null = null;
  #areLastGroups = false;
  #page: Page | null = null;
  /** All groups, if they were searched together. */
  #onlyGroups: readonly RecordGroup[] | null = null;
  /** The search began in the middle and has not reached the end yet. */
  #isFromMiddle: boolean;
  /** The search has looked at everything. */
  #isDone = false;
  #looks = 0;

  /** `from`: where an earlier search stopped; null: at the first group. */
  constructor(
    store: CandidateStore,
    taking: Taking,
    target: {
      readonly prefix: string;
      readonly statuses: readonly string[];
      readonly from: Reached | null;
    },
  ) {
    this.#store = store;
    this.#choice = new Choice(store, taking);
    this.#wanted = { prefix: target.prefix, paused: [] };
    this.#statuses = target.statuses;
    this.#at = target.from ?? AT_FIRST;
    this.#isFromMiddle = target.from !== null;
  }

  /** Where the next search continues; null: at the first group. `wasCutShort`: more was wanted. */
  reached(wasCutShort: boolean): Reached | null {
    return this.#isDone || !(wasCutShort || this.#isFromMiddle) ? null : this.#at;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  async next(max: number): Promise<Candidate[]> {
    const chosen: Candidate[] = [];
    try {
      while (chosen.length < max) {
        if (this.#page) this.#choose(this.#page, chosen, max);
        else if (this.#isDone || this.#looks === CAPTURE_LOOKS_MAX) break;
        else this.#page = await this.#look(max - chosen.length);
      }
    } catch (error) {
      this.#choice.giveUp(chosen);
      throw error;
    }
    return chosen;
  }

  /** Takes candidates from the page, and drops the page when all of it was looked at. */
  #choose(page: Page, chosen: Candidate[], max: number): void {
    while (chosen.length < max) {
      const lock = page.locks.shift();
      if (!lock) break;
      this.#reach(lock);
      if (this.#choice.takes(lock)) chosen.push(lock);
    }
    if (page.locks.length > 0) return;
    this.#page = null;
    if (page.next) this.#reach(page.next);
    else this.#goOn(page.lastGroup);
  }

  async #look(max: number): Promise<Page> {
    const groups = this.#groups ?? (await this.#findGroups());
    // If much of what is found cannot be taken, each look reads more.
    const rows = (max + this.#choice.inTheWay) * 2 ** this.#looks;
    const share = Math.ceil(CAPTURE_PAGE / Math.max(1, groups.wanted.length));
    this.#looks += 1;
    const { after } = this.#at;
    const entries = Math.min(rows, share);
    const { locks, next } = await this.#store.freeLocks(groups.wanted, after, this.#wanted, entries);
    return { locks: [...locks], next, lastGroup: groups.last };
  }

  async #findGroups() {
    const { prefix } = this.#wanted;
    const { behind } = this.#at;
    const found = await this.#store.recordGroups(prefix, behind, CAPTURE_GROUPS_MAX);
    const wanted =
      this.#statuses.length === 0
        ? found.groups
        : found.groups.filter(({ status }) => this.#statuses.includes(status));
    this.#areLastGroups = found.isLast;
    this.#onlyGroups = found.isLast && !behind ? wanted : null;
    this.#groups = { wanted, last: found.groups.at(-1) ?? behind };
    return this.#groups;
  }

  #reach({ dueAtUs, name }: FreePlace): void {
    this.#at = { behind: this.#at.behind, after: { dueAtUs, name } };
  }

  /** Continues with the next groups; after the last group, with the first, if the search began in the middle. */
  #goOn(last: RecordGroup | null): void {
    this.#groups = null;
    if (!this.#areLastGroups) this.#at = { behind: last, after: null };
    else {
      this.#at = AT_FIRST;
      if (!this.#isFromMiddle) this.#isDone = true;
      this.#isFromMiddle = false;
    }
  }

  async paused(): Promise<boolean> {
    const { prefix } = this.#wanted;
    this.#wanted = { prefix, paused: pausedUnder(prefix, await this.#choice.learnRules()) };
    return this.#choice.arePatternsInTheWay;
  }

  async nextDueIn(): Promise<number | null> {
    // If there are more groups than are searched together, nobody knows the first due lock.
    return this.#onlyGroups ? await this.#store.nextDueIn(this.#onlyGroups) : null;
  }
}

/** Locks by name; some of them may not exist yet. */
export class CandidatesNamed implements Candidates {
  readonly #store: CandidateStore;
  readonly #names: readonly string[];
  readonly #statuses: readonly string[];
  readonly #choice: Choice;
  /** Free and due locks, in order; undefined: not read yet. */
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

  async paused(): Promise<boolean> {
    await this.#choice.learnRules();
    return this.#choice.arePatternsInTheWay;
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
/** What applies to a name that nobody has used. */
const UNNAMED: Omit<NamedLock, "name"> = { id: NO_ID, dueAtUs: 0, limit: null, status: "" };

function longestDueFirst(locks: readonly FreeLock[]): FreeLock[] {
  const bytes = new Map(locks.map(({ name }) => [name, Buffer.from(name)]));
  const byName = (a: FreeLock, b: FreeLock) =>
    Buffer.compare(bytes.get(a.name) as Buffer, bytes.get(b.name) as Buffer);
  return locks.toSorted((a, b) => a.dueAtUs - b.dueAtUs || byName(a, b));
}
