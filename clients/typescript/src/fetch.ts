// Middleware for fetch-style handlers, which take a Request and return a Response, as those of Hono, Next.js and Remix: a
// handler that runs under a lock.

import type { RowlockClient } from "./client.ts";
import type { Lock } from "./lock.ts";
import {
  type AlsoOf,
  headersOf,
  locksOf,
  type NameOf,
  REFUSED_STATUS,
  REFUSED_TEXT,
  underLock,
} from "./locked-request.ts";
import type { LockOptions } from "./options.ts";
import type { Refusal } from "./refusal.ts";

/** The options of the lock, and what to answer without it. */
export interface LockedOptions extends Omit<LockOptions, "signal" | "also"> {
  /** Further locks of the same claim, or how to find them in a request. */
  readonly also?: AlsoOf<Request>;
  /** Answers a request whose lock was refused; by default with 503, and Retry-After if the server knows when. */
  readonly refused?: (refusal: Refusal, request: Request) => Response | Promise<Response>;
}

/**
 * Returns a handler that runs `handler` under the lock until its promise resolves: what streams after that is not under
 * the lock. While it waits, a request that is aborted gives its place up. Rejects with the errors of the handler, of the
 * client, and with LEASE_LOST if the lock was lost before the handler had ended. Further arguments are passed on.
 */
export function locked<Context extends readonly unknown[]>(
  rowlock: RowlockClient,
  name: NameOf<Request>,
  options: LockedOptions,
  handler: (request: Request, lock: Lock, ...context: Context) => Response | Promise<Response>,
): (request: Request, ...context: Context) => Promise<Response> {
  const { refused = answerRefused, also, ...lockOptions } = options;
  return async (request, ...context) => {
    const { name: first, ...further } = locksOf(name, also, request);
    const asked = { ...lockOptions, ...further, signal: request.signal };
    const outcome = await underLock(rowlock, first, asked, async (lock) =>
      handler(request, lock, ...context),
    );
    return outcome.refusal ? await refused(outcome.refusal, request) : outcome.value;
  };
}

function answerRefused(refusal: Refusal): Response {
  return new Response(REFUSED_TEXT, { status: REFUSED_STATUS, headers: headersOf(refusal) });
}
