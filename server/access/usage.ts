// What each principal uses of its quota at this server: sessions, calls, new names, and live claims. Claims outlive
// sessions and servers, so their number comes from the database from time to time, and what this server decides is added
// in between.

import { Allowance } from "../core/allowance.ts";
import type { Identity } from "./access.ts";
import { AccessError } from "./access-error.ts";
import type { Quota } from "./policy.ts";

/** Live claims of one principal. */
export interface ClaimsOfPrincipal {
  readonly principal: string;
  readonly claims: number;
  readonly waiters: number;
}

interface Used {
  sessions: number;
  claims: number;
  waiters: number;
  /** Claims and waiters that commands under way may add. */
  claimsAsked: number;
  waitersAsked: number;
  readonly calls: Allowance;
  readonly names: Allowance;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** When a caller whose quota is full may try again. */
const RETRY_AFTER_MS = 1_000;

/** What a request asks for: leases, or places in queues. */
export interface AskedFor {
  readonly claims: number;
  readonly waiters: number;
}

type User = Pick<Identity, "principal" | "quota">;

export class Usage {
  readonly #used = new Map<string, Used>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Counts a call. Throws OVERLOADED if there were too many in this second. */
  call({ principal, quota }: User): void {
    const { callsPerSecond } = quota;
    if (callsPerSecond === undefined) return;
    const { calls } = this.#of(principal);
    const taken = calls.take(1, { most: callsPerSecond, spanMs: SECOND_MS }, this.#nowMs());
    if (taken === 0) throw full("quota_calls", `${callsPerSecond} calls a second`, calls.waitMs);
  }

  /** Counts a new name of a lock; false: it is one too many in this minute. */
  mayMakeName({ principal, quota }: User): boolean {
    const { newNamesPerMinute } = quota;
    if (newNamesPerMinute === undefined) return true;
    const rate = { most: newNamesPerMinute, spanMs: MINUTE_MS };
    return this.#of(principal).names.take(1, rate, this.#nowMs()) === 1;
  }

  /** Counts a session, until the function that it returns is called. Throws OVERLOADED. */
  session({ principal, quota }: User): () => void {
    if (principal === "") return () => {};
    const used = this.#of(principal);
    if (used.sessions >= (quota.sessions ?? Number.POSITIVE_INFINITY))
      throw full("quota_sessions", `${quota.sessions} sessions`);
    used.sessions += 1;
    return () => {
      used.sessions -= 1;
      this.#forget(principal, used);
    };
  }

  /** Keeps room for what a command asks for, until the function that it returns is called. Throws OVERLOADED. */
  ask({ principal, quota }: User, { claims, waiters }: AskedFor): () => void {
    if (quota.claims === undefined && quota.waiters === undefined) return () => {};
    const used = this.#of(principal);
    check("claims", used.claims + used.claimsAsked + claims, quota);
    check("waiters", used.waiters + used.waitersAsked + waiters, quota);
    used.claimsAsked += claims;
    used.waitersAsked += waiters;
    return () => {
      used.claimsAsked -= claims;
      used.waitersAsked -= waiters;
      this.#forget(principal, used);
    };
  }

  /** This server has decided about a claim: how many claims and waiters there are more than before. */
  decided(principal: string, claims: number, waiters: number): void {
    if (principal === "") return;
    const used = this.#of(principal);
    used.claims += claims;
    used.waiters += waiters;
    this.#forget(principal, used);
  }

  /** The database has counted all live claims. */
  counted(counts: readonly ClaimsOfPrincipal[]): void {
    const found = new Map(counts.map((count) => [count.principal, count]));
    for (const principal of new Set([...this.#used.keys(), ...found.keys()])) {
      if (principal === "") continue;
      const used = this.#of(principal);
      used.claims = found.get(principal)?.claims ?? 0;
      used.waiters = found.get(principal)?.waiters ?? 0;
      this.#forget(principal, used);
    }
  }

  #of(principal: string): Used {
    const known = this.#used.get(principal);
    if (known) return known;
    const used = {
      ...{ sessions: 0, claims: 0, waiters: 0, claimsAsked: 0, waitersAsked: 0 },
      calls: new Allowance(),
      names: new Allowance(),
    };
    this.#used.set(principal, used);
    return used;
  }

  /** Keeps nothing of principals that use nothing. */
  #forget(principal: string, used: Used): void {
    const { sessions, claims, waiters, claimsAsked, waitersAsked, calls, names } = used;
    const isIdle = sessions === 0 && claims === 0 && waiters === 0 && claimsAsked === 0 && waitersAsked === 0;
    if (isIdle && calls.isWhole(this.#nowMs()) && names.isWhole(this.#nowMs())) this.#used.delete(principal);
  }
}

function check(what: "claims" | "waiters", wanted: number, quota: Quota): void {
  const bound = quota[what];
  if (bound !== undefined && wanted > bound) throw full(`quota_${what}`, `${bound} ${what}`);
}

function full(bound: string, most: string, retryAfterMs = RETRY_AFTER_MS): AccessError {
  return new AccessError(
    "OVERLOADED",
    `The policy of this server gives this caller at most ${most}: try again later, or ask an operator for more.`,
    { bound },
    retryAfterMs,
  );
}
