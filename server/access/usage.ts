// What each principal uses of its quota at this server: sessions, calls, new names, live claims and records. Claims and
// records outlive sessions and servers, so their numbers come from the database from time to time, and what this server
// decides is added in between.

import { Allowance } from "../core/allowance.ts";
import type { BoundUse } from "../core/bound-use.ts";
import type { Identity } from "./access.ts";
import { AccessError } from "./access-error.ts";
import type { Quota } from "./policy.ts";

export interface ClaimsOfPrincipal {
  readonly principal: string;
  readonly claims: number;
  readonly waiters: number;
}

export interface RecordsOfPrincipal {
  readonly principal: string;
  readonly records: number;
}

interface Used {
  /** As it was at the last question; the database also counts for principals that have not asked here. */
  quota: Quota | undefined;
  sessions: number;
  claims: number;
  waiters: number;
  records: number;
  /** What commands under way may add. */
  claimsAsked: number;
  waitersAsked: number;
  recordsAsked: number;
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

/** Room for a record, kept for a command that may make one. */
export interface RecordReservation {
  /** Why the command may not make a record; null: it may. */
  readonly refusal: AccessError | null;
  done(): void;
}

/** Of each quota, by its name in errors: how much a principal may use, and how much it does. */
const QUOTAS: Readonly<
  Record<string, (quota: Quota, used: Used, nowMs: number) => [max: number | undefined, used: number]>
> = {
  quota_claims: ({ claims }, used) => [claims, used.claims + used.claimsAsked],
  quota_waiters: ({ waiters }, used) => [waiters, used.waiters + used.waitersAsked],
  quota_sessions: ({ sessions }, used) => [sessions, used.sessions],
  quota_records: ({ records }, used) => [records, used.records + used.recordsAsked],
  quota_calls: ({ callsPerSecond }, used, nowMs) => [callsPerSecond, used.calls.taken(nowMs)],
  quota_names: ({ newNamesPerMinute }, used, nowMs) => [newNamesPerMinute, used.names.taken(nowMs)],
};

const ANY_ROOM: RecordReservation = { refusal: null, done: () => {} };

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
    const { calls } = this.#ofUser(principal, quota);
    const taken = calls.take(1, { most: callsPerSecond, spanMs: SECOND_MS }, this.#nowMs());
    if (taken === 0) throw full("quota_calls", `${callsPerSecond} calls a second`, calls.waitMs);
  }

  /** Counts a new name of a lock; false: it is one too many in this minute. */
  mayMakeName({ principal, quota }: User): boolean {
    const { newNamesPerMinute } = quota;
    if (newNamesPerMinute === undefined) return true;
    const rate = { most: newNamesPerMinute, spanMs: MINUTE_MS };
    return this.#ofUser(principal, quota).names.take(1, rate, this.#nowMs()) === 1;
  }

  /** Counts a session, until the function that it returns is called. Throws OVERLOADED. */
  session({ principal, quota }: User): () => void {
    if (principal === "") return () => {};
    const used = this.#ofUser(principal, quota);
    if (used.sessions >= (quota.sessions ?? Number.POSITIVE_INFINITY))
      throw full("quota_sessions", `${quota.sessions} sessions`);
    used.sessions += 1;
    return () => {
      used.sessions -= 1;
      this.#forget(principal, used);
    };
  }

  /** Keeps room until the function that it returns is called; null: the caller has no such quota. Throws OVERLOADED. */
  ask({ principal, quota }: User, { claims, waiters }: AskedFor): (() => void) | null {
    if (quota.claims === undefined && quota.waiters === undefined) return null;
    const used = this.#ofUser(principal, quota);
    check("claims", used.claims + used.claimsAsked + claims, quota);
    check("waiters", used.waiters + used.waitersAsked + waiters, quota);
    return this.#keep(principal, used, claims, waiters, 0);
  }

  /** Keeps room for leases, as `ask` does. null: there is none; undefined: the caller has no such quota. */
  roomForLeases({ principal, quota }: User, claims: number): (() => void) | null | undefined {
    if (quota.claims === undefined) return undefined;
    const used = this.#ofUser(principal, quota);
    if (used.claims + used.claimsAsked + claims > quota.claims) return null;
    return this.#keep(principal, used, claims, 0, 0);
  }

  /** Whether a command makes a record shows only when it is decided: a caller without room is refused only then. */
  roomForRecord({ principal, quota }: User): RecordReservation {
    const { records } = quota;
    if (records === undefined) return ANY_ROOM;
    const used = this.#ofUser(principal, quota);
    if (used.records + used.recordsAsked >= records)
      return { refusal: full("quota_records", `${records} records of locks`), done: () => {} };
    return { refusal: null, done: this.#keep(principal, used, 0, 0, 1) };
  }

  /** This server has decided: how many claims, waiters and records of this principal there are more than before. */
  decided(principal: string, claims: number, waiters: number, records = 0): void {
    if (principal === "") return;
    const used = this.#of(principal);
    used.claims += claims;
    used.waiters += waiters;
    used.records += records;
    this.#forget(principal, used);
  }

  counted(counts: readonly ClaimsOfPrincipal[]): void {
    this.#take(counts, (used, count) => {
      used.claims = count?.claims ?? 0;
      used.waiters = count?.waiters ?? 0;
    });
  }

  recordsCounted(counts: readonly RecordsOfPrincipal[]): void {
    this.#take(counts, (used, count) => {
      used.records = count?.records ?? 0;
    });
  }

  /** What is used of each quota by the caller that has used the largest share of its own. */
  get bounds(): readonly BoundUse[] {
    const nowMs = this.#nowMs();
    return Object.entries(QUOTAS).flatMap(([bound, use]) => {
      let fullest: { readonly used: number; readonly max: number } | undefined;
      for (const of of this.#used.values()) {
        const [max, used] = use(of.quota ?? {}, of, nowMs);
        if (max === undefined || max === 0) continue;
        if (!fullest || used / max > fullest.used / fullest.max) fullest = { used, max };
      }
      return fullest ? [{ bound, kind: "client", ...fullest }] : [];
    });
  }

  #take<Count extends { readonly principal: string }>(
    counts: readonly Count[],
    set: (used: Used, count: Count | undefined) => void,
  ): void {
    const found = new Map(counts.map((count) => [count.principal, count]));
    for (const principal of new Set([...this.#used.keys(), ...found.keys()])) {
      if (principal === "") continue;
      const used = this.#of(principal);
      set(used, found.get(principal));
      this.#forget(principal, used);
    }
  }

  #keep(principal: string, used: Used, claims: number, waiters: number, records: number): () => void {
    used.claimsAsked += claims;
    used.waitersAsked += waiters;
    used.recordsAsked += records;
    return () => {
      used.claimsAsked -= claims;
      used.waitersAsked -= waiters;
      used.recordsAsked -= records;
      this.#forget(principal, used);
    };
  }

  #ofUser(principal: string, quota: Quota): Used {
    const used = this.#of(principal);
    used.quota = quota;
    return used;
  }

  #of(principal: string): Used {
    const known = this.#used.get(principal);
    if (known) return known;
    const used: Used = {
      quota: undefined,
      ...{ sessions: 0, claims: 0, waiters: 0, records: 0 },
      ...{ claimsAsked: 0, waitersAsked: 0, recordsAsked: 0 },
      calls: new Allowance(),
      names: new Allowance(),
    };
    this.#used.set(principal, used);
    return used;
  }

  /** Keeps nothing of principals that use nothing. */
  #forget(principal: string, used: Used): void {
    const { calls, names } = used;
    const isAsking = used.claimsAsked > 0 || used.waitersAsked > 0 || used.recordsAsked > 0;
    const hasAny = used.sessions !== 0 || used.claims !== 0 || used.waiters !== 0 || used.records !== 0;
    if (isAsking || hasAny) return;
    if (calls.isWhole(this.#nowMs()) && names.isWhole(this.#nowMs())) this.#used.delete(principal);
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
