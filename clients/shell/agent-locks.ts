// The locks of an agent: what it holds and waits for, under the names that it uses, and sentences that tell it what to do next. A model
// calls a tool and waits for its answer for seconds, so a wait goes on between two calls, with its place kept.

import type { Lock, LockOptions, Mode, Place, Refusal, RowlockClient } from "../typescript/src/index.ts";
import { timeWords } from "./print.ts";

/** How long one call waits: clients of models give up after a minute. */
export const CALL_MS_MAX = 25_000;
/** How long a wait lasts that nobody asks for any more. */
const FORGOTTEN_AFTER_MS = 300_000;

export interface Asked {
  readonly name: string;
  readonly mode?: Mode;
  readonly permits?: number;
  readonly reason?: string;
  /** How long to wait in this call, in milliseconds. */
  readonly waitMs: number;
}

interface Wait {
  readonly over: Promise<string>;
  readonly stop: AbortController;
  place: Place | undefined;
  timer: NodeJS.Timeout | undefined;
}

export class AgentLocks {
  readonly #rowlock: Pick<RowlockClient, "acquire">;
  readonly #held = new Map<string, Lock>();
  readonly #waits = new Map<string, Wait>();

  constructor(rowlock: Pick<RowlockClient, "acquire">) {
    this.#rowlock = rowlock;
  }

  /** Takes the lock, or goes on to wait for it. */
  async acquire({ name, mode, permits, reason, waitMs }: Asked): Promise<string> {
    const held = this.#held.get(name);
    if (held) return `You hold "${name}" already (fencing token ${held.token}). Release it when you are done.`;
    const wait = this.#waits.get(name) ?? this.#begin(name, { mode, permits, reason });
    clearTimeout(wait.timer);
    const answer = await Promise.race([wait.over, later(Math.min(waitMs, CALL_MS_MAX))]);
    if (answer !== undefined) return answer;
    wait.timer = setTimeout(() => wait.stop.abort(), FORGOTTEN_AFTER_MS);
    wait.timer.unref();
    return (
      `Not yet: ${placeWords(wait.place)} for "${name}". Your place is kept for ${timeWords(FORGOTTEN_AFTER_MS)}: call acquire again with the ` +
      "same name to go on waiting, do other work meanwhile, or call release to give the place up. Do not touch what the lock protects."
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
    await wait.over;
    return `You do not wait for "${name}" any more.`;
  }

  /** What it holds and waits for. */
  mine(): string {
    const held = [...this.#held.values()].map(({ name, token }) => `- you hold "${name}" (fencing token ${token})`);
    const waits = [...this.#waits].map(([name, { place }]) => `- you wait for "${name}": ${placeWords(place)}`);
    return [...held, ...waits].join("\n") || "You hold nothing, and wait for nothing.";
  }

  /** Gives everything back. */
  async end(): Promise<void> {
    for (const { stop } of this.#waits.values()) stop.abort();
    await Promise.allSettled([...this.#held.values()].map((lock) => lock.release()));
    this.#held.clear();
  }

  #begin(name: string, { mode, permits, reason }: Pick<Asked, "mode" | "permits" | "reason">): Wait {
    const stop = new AbortController();
    const options: LockOptions = {
      signal: stop.signal,
      ...(mode && { mode }),
      ...(permits !== undefined && { permits }),
      ...(reason !== undefined && { labels: { reason } }),
      onPosition: (place) => {
        wait.place = place;
      },
    };
    const over = this.#rowlock.acquire(name, options).then(
      ({ lock, refusal }) => (lock ? this.#granted(lock) : refusedWords(name, refusal)),
      (error: unknown) => {
        if (stop.signal.aborted) return `You do not wait for "${name}" any more.`;
        throw error;
      },
    );
    const wait: Wait = { over, stop, place: undefined, timer: undefined };
    this.#waits.set(name, wait);
    void over.catch(() => {}).finally(() => this.#waits.delete(name));
    return wait;
  }

  #granted(lock: Lock): string {
    const { name, token, signal } = lock;
    this.#held.set(name, lock);
    signal.addEventListener("abort", () => {
      if (this.#held.get(name) === lock) this.#held.delete(name);
    });
    return (
      `You hold "${name}" now, with the fencing token ${token}. It is renewed for as long as this tool runs. Do the work, and call release with ` +
      "this name as soon as you are done, also after a failure."
    );
  }
}

function later(timeMs: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), timeMs).unref());
}

function placeWords(place: Place | undefined): string {
  if (!place) return "it waits";
  const { ahead, waitedMs } = place;
  const where = ahead === 0 ? "it is next in the queue" : `${ahead} ${ahead === 1 ? "is" : "are"} before it in the queue`;
  return `${where}, after ${timeWords(waitedMs)}`;
}

function refusedWords(name: string, refusal: Refusal): string {
  const { reason, message, retryAfterMs } = refusal;
  const when = retryAfterMs === undefined ? "" : ` Try again in ${timeWords(retryAfterMs)}.`;
  return `"${name}" was not acquired (${reason}): ${message}${when} Do not touch what the lock protects.`;
}
