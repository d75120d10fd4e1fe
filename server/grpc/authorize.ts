// Whether a caller may do what it asks for. Asked after the check of a request and before its method, so that a request
// with faults hears of them, and nothing is done or shown without a right.

import { NOBODY } from "../access/access.ts";
import { rightMissing } from "../access/access-error.ts";
import { EVERYTHING } from "../access/policy.ts";
import type { Needed, Right } from "../access/rights.ts";
import type { Caller } from "../core/command.ts";
import type { LockEngine } from "../engine/engine.ts";
import type { Client } from "./call.ts";

/** What a request touches. A verb that only shows names leaves out those that its caller may not see instead. */
export interface Touched {
  /** Names of locks. */
  readonly names?: readonly string[];
  /** All locks with this prefix. */
  readonly prefix?: string;
  /** The lock of a claim. */
  readonly lockId?: bigint;
  /** The right that is enough here, instead of that of the verb. */
  readonly right?: Right;
}

export const NOTHING: Touched = {};

/** What it needs to know of a verb. */
interface AuthorizedVerb {
  readonly needs: Needed;
  readonly admission: string;
  touches(asked: unknown): Touched;
}

/**
 * Counts a call, and asks whether its caller may make it: throws or rejects as `authorize`, and throws OVERLOADED beyond
 * the calls of its quota. What keeps leases or gives them back does not count.
 */
export function admitCall(
  call: Caller & { readonly client: Pick<Client, "identity" | "usage" | "renewals"> },
  verb: AuthorizedVerb,
  asked: unknown,
  engine: Pick<LockEngine, "lockName">,
): Promise<void> | undefined {
  const { identity, usage } = call.client;
  if (identity === NOBODY) return undefined;
  if (verb.admission !== "urgent") usage.call(identity);
  const touched = verb.touches(asked);
  const needed = touched.right === undefined ? verb.needs : { ...verb.needs, right: touched.right };
  return authorize(call, needed, touched, engine);
}

type ByClient = Caller & { readonly client: Pick<Client, "identity" | "renewals"> };

/**
 * Throws RIGHT_MISSING, or rejects with it if the name of a lock must be looked up first. undefined: it is allowed. An id
 * of a lock that does not exist is refused like that of another's lock, except to callers who may use every lock: numbers
 * of locks can be guessed, and the answer must not say which ones there are. Throws OVERLOADED if the caller has guessed too
 * many.
 */
export function authorize(
  call: ByClient,
  needed: Needed,
  { names, prefix, lockId }: Touched,
  engine: Pick<LockEngine, "lockName">,
): Promise<void> | undefined {
  const { identity, renewals } = call.client;
  const { allowed, principal } = identity;
  if (allowed === EVERYTHING) return undefined;
  const denied = names?.find((name) => !allowed.on(needed, name));
  if (denied !== undefined) throw rightMissing(principal, needed, `"${denied}"`);
  if (prefix !== undefined && !allowed.under(needed, prefix))
    throw rightMissing(principal, needed, `all of "${prefix}*"`);
  if (lockId === undefined) return undefined;
  renewals.check();
  const check = (name: string | null) => {
    if (name === null ? allowed.under(needed, "") : allowed.on(needed, name)) return;
    // Also for a name that was known without a read: what is left must not distinguish the guesses.
    renewals.denied();
    // The name is not shown: numbers of locks can be guessed.
    throw rightMissing(
      principal,
      needed,
      "the lock of this lease or ticket",
      name === null ? undefined : `"${name}"`,
    );
  };
  const found = engine.lockName(lockId, call);
  if (found instanceof Promise) return found.then(check);
  check(found);
  return undefined;
}
