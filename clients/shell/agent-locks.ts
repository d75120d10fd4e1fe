// Keeps what an agent holds and waits for, by the names that it uses, and tells it in sentences what to do next. An agent waits only
// seconds for the answer of a tool, so a wait for a lock goes on between two calls, with its place kept.

import { FURTHER_LOCKS_MAX } from "../../server/core/bounds.ts";
import type {
  Lock,
  LockOptions,
  Mode,
  Place,
  Refusal,
  RowlockClient,
  WantedLock,
} from "../typescript/src/index.ts";
import { counted, timeWords } from "./print.ts";

/** How long one call waits: clients of agents give up after a minute. */
export const CALL_MS_MAX = 25_000;
/** How long a wait lasts that nobody asks for any more. */
export const FORGOTTEN_AFTER_MS = 300_000;

export interface Wanted {
  readonly name: string;
  readonly mode?: Mode | undefined;
  readonly permits?: number | undefined;
  /** The name is a path: the claim also takes the folders above it, as a reader, so that no other claim can have one of them alone. */
  readonly isPath?: boolean | undefined;
  /** What the agent is going to do, for those who wait. */
  readonly reason?: string | undefined;
}

interface Wait {
  /** Resolves with the sentence for the agent when the wait ends. */
  readonly over: Promise<string>;
  readonly stop: AbortController;
  place: Place | undefined;
  forgotten: NodeJS.Timeout | undefined;
}

export interface AgentLocksOptions {
  readonly rowlock: Pick<RowlockClient, "acquire">;
  /** Who holds the locks, for people. */
  readonly owner: () => string;
}

export class AgentLocks {
  readonly #options: AgentLocksOptions;
  readonly #held = new Map<string, Lock>();
  readonly #waits = new Map<string, Wait>();
  /** Names of locks that were lost, and not told yet. */
  readonly #lost = new Set<string>();

  constructor(options: AgentLocksOptions) {
    this.#options = options;
  }

  /** Takes the lock, or waits for it for some time, or goes on to wait. */
  async acquire(wanted: Wanted, waitMs: number): Promise<string> {
    const { name } = wanted;
    const fault = wanted.isPath ? pathFault(name) : null;
    if (fault !== null) return fault;
    const held = this.#held.get(name);
    if (held)
      return `You hold "${name}" already (fencing token ${held.token}). Release it when you are done.`;
    const wait = this.#waits.get(name) ?? this.#begin(wanted);
    clearTimeout(wait.forgotten);
    const answer = await Promise.race([wait.over, later(Math.min(waitMs, CALL_MS_MAX))]);
    if (answer !== undefined) return answer;
    wait.forgotten = setTimeout(() => wait.stop.abort(), FORGOTTEN_AFTER_MS).unref();
    return (
      `Not yet: ${placeWords(wait.place)}${wait.place ? "," : ""} for "${name}". Your place is kept for ${timeWords(FORGOTTEN_AFTER_MS)}: call acquire again ` +
      "with the same name to go on waiting, do other work meanwhile, or call release to give the place up. Do not touch what " +
      "the lock protects before you hold it."
    );
  }

  /** Gives the lock back, or the place. */
  async release(name: string): Promise<string> {
    const lock = this.#held.get(name);
    if (lock) {
      this.#held.delete(name);
      await lock.release();
      return `Released "${name}".`;
    }
    const wait = this.#waits.get(name);
    if (!wait) return `You neither hold "${name}" nor wait for it: there is nothing to do.`;
    wait.stop.abort();
    return await wait.over;
  }

  /** What it holds and waits for. */
  mine(): string {
    const held = [...this.#held.values()].map(
      (lock) => `- you hold "${lock.name}" (fencing token ${lock.token})`,
    );
    const waits = [...this.#waits].map(
      ([name, { place }]) => `- you wait for "${name}": ${placeWords(place)}`,
    );
    return [...held, ...waits].join("\n") || "You hold nothing, and wait for nothing.";
  }

  /** What it must know before anything else; empty: nothing. Told once. */
  news(): string {
    const lost = [...this.#lost].map((name) => `"${name}"`);
    this.#lost.clear();
    if (lost.length === 0) return "";
    return (
      `You have lost ${lost.join(", ")}, and somebody else may have it now: stop what you do there, and acquire it again before you ` +
      "go on. Look first at what others have changed meanwhile.\n"
    );
  }

  /** Gives everything back. */
  async end(): Promise<void> {
    for (const { stop } of this.#waits.values()) stop.abort();
    const held = [...this.#held.values()];
    this.#held.clear();
    await Promise.allSettled(held.map((lock) => lock.release()));
  }

  #begin({ name, mode, permits, isPath = false, reason }: Wanted): Wait {
    const stop = new AbortController();
    const kind = mode ?? (isPath ? "exclusive" : undefined);
    const options: LockOptions = {
      owner: this.#options.owner(),
      signal: stop.signal,
      onPosition: (place) => {
        wait.place = place;
      },
      ...(kind !== undefined && { mode: kind }),
      ...(permits !== undefined && { permits }),
      ...(reason !== undefined && { labels: { reason } }),
      ...(isPath && { also: foldersAbove(name) }),
    };
    const over = this.#options.rowlock.acquire(name, options).then(
      ({ lock, refusal }) => (lock ? this.#granted(lock) : refusedWords(name, refusal)),
      (error: unknown) => {
        if (stop.signal.aborted) return `You do not wait for "${name}" any more.`;
        throw error;
      },
    );
    const wait: Wait = { over, stop, place: undefined, forgotten: undefined };
    this.#waits.set(name, wait);
    const left = () => {
      clearTimeout(wait.forgotten);
      this.#waits.delete(name);
    };
    over.then(left, left);
    return wait;
  }

  #granted(lock: Lock): string {
    const { name, token, signal } = lock;
    this.#held.set(name, lock);
    signal.addEventListener("abort", () => {
      if (this.#held.get(name) !== lock) return;
      this.#held.delete(name);
      this.#lost.add(name);
    });
    return (
      `You hold "${name}" now, with the fencing token ${token}. It stays yours for as long as this tool runs. Do the work, and call ` +
      "release with this name as soon as you are done, also after a failure."
    );
  }
}

/** Of `a/b/c`: `a` and `a/b`, for reading. */
export function foldersAbove(path: string): WantedLock[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, at) => ({ name: parts.slice(0, at + 1).join("/"), mode: "shared" }));
}

/** All must write a path alike, or it is another lock. */
function pathFault(path: string): string | null {
  const parts = path.split("/");
  if (parts.some((part) => ["", ".", ".."].includes(part)))
    return `Write the path from the root of the repository, as all do, without a slash at either end and without . and ..: not "${path}".`;
  if (parts.length > FURTHER_LOCKS_MAX + 1)
    return `"${path}" has more than ${FURTHER_LOCKS_MAX} folders above it: acquire one of these folders instead.`;
  return null;
}

function later(timeMs: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), timeMs).unref());
}

function placeWords(place: Place | undefined): string {
  if (!place) return "you wait";
  const { ahead, waitedMs } = place;
  const others = counted(ahead, "other");
  const where =
    ahead === 0
      ? "you are next in the queue"
      : `${others} ${ahead === 1 ? "is" : "are"} before you in the queue`;
  return `${where}, and have waited ${timeWords(waitedMs)}`;
}

function refusedWords(name: string, { reason, message, retryAfterMs }: Refusal): string {
  const when = retryAfterMs === undefined ? "" : ` Try again in ${timeWords(retryAfterMs)}.`;
  return `"${name}" was not acquired (${reason}): ${message}${when} Do not touch what the lock protects.`;
}
