// Keeps what an agent holds and waits for, by the names that it uses, and tells it in sentences what to do next. An agent waits only
// seconds for the answer of a tool, so a wait for a lock goes on between two calls, with its place kept.

import type { Lock, LockOptions, Mode, Place, Refusal, RowlockClient } from "../typescript/src/index.ts";
import { whoWords, whyWords } from "./agent-answers.ts";
import { AgentFolders } from "./agent-folders.ts";
import { isBelow, pathFault } from "./agent-paths.ts";
import { counted, timeWords } from "./print.ts";

/** How long one call waits: clients of agents give up after a minute. */
export const CALL_MS_MAX = 25_000;
/** How long a wait lasts that nobody asks for any more, and a lock that it brought and nobody knows of. */
export const FORGOTTEN_AFTER_MS = 300_000;

export interface Wanted {
  readonly name: string;
  readonly mode?: Mode | undefined;
  readonly permits?: number | undefined;
  /** The name is a path: the agent also reads the folders above it, so that nobody else can have one of them alone. */
  readonly isPath?: boolean | undefined;
  /** What the agent is going to do, for those who wait. */
  readonly reason?: string | undefined;
}

interface Wait {
  /** Resolves with the sentence for the agent when the wait ends. */
  readonly over: Promise<string>;
  readonly stop: AbortController;
  readonly isPath: boolean;
  readonly begunMs: number;
  place: Place | undefined;
}

interface Held {
  readonly lock: Lock;
  readonly isPath: boolean;
  readonly grantedMs: number;
  /** The agent knows of it. */
  isTold: boolean;
}

export interface AgentLocksOptions {
  readonly rowlock: Pick<RowlockClient, "acquire" | "getLock" | "explainWait">;
  /** Who holds the locks, for people. */
  readonly owner: () => string;
}

export class AgentLocks {
  readonly #options: AgentLocksOptions;
  readonly #held = new Map<string, Held>();
  readonly #waits = new Map<string, Wait>();
  /** Of each wait that the agent was sent away from, what ends it if the agent does not come back. */
  readonly #forgotten = new Map<string, NodeJS.Timeout>();
  /** Names of locks that were lost, and not told yet. */
  readonly #lost = new Set<string>();
  readonly #folders: AgentFolders;

  constructor(options: AgentLocksOptions) {
    this.#options = options;
    this.#folders = new AgentFolders((folder, signal) =>
      options.rowlock.acquire(folder, { owner: options.owner(), mode: "shared", signal }),
    );
  }

  /** Takes the lock, or waits for it for some time, or goes on to wait. */
  async acquire(wanted: Wanted, waitMs: number): Promise<string> {
    const { name, isPath = false } = wanted;
    const fault = isPath ? pathFault(name) : null;
    if (fault !== null) return fault;
    this.#remember(name);
    const held = this.#held.get(name);
    if (held)
      return `You hold "${name}", with the fencing token ${held.lock.token}. Release it when you are done.`;
    const own = isPath ? this.#ownWork(name) : null;
    if (own !== null) return own;
    const wait = this.#waits.get(name) ?? this.#begin(wanted);
    const answer = await Promise.race([wait.over, later(Math.min(waitMs, CALL_MS_MAX))]);
    if (answer !== undefined) {
      const granted = this.#held.get(name);
      if (granted) granted.isTold = true;
      return answer;
    }
    this.#forgotten.set(name, setTimeout(() => void this.release(name), FORGOTTEN_AFTER_MS).unref());
    const kept = timeWords(FORGOTTEN_AFTER_MS);
    return [
      `Not yet: ${placeWords(wait)}, for "${name}".`,
      await whoWords(this.#options.rowlock, name, isPath),
      `Your place is kept for ${kept} from now, and the lock, too, if it becomes yours meanwhile, which your next answer will say. Call ` +
        "acquire again with the same name to go on waiting, or do work that needs no other lock; before other work, call release to " +
        "give the place up. Do not touch what the lock protects before you hold it.",
    ].join("\n");
  }

  /** Gives the lock back, or the place. */
  async release(name: string): Promise<string> {
    this.#remember(name);
    const wait = this.#waits.get(name);
    wait?.stop.abort();
    const left = await wait?.over;
    // It may have been granted just before it was given up.
    const held = this.#held.get(name);
    if (!held) return left ?? `You neither hold "${name}" nor wait for it: there is nothing to do.`;
    this.#held.delete(name);
    await held.lock.release();
    if (held.isPath) await this.#folders.give(name);
    return `Released "${name}".`;
  }

  /** What it holds and waits for. */
  mine(): string {
    const held = [...this.#held.values()].map(
      ({ lock }) => `- you hold "${lock.name}" (fencing token ${lock.token})`,
    );
    const waits = [...this.#waits].map(([name, wait]) => `- you wait for "${name}": ${placeWords(wait)}`);
    return [...held, ...waits].join("\n") || "You hold nothing, and wait for nothing.";
  }

  /** Why it does not have a lock. */
  async why(name: string, isPath: boolean): Promise<string> {
    if (this.#held.has(name)) return `You hold "${name}" yourself; it is renewed until you release it.`;
    const wait = this.#waits.get(name);
    const next = wait
      ? `You wait for it: ${placeWords(wait)}. Call acquire again to go on waiting.`
      : "To get it, call acquire, which waits its turn.";
    return await whyWords(this.#options.rowlock, name, isPath, next);
  }

  /** What it must know before anything else; empty: nothing. Told once. */
  news(): string {
    const lost = [...this.#lost].map((name) => `"${name}"`);
    this.#lost.clear();
    const news =
      lost.length === 0
        ? []
        : [
            `You have lost ${lost.join(", ")}, and somebody else may have it now: stop what you do there, and acquire it again before ` +
              "you go on. Look first at what others have changed meanwhile.\n",
          ];
    for (const [name, held] of this.#held) {
      if (held.isTold) continue;
      const { token } = held.lock;
      held.isTold = true;
      this.#remember(name);
      const ago = timeWords(performance.now() - held.grantedMs);
      news.push(
        `Your wait for "${name}" is over: you have held it for ${ago}, with the fencing token ${token}. Do the work there, and release it.\n`,
      );
    }
    return news.join("");
  }

  /** Gives everything back. */
  async end(): Promise<void> {
    for (const { stop } of this.#waits.values()) stop.abort();
    const held = [...this.#held.values()];
    this.#held.clear();
    await Promise.allSettled(held.map(({ lock }) => lock.release()));
    await this.#folders.end();
  }

  /** Why the agent would wait for itself; null: it would not. */
  #ownWork(path: string): string | null {
    for (const [name, { isPath }] of [...this.#held, ...this.#waits]) {
      if (!isPath) continue;
      if (isBelow(path, name) && this.#held.has(name))
        return `You hold "${name}", which "${path}" is a part of: go on, and release "${name}" when you are done.`;
      if (isBelow(path, name) || isBelow(name, path))
        return `You have to do with "${name}" already, and would wait for yourself: release "${name}" first.`;
    }
    return null;
  }

  /** The agent has come back. */
  #remember(name: string): void {
    clearTimeout(this.#forgotten.get(name));
    this.#forgotten.delete(name);
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
    };
    const over = this.#take(name, isPath, options, stop.signal).then(
      ({ lock, refusal }) => (lock ? this.#granted(lock, isPath) : refusedWords(name, refusal)),
      (error: unknown) => {
        if (stop.signal.aborted) return `You do not wait for "${name}" any more.`;
        throw error;
      },
    );
    const wait: Wait = { over, stop, isPath, begunMs: performance.now(), place: undefined };
    this.#waits.set(name, wait);
    const left = () => void this.#waits.delete(name);
    over.then(left, left);
    return wait;
  }

  /** Of a path, the folders above it first. */
  async #take(name: string, isPath: boolean, options: LockOptions, stopped: AbortSignal) {
    if (!isPath) return await this.#options.rowlock.acquire(name, options);
    const refusal = await this.#folders.take(name, stopped);
    if (refusal) return { refusal };
    try {
      const taken = await this.#options.rowlock.acquire(name, options);
      if (!taken.lock) await this.#folders.give(name);
      return taken;
    } catch (error) {
      await this.#folders.give(name);
      throw error;
    }
  }

  #granted(lock: Lock, isPath: boolean): string {
    const { name, token, signal } = lock;
    this.#held.set(name, { lock, isPath, grantedMs: performance.now(), isTold: false });
    const lost = () => {
      if (this.#held.get(name)?.lock !== lock) return;
      this.#held.delete(name);
      this.#lost.add(name);
      // It may be a folder above it that is lost.
      lock.release().catch(() => {});
      if (isPath) void this.#folders.give(name);
    };
    signal.addEventListener("abort", lost);
    if (isPath) this.#folders.onLost(name, lost);
    return (
      `You hold "${name}" now, with the fencing token ${token}. It is renewed, and stays yours for as long as this tool runs. Do the work, and call ` +
      "release with this name as soon as you are done, also after a failure."
    );
  }
}

function later(timeMs: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), timeMs).unref());
}

function placeWords({ place, begunMs }: Wait): string {
  const waited = `have waited ${timeWords(performance.now() - begunMs)}`;
  if (!place) return `you ${waited}`;
  const { ahead } = place;
  if (ahead === 0) return `you are next in the queue, and ${waited}`;
  return `${counted(ahead, "other")} ${ahead === 1 ? "is" : "are"} before you in the queue, and you ${waited}`;
}

function refusedWords(name: string, { reason, message, retryAfterMs }: Refusal): string {
  const when = retryAfterMs === undefined ? "" : ` Try again in ${timeWords(retryAfterMs)}.`;
  return `"${name}" was not acquired (${reason}): ${message}${when} Do not touch what the lock protects.`;
}
