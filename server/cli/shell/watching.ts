// How locks stand, again and again. What asks for it does not know how it is found out.

import { setTimeout as sleep } from "node:timers/promises";
import type { LockView, Rowlock } from "../../../clients/typescript/src/index.ts";

/** One lock, or all whose names begin with a prefix. */
export type Watched = { readonly name: string } | { readonly prefix: string };

/** A prefix ends in a slash or a star, or is empty; the star is not part of it. */
export function watchedOf(text: string): Watched {
  if (text === "" || text.endsWith("/")) return { prefix: text };
  return text.endsWith("*") ? { prefix: text.slice(0, -1) } : { name: text };
}

/** Asks the server at each interval, until `ended`. */
export async function* lookAgain(
  rowlock: Rowlock,
  watched: Watched,
  intervalMs: number,
  ended: AbortSignal,
): AsyncGenerator<readonly LockView[], void, undefined> {
  const over = new Promise<undefined>((resolve) => ended.addEventListener("abort", () => resolve(undefined)));
  while (!ended.aborted) {
    const locks = await Promise.race([look(rowlock, watched), over]);
    if (locks) yield locks;
    await sleep(intervalMs, undefined, { signal: ended }).catch(() => {});
  }
}

async function look(rowlock: Rowlock, watched: Watched): Promise<readonly LockView[]> {
  if ("name" in watched) return [await rowlock.getLock(watched.name)];
  return await Array.fromAsync(rowlock.listLocks({ prefix: watched.prefix, pageSize: 1_000 }));
}

/** What has changed between two looks. That a lease was renewed is no change. */
export function changesBetween(
  before: ReadonlyMap<string, string>,
  locks: readonly LockView[],
): {
  readonly changed: readonly LockView[];
  readonly gone: readonly string[];
  readonly now: Map<string, string>;
} {
  const now = new Map(locks.map((lock) => [lock.name, stateOf(lock)]));
  return {
    changed: locks.filter(({ name }) => before.get(name) !== now.get(name)),
    gone: [...before.keys()].filter((name) => !now.has(name)),
    now,
  };
}

function stateOf(lock: LockView): string {
  return JSON.stringify(lock, (key, value) =>
    key === "expiresAt" ? undefined : typeof value === "bigint" ? String(value) : value,
  );
}
