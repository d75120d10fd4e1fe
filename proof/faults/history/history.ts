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

/** At one lock. A claim for several locks has an entry at each of them. */
interface OfSet {
  /** All locks of the claim, in the order of its request. Unset: it is for one. */
  readonly set?: readonly string[];
}

export interface Acquired extends Call, OfSet {
  readonly did: "acquire";
  readonly lock: string;
  readonly mode: Mode;
  readonly permits: number;
  readonly requestId: string;
  /** The client asks for it with this request id alone. A library may ask anew after a lease that it lost on its way. */
  readonly asksOnce: boolean;
  /** It only takes permits of the lock's rate, so nobody holds anything. */
  readonly spends?: true;
  /** An earlier try with this request id was not answered, and may yet be decided, even after a refusal. */
  readonly isRepeated?: boolean;
  readonly outcome: "granted" | "refused" | "unknown";
  /** If it was granted. */
  readonly token?: string;
  /** When, by the database's clock, if the answer of a spend said so. */
  readonly grantedUs?: number;
  /** Why it was refused. */
  readonly reason?: string;
  /** From when on after the answer the rate allows it, if that was in the way. */
  readonly retryAfterMs?: number;
  /** The pool that was in the way. */
  readonly pool?: string;
  /** A waiter was told at this time that it had been granted; it came for the lease at once, and found none. */
  readonly toldMs?: number;
}

/** A spend that was answered, and asked for again with its request id. */
export interface SpentAgain extends Call {
  readonly did: "again";
  readonly lock: string;
  readonly requestId: string;
  /** What the first answer said. */
  readonly first: string;
  readonly outcome: "granted" | "refused" | "unknown";
  readonly token?: string;
  readonly reason?: string;
}

/**
 * From `startMs` to `endMs` the client believed that it held the lease: from the answer until it sent the release, was
 * told of the loss, or its deadline passed.
 */
export interface Held extends Call, OfSet {
  readonly did: "hold";
  readonly lock: string;
  readonly mode: Mode;
  readonly permits: number;
  readonly token: string;
  /** When the client first asked for it. */
  readonly askedMs: number;
}

export interface Released extends Call, OfSet {
  readonly did: "release";
  readonly lock: string;
  readonly token: string;
  /** `gone`: the answer was that the lease had ended before. */
  readonly outcome: "released" | "gone" | "unknown";
}

export interface LimitSet extends Call {
  readonly did: "limit";
  readonly lock: string;
  /** In force from then on: the default, if a setting was removed. */
  readonly limit: number;
  /** For all locks that match it, each of which has an entry of its own. */
  readonly pattern?: string;
  readonly outcome: "done" | "unknown";
}

export interface Rate {
  readonly permits: number;
  readonly perMs: number;
  readonly burst: number;
}

/** The queue rules of a name. */
export interface RulesSet extends Call {
  readonly did: "rules";
  readonly lock: string;
  /** By what its shares are fair; unset: they are not. */
  readonly shareBy?: string;
  readonly outcome: "done" | "unknown";
}

export interface RateSet extends Call {
  readonly did: "rate";
  /** A name, or a pattern with its star. */
  readonly target: string;
  /** null: it was removed. */
  readonly rate: Rate | null;
  /** `unknown` also if some servers may not know of it yet. */
  readonly outcome: "done" | "unknown";
}

/** Of a pool, its whole setting. Neither a limit nor a rate: it was removed. */
export interface PoolSet extends Call {
  readonly did: "pool";
  /** Its pattern, with the star. */
  readonly target: string;
  readonly limit: number | null;
  readonly rate: Rate | null;
  readonly outcome: "done" | "unknown";
  /** If it was done: all servers know whether there is a pool. */
  readonly isEverywhere?: boolean;
  /** If it was done: all holders are counted. */
  readonly isWhole?: boolean;
}

/** A server said that it counts all holders of a pool. */
export interface PoolWhole extends Call {
  readonly did: "whole";
  readonly target: string;
}

/** An operator ended all leases of a lock. */
export interface Forced extends Call {
  readonly did: "force";
  readonly lock: string;
  readonly outcome: "done" | "unknown";
  /** How many, if it was done. */
  readonly ended: number;
}

/** A compare-and-set of a number that a record's status holds. `to` is 0 and `version` "0" if it deleted the record. */
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
  /** The task must not be taken before this time after the call. */
  readonly restMs: number;
  /** Whoever takes it tells of each lease, also of one that was lost at once. */
  readonly isCounted: boolean;
  readonly outcome: "done" | "unknown";
}
export interface TasksTaken extends Call {
  readonly did: "take";
  readonly taken: readonly {
    readonly task: string;
    readonly token: string;
    /** It ended before the client could rely on it. */
    readonly isLost?: boolean;
  }[];
  /** How many it asked for at most; unset: one. */
  readonly max?: number;
  readonly outcome: "taken" | "unknown";
}
export interface TaskFinished extends Call {
  readonly did: "finish";
  readonly task: string;
  readonly token: string;
  /** `again`: the task is put off, and must not be taken before `restMs` after the call. */
  readonly status: "done" | "again";
  readonly restMs: number;
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

/** Meanwhile the database's clock was wrong. */
export interface ClockStepped extends Call {
  readonly did: "step";
}

/** From a policy that gave `who` no rights until all servers decided by one that gave them back. */
export interface Revoked extends Call {
  readonly did: "revoke";
  /** In between: from when all servers had denied something, until the policy with the rights. */
  readonly deniedFromMs: number;
  readonly deniedUntilMs: number;
}

/** A call that was refused as its caller has no right to it. */
export interface Denied extends Call {
  readonly did: "deny";
  readonly command: string;
}

/** The database has lost changes that were made after the start and before the end, and none from before the start. */
export interface TailLost extends Call {
  readonly did: "lose";
  /** By what. */
  readonly name: string;
}

/** After what stood in its way was gone, such as the last fault: a new request. */
export interface Healed extends Call {
  readonly did: "heal";
  readonly outcome: "granted" | "unknown";
}

/** The state of a lock at the end, when all is quiet. */
export interface Final extends Call {
  readonly did: "final";
  readonly lock: string;
  readonly limit: number;
  readonly rate?: Rate | null;
  readonly holders: number;
  readonly waiting: number;
  readonly lastToken: string;
  readonly status: string | null;
  readonly version: string | null;
  readonly attemptsLeft: number | null;
  /** Its ended claims are not kept, so they cannot be listed. */
  readonly isForgetful?: boolean;
}

/** A pool at the end. Neither a limit nor a rate: there is none. */
export interface FinalPool extends Call {
  readonly did: "final pool";
  readonly target: string;
  readonly limit: number | null;
  readonly rate: Rate | null;
  readonly permits: number;
  readonly waiting: number;
  readonly isWhole: boolean;
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
  readonly owner: string;
  /** If servers want to know who calls. */
  readonly principal?: string;
  readonly mode: Mode;
  readonly permits: number;
  /** Of locks whose shares may be fair: the group of the claim, and when it was requested, by the database's clock. */
  readonly group?: string;
  readonly requestedUs?: number;
  /** When it was granted, by the database's clock. */
  readonly grantedUs?: number;
  /** If it has ended. */
  readonly endReason?: string;
  readonly endedUs?: number;
  /** The other locks of a claim for several, with its tokens there. Unset: it is for one. */
  readonly also?: readonly { readonly lock: string; readonly token: string }[];
}

/** A claim that ended in the queue, as ListClaims shows it at the end. */
export interface Unserved extends Call {
  readonly did: "unserved";
  readonly lock: string;
  readonly ticket: string;
  readonly owner: string;
  readonly endReason: string;
  /** By the database's clock. */
  readonly endedUs: number;
  /** As of a lease. */
  readonly group?: string;
  readonly requestedUs?: number;
  readonly grantedUs?: undefined;
  /** The other locks of a claim for several. */
  readonly also?: readonly string[];
}

/** A change as ListChanges shows it at the end, the oldest first. */
export interface Noted extends Call {
  readonly did: "note";
  readonly kind: string;
  /** The name of the lock, or the pattern. */
  readonly target: string;
  readonly before: string;
  readonly after: string;
}

/** A call that was not answered at all, although all calls have bounds. */
export interface Unanswered extends Call {
  readonly did: "nothing";
  readonly command: string;
}

export type Entry =
  | Unanswered
  | Acquired
  | SpentAgain
  | Held
  | Released
  | LimitSet
  | RulesSet
  | RateSet
  | PoolSet
  | PoolWhole
  | Forced
  | Counted
  | Read
  | TaskMade
  | TasksTaken
  | TaskFinished
  | Written
  | FaultMade
  | ClockStepped
  | Revoked
  | Denied
  | TailLost
  | Healed
  | Final
  | FinalPool
  | Watched
  | Listed
  | Unserved
  | Noted;

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
