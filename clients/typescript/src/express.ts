// Middleware for Express, and for all that calls handlers with the request and response of node:http: a handler that
// runs under a lock.

import type { IncomingMessage, ServerResponse } from "node:http";
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
export interface LockedOptions<Request, Response> extends Omit<LockOptions, "signal" | "also"> {
  /** Further locks of the same claim, or how to find them in a request. */
  readonly also?: AlsoOf<Request>;
  /** Answers a request whose lock was refused; by default with 503, and Retry-After if the server knows when. */
  readonly refused?: (refusal: Refusal, request: Request, response: Response) => unknown;
}

/**
 * Returns a handler that runs `handler` under the lock until its promise resolves. While it waits, a request whose
 * caller has gone gives its place up. Errors go to `next`: those of the handler, of the client, and LEASE_LOST if the
 * lock was lost before the handler had ended.
 */
export function locked<Request extends IncomingMessage, Response extends ServerResponse>(
  rowlock: RowlockClient,
  name: NameOf<Request>,
  options: LockedOptions<Request, Response>,
  handler: (request: Request, response: Response, lock: Lock) => unknown,
): (request: Request, response: Response, next: (error?: unknown) => void) => Promise<void> {
  const { refused = answerRefused, also, ...lockOptions } = options;
  return async (request, response, next) => {
    const gone = new AbortController();
    const leave = () => gone.abort();
    response.once("close", leave);
    // The caller may have gone while another middleware was at work.
    if (response.closed) leave();
    try {
      const { name: first, ...further } = locksOf(name, also, request);
      const asked = { ...lockOptions, ...further, signal: gone.signal };
      const { refusal } = await underLock(rowlock, first, asked, async (lock) => {
        response.off("close", leave);
        await handler(request, response, lock);
      });
      if (refusal) await refused(refusal, request, response);
    } catch (error) {
      // Nobody reads an answer any more.
      if (!gone.signal.aborted) next(error);
    } finally {
      response.off("close", leave);
    }
  };
}

function answerRefused(refusal: Refusal, _: IncomingMessage, response: ServerResponse): void {
  response.writeHead(REFUSED_STATUS, headersOf(refusal)).end(REFUSED_TEXT);
}
