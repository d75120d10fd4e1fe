// What clients did, were told and believed in one run. The checker reads nothing else, so nothing here may come from the
// server's own view of things.

import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

export type Mode = "permit" | "shared" | "exclusive";

/** A call, from before it was sent until its answer was heard. `unknown`: it failed, and may have taken effect. */
interface Call {
  readonly who: string;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Acquired extends Call {
  readonly did: "acquire";
  readonly lock: string;
  readonly mode: Mode;
  readonly permits: number;
  readonly requestId: string;
  readonly outcome: "granted" | "refused" | "unknown";
  /** If it was granted. */
  readonly token?: string;
  /** Why it was refused. */
  readonly reason?: string;
}

/**
 * From `startMs` to `endMs` the client believed that it held the lease: from the answer until it sent the release, was
 * told of the loss, or its deadline passed.
 */
export interface Held extends Call {
  readonly did: "hold";
  readonly lock: string;
  readonly mode: Mode;
  readonly permits: number;
  readonly token: string;
  /** When the client first asked for it. */
  readonly askedMs: number;
}

export interface Released extends Call {
  readonly did: "release";
  readonly lock: string;
  readonly token: string;
  /** `gone`: the answer was that the lease had ended before. */
  readonly outcome: "released" | "gone" | "unknown";
}

export interface LimitSet extends Call {
  readonly did: "limit";
  readonly lock: string;
  readonly limit: number;
  readonly outcome: "done" | "unknown";
}

/** A compare-and-set of a number that a record's status holds. */
export interface Counted extends Call {
  readonly did: "count";
  readonly lock: string;
  readonly fromVersion: string;
  readonly from: number;
  readonly to: number;
  /** `mismatch`: the version was another one, so nothing was changed. */
  readonly outcome: "done" | "mismatch" | "unknown";
  /** The new version, if it was done. */
  readonly version?: string;
}

export interface Read extends Call {
  readonly did: "read";
  readonly lock: string;
  readonly value: number;
  readonly version: string;
}

/** A task made, taken, or finished. */
export interface TaskMade extends Call {
  readonly did: "make";
  readonly task: string;
  readonly attempts: number;
  /** Whoever takes it tells of each lease, also of one that was lost at once. */
  readonly isCounted: boolean;
  readonly outcome: "done" | "unknown";
}
export interface TasksTaken extends Call {
  readonly did: "take";
  readonly taken: readonly { readonly task: string; readonly token: string }[];
  readonly outcome: "taken" | "unknown";
}
export interface TaskFinished extends Call {
  readonly did: "finish";
  readonly task: string;
  readonly token: string;
  readonly outcome: "released" | "gone" | "unknown";
}

/** A write to a store that refuses tokens below the highest that it has seen. */
export interface Written extends Call {
  readonly did: "write";
  readonly lock: string;
  readonly token: string;
  /** The value that the client had read before, and the one that the store had when the write came. */
  readonly base: number;
  readonly found: number;
  readonly accepted: boolean;
}

export interface FaultMade extends Call {
  readonly did: "fault";
  readonly name: string;
}

/** After the last fault was healed: a new request for an unused name. */
export interface Healed extends Call {
  readonly did: "heal";
  readonly outcome: "granted" | "unknown";
}

/** The state of a lock at the end, when all is quiet. */
export interface Final extends Call {
  readonly did: "final";
  readonly lock: string;
  readonly limit: number;
  readonly holders: number;
  readonly waiting: number;
  readonly lastToken: string;
  readonly status: string | null;
  readonly version: string | null;
  readonly attemptsLeft: number | null;
}

/** The same lock as a watch has told it last, some time after all was quiet. null: the watch knows of no such lock. */
export interface Watched extends Call {
  readonly did: "watch";
  readonly lock: string;
  readonly lastToken: string | null;
  readonly holders: number | null;
}

/** A lease as ListClaims shows it at the end. */
export interface Listed extends Call {
  readonly did: "list";
  readonly lock: string;
  readonly token: string;
  readonly ticket: string;
  readonly state: "held" | "ended";
}

/** A call that was not answered at all, although all calls have bounds. */
export interface Unanswered extends Call {
  readonly did: "nothing";
  readonly command: string;
}

export type Entry =
  | Unanswered
  | Acquired
  | Held
  | Released
  | LimitSet
  | Counted
  | Read
  | TaskMade
  | TasksTaken
  | TaskFinished
  | Written
  | FaultMade
  | Healed
  | Final
  | Watched
  | Listed;

export type Kind = Entry["did"];
type OfLock = Extract<Entry, { readonly lock: string }>;
type Of<Did extends Kind> = Extract<Entry, { readonly did: Did }>;

/** Entries in the order in which they were added: about that of their ends. */
export class History {
  readonly entries: Entry[] = [];
  readonly #file: string | null;

  /** @param file keeps the entries as lines of JSON; null: memory only. */
  constructor(file: string | null = null) {
    this.#file = file;
    if (file !== null) writeFileSync(file, "");
  }

  static read(file: string): History {
    const history = new History();
    for (const line of readFileSync(file, "utf8").split("\n")) {
      if (line !== "") history.add(JSON.parse(line));
    }
    return history;
  }

  add(entry: Entry): void {
    this.entries.push(entry);
    if (this.#file !== null) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  of<Did extends Kind>(did: Did): Of<Did>[] {
    return this.entries.filter((entry): entry is Of<Did> => entry.did === did);
  }

  /** By the name of the lock, each in the order of their starts. */
  byLock<Did extends OfLock["did"]>(did: Did): Map<string, Of<Did>[]> {
    const all: readonly OfLock[] = this.of(did) as OfLock[];
    const sorted = all.toSorted((a, b) => a.startMs - b.startMs);
    return Map.groupBy(sorted, ({ lock }) => lock) as Map<string, Of<Did>[]>;
  }
}
