// What the middleware for Express and for fetch-style handlers share: a handler that runs under a lock.

import type { WantedLock } from "./also.ts";
import type { RowlockClient } from "./client.ts";
import type { Lock } from "./lock.ts";
import type { LockOptions } from "./options.ts";
import type { Refusal } from "./refusal.ts";
import { RowlockError } from "./rowlock-error.ts";

/** The name of the lock, or how to find it in a request. */
export type NameOf<Request> = string | ((request: Request) => string);

/** The further locks of the claim, or how to find them in a request. */
export type AlsoOf<Request> = readonly WantedLock[] | ((request: Request) => readonly WantedLock[]);

/** Returns the name of the lock and the further ones, as options. */
export function locksOf<Request>(name: NameOf<Request>, also: AlsoOf<Request> | undefined, request: Request) {
  return {
    name: typeof name === "function" ? name(request) : name,
    ...(also && { also: typeof also === "function" ? also(request) : also }),
  };
}

export type LockedOutcome<Value> =
  | { readonly value: Value; readonly refusal?: undefined }
  | { readonly refusal: Refusal };

/** Runs `work` under the lock. A refusal of this lock is a value; all else rejects, as with `withLock`. */
export async function underLock<Value>(
  rowlock: RowlockClient,
  name: string,
  options: LockOptions,
  work: (lock: Lock) => Promise<Value>,
): Promise<LockedOutcome<Value>> {
  let isGranted = false;
  try {
    const value = await rowlock.withLock(name, options, (lock) => {
      isGranted = true;
      return work(lock);
    });
    return { value };
  } catch (error) {
    // The handler may have thrown the refusal of another lock.
    if (!isGranted && error instanceof RowlockError && error.refusal) return { refusal: error.refusal };
    throw error;
  }
}

/** The headers of the answer to a refused request. */
export function headersOf({ retryAfterMs }: Refusal): Readonly<Record<string, string>> {
  return {
    "content-type": "text/plain; charset=utf-8",
    ...(retryAfterMs !== undefined && { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) }),
  };
}

/** The status of that answer: Service Unavailable, which says that another try may succeed. */
export const REFUSED_STATUS = 503;
/** Its text: callers of the program need not know who holds the lock. */
export const REFUSED_TEXT = "Busy: try again later.\n";
