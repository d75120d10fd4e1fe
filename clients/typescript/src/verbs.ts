// The calls with one answer: each returns a promise of its result.

import { create } from "@bufbuild/protobuf";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import {
  DeleteRecordRequestSchema,
  ExplainWaitRequestSchema,
  ForceReleaseRequestSchema,
  GetLockRequestSchema,
  ListChangesRequestSchema,
  ListClaimsRequestSchema,
  ListLimitsRequestSchema,
  ListLocksRequestSchema,
  ListOrder as ProtoOrder,
  ReleaseRequestSchema,
  RenewRequestSchema,
  SetLimitRequestSchema,
  UpdateRecordRequestSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { checkOptions, LIST } from "./checked-options.ts";
import type { Ask, Call } from "./connection/call.ts";
import type { Calls } from "./connection/calls.ts";
import type { Command, Result } from "./connection/connection.ts";
import {
  type ChangeView,
  changesFields,
  changeView,
  claimsFields,
  explanationView,
  type ListChangesOptions,
  type ListClaimsOptions,
  reportBegin,
  reportSearch,
  type WaitExplanation,
  type WaitTarget,
  waitTargetOf,
} from "./history.ts";
import { type QueueRules, queueRulesFields, queueRulesView, type SetQueueRules } from "./queue-rules.ts";
import { type Rate, rateFields, rateView } from "./rates.ts";
import {
  changesOf,
  lastWordsOf,
  type RecordChanges,
  type RecordView,
  type ReleaseOptions,
  recordView,
  versionOf,
  withoutRefused,
} from "./records.ts";
import { RowlockError } from "./rowlock-error.ts";
import { durationOf } from "./times.ts";
import {
  type ClaimView,
  claimView,
  type LimitSetting,
  type LockView,
  limitSettingView,
  lockView,
} from "./views.ts";

/**
 * One name, or a pattern such as `etl/*`, which stands for all names that begin with the part before its star: each of them by
 * itself, or as a pool all of them together. Leases under the pool `openai/*` with a limit of 50 have at most 50 permits at once.
 */
export type LimitTarget =
  | { readonly name: string }
  | { readonly pattern: string }
  | { readonly pool: string };

export interface SetQueueRulesOptions {
  /** Change only if the setting has this version; 0: only if it was never set. Otherwise VERSION_MISMATCH. */
  readonly ifVersion?: bigint | number;
  /** Why, for people who look at the limit later. */
  readonly reason?: string;
}

export interface SetRateOptions extends SetQueueRulesOptions {
  /** Queue rules to set with it, in one change; `null` unsets them. By default they stay. */
  readonly queueRules?: QueueRules | null;
}

export interface SetLimitOptions extends SetRateOptions {
  /** A rate to set with the limit, in one change; `null` unsets it. By default the rate stays. */
  readonly rate?: Rate | null;
}

/**
 * The result of a change of a limit, a rate or queue rules. For a pattern, the counts are sums over the locks that match it. For a pool, they are
 * the permits of it that are taken, and those who wait at it.
 */
export interface LimitInForce {
  readonly limit: number;
  /** Set for a pool that has no limit: `limit` is 0 and means nothing. */
  readonly noLimit?: true;
  /** The rate in force; unset: none. */
  readonly rate?: Required<Rate>;
  /** The queue rules in force; unset: none. */
  readonly queueRules?: SetQueueRules;
  readonly version: bigint;
  readonly heldPermits: number;
  readonly waiterCount: number;
  readonly draining: boolean;
  /** For a pattern, and a pool that was made or removed: how many servers may still grant by the old limit; usually 0. */
  readonly serversBehind: number;
  /** Set for a pool that is new: servers still count those who held before, who come on top of `heldPermits`. */
  readonly counting?: true;
}

/** Returns the `target` of a SetLimitRequest. */
export function limitTargetOf(target: LimitTarget) {
  if ("name" in target) return { case: "name", value: target.name } as const;
  if ("pool" in target) return { case: "pool", value: target.pool } as const;
  return { case: "pattern", value: target.pattern } as const;
}

/** All holders of a lock, or one claim. */
export type ForceReleaseTarget = { readonly name: string; readonly ticketNumber?: bigint };

/** The order of a listing. The two orders by waiters return only one page. */
export type ListOrder = "name" | "longest wait" | "most waiters";

/** The options of a listing of locks. */
export interface ListOptions {
  /** List locks whose names begin so; "" (the default): all. */
  readonly prefix?: string;
  /** List only locks with a holder or a waiter. */
  readonly busyOnly?: boolean;
  /** Only locks with a record that has this status, or one of these: along an index, so others cost nothing. Not with `busyOnly` or `order`. */
  readonly status?: string | readonly string[];
  /** Only locks with a record that has no attempts left; in any status, or in these. */
  readonly exhaustedOnly?: boolean;
  /** "name" by default. */
  readonly order?: ListOrder;
  /** Locks per page, at most 1,000; 0 (the default) means 100. */
  readonly pageSize?: number;
}

/** The client does not repeat a change that may have taken effect, as that could undo what others have set since. */
const CHANGE: Ask["repeat"] = "unsent";

const ORDERS: Readonly<Record<ListOrder, ProtoOrder>> = {
  name: ProtoOrder.NAME,
  "longest wait": ProtoOrder.LONGEST_WAIT,
  "most waiters": ProtoOrder.MOST_WAITERS,
};

/** The result of a force release. */
export interface ForceReleased {
  /** The claims, each with its end. */
  readonly ended: readonly ClaimView[];
  /** How many holders are left. */
  readonly remaining: number;
}

/** The result of a release. */
export interface Released {
  /** Whether this call ended it. */
  readonly released: boolean;
  /** Whether it had ended before, and no earlier try of this call can have ended it. */
  readonly hadEnded: boolean;
}

type ResultOf<Case extends Result["case"]> = Extract<Result, { case: Case }>["value"];

export class Verbs {
  readonly #calls: Calls;
  readonly #giveUpAfterMs: number;
  readonly #traceparent: () => string;

  /** `traceparent` returns the trace context of the caller at that moment; empty: none. */
  constructor(calls: Calls, giveUpAfterMs: number, traceparent: () => string = () => "") {
    this.#calls = calls;
    this.#giveUpAfterMs = giveUpAfterMs;
    this.#traceparent = traceparent;
  }

  /**
   * Ends a lease or gives up a place. Fails if no server answers within `withinMs`. If the server refuses what the
   * options say, the call ends the lease without that, but with the options `ifRefused`, and fails nevertheless.
   */
  async release(
    leaseId: string,
    options: ReleaseOptions = {},
    withinMs = Number.POSITIVE_INFINITY,
    traceparent = this.#traceparent(),
    ifRefused: ReleaseOptions = {},
  ): Promise<Released> {
    try {
      return await this.#release(leaseId, options, withinMs, traceparent);
    } catch (error) {
      if (!(error instanceof RowlockError)) throw error;
      const accepted = withoutRefused(options, error);
      if (!accepted) throw error;
      const { released } = await this.#release(leaseId, { ...accepted, ...ifRefused }, withinMs, traceparent);
      throw released ? error.givenBack() : error;
    }
  }

  async #release(
    leaseId: string,
    options: ReleaseOptions,
    withinMs: number,
    traceparent: string,
  ): Promise<Released> {
    const value = create(ReleaseRequestSchema, { leaseId, ...lastWordsOf(options) });
    const { answer, call } = this.#begin(
      { case: "release", value },
      "once open",
      "urgent",
      withinMs,
      traceparent,
    );
    const { released } = await answer;
    return { released, hadEnded: !released && call.timesSent === 1 };
  }

  async renew(leaseId: string, ttlMs?: number): Promise<Lease> {
    const ttl = ttlMs === undefined ? {} : { ttl: durationOf(ttlMs) };
    const value = create(RenewRequestSchema, { leaseId, ...ttl });
    return (await this.#ask({ case: "renew", value }, "always", "urgent")).lease as Lease;
  }

  /** `undefined` leaves a setting alone. */
  async setLimit(
    target: LimitTarget,
    limit: number | null | undefined,
    { rate, queueRules, ifVersion, reason = "" }: SetLimitOptions,
  ): Promise<LimitInForce> {
    const value = create(SetLimitRequestSchema, {
      target: limitTargetOf(target),
      ...(limit !== undefined && {
        newLimit: limit === null ? { case: "unsetLimit", value: {} } : { case: "limit", value: limit },
      }),
      ...(rate !== undefined && {
        newRate: rate === null ? { case: "unsetRate", value: {} } : { case: "rate", value: rateFields(rate) },
      }),
      ...(queueRules !== undefined && {
        newQueueRules:
          queueRules === null
            ? { case: "unsetQueueRules", value: {} }
            : { case: "queueRules", value: queueRulesFields(queueRules) },
      }),
      ...versionOf(ifVersion),
      reason,
    });
    const answer = await this.#ask({ case: "setLimit", value }, CHANGE);
    const { version, heldPermits, waiterCount, draining, serversBehind } = answer;
    return {
      limit: answer.limit,
      ...(answer.noLimit && { noLimit: true }),
      ...(answer.rate && { rate: rateView(answer.rate) }),
      ...(answer.queueRules && { queueRules: queueRulesView(answer.queueRules) }),
      version,
      heldPermits: Number(heldPermits),
      waiterCount: Number(waiterCount),
      draining,
      serversBehind,
      ...(answer.counting && { counting: true }),
    };
  }

  async updateRecord(name: string, changes: RecordChanges): Promise<RecordView> {
    const value = create(UpdateRecordRequestSchema, { name, ...changesOf(changes) });
    const { record } = await this.#ask({ case: "updateRecord", value }, CHANGE);
    return recordView(record as NonNullable<typeof record>);
  }

  async deleteRecord(
    name: string,
    { ifVersion, reason = "" }: Pick<RecordChanges, "ifVersion" | "reason">,
  ): Promise<boolean> {
    const value = create(DeleteRecordRequestSchema, { name, ...versionOf(ifVersion), reason });
    return (await this.#ask({ case: "deleteRecord", value }, CHANGE)).deleted;
  }

  async getLock(name: string): Promise<LockView> {
    const value = create(GetLockRequestSchema, { name });
    const { lock } = await this.#ask({ case: "getLock", value });
    return lockView(lock as NonNullable<typeof lock>);
  }

  async *listLocks(options: ListOptions): AsyncGenerator<LockView, void, undefined> {
    checkOptions(options, LIST);
    const { prefix = "", busyOnly = false, pageSize = 0, status = [], exhaustedOnly = false } = options;
    const statuses = [status].flat();
    const order = ORDERS[options.order ?? "name"];
    let pageToken = "";
    do {
      const asked = { prefix, busyOnly, order, pageSize, pageToken, statuses, exhaustedOnly };
      const value = create(ListLocksRequestSchema, asked);
      const page = await this.#ask({ case: "listLocks", value });
      yield* page.locks.map(lockView);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  async *listLimits(prefix: string): AsyncGenerator<LimitSetting, void, undefined> {
    let pageToken = "";
    do {
      const value = create(ListLimitsRequestSchema, { prefix, pageToken });
      const page = await this.#ask({ case: "listLimits", value });
      yield* page.limits.map(limitSettingView);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  async *listClaims(options: ListClaimsOptions): AsyncGenerator<ClaimView, void, undefined> {
    const fields = claimsFields(options);
    let pageToken = "";
    do {
      const value = create(ListClaimsRequestSchema, { ...fields, pageToken });
      const page = await this.#ask({ case: "listClaims", value });
      reportBegin(page, options.completeFrom);
      yield* page.claims.map(claimView);
      reportSearch(page, options.searched);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  async *listChanges(options: ListChangesOptions): AsyncGenerator<ChangeView, void, undefined> {
    const fields = changesFields(options);
    let pageToken = "";
    do {
      const value = create(ListChangesRequestSchema, { ...fields, pageToken });
      const page = await this.#ask({ case: "listChanges", value });
      reportBegin(page, options.completeFrom);
      yield* page.changes.map(changeView);
      reportSearch(page, options.searched);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  async explainWait(target: WaitTarget): Promise<WaitExplanation> {
    const value = create(ExplainWaitRequestSchema, { target: waitTargetOf(target) });
    return explanationView(await this.#ask({ case: "explainWait", value }));
  }

  async forceRelease({ name, ticketNumber }: ForceReleaseTarget, reason: string): Promise<ForceReleased> {
    const value = create(ForceReleaseRequestSchema, {
      target:
        ticketNumber === undefined
          ? { case: "name", value: name }
          : { case: "claim", value: { lockName: name, ticketNumber } },
      reason,
    });
    // For all holders, a repeated call would also end those who were granted the lock since the first one.
    const repeat = ticketNumber === undefined ? "unsent" : "always";
    const { ended, remaining } = await this.#ask({ case: "forceRelease", value }, repeat);
    return { ended: ended.map(claimView), remaining };
  }

  #ask<Asked extends Command["case"] & Result["case"]>(
    command: Extract<Command, { case: Asked }>,
    repeat?: Ask["repeat"],
    kind?: Ask["kind"],
  ): Promise<ResultOf<Asked>> {
    return this.#begin(command, repeat, kind).answer;
  }

  #begin<Asked extends Command["case"] & Result["case"]>(
    command: Extract<Command, { case: Asked }>,
    repeat: Ask["repeat"] = "always",
    kind: Ask["kind"] = "other",
    withinMs = Number.POSITIVE_INFINITY,
    traceparent = this.#traceparent(),
  ): { readonly answer: Promise<ResultOf<Asked>>; readonly call: Call } {
    const answer = Promise.withResolvers<ResultOf<Asked>>();
    const call = this.#calls.begin({
      kind,
      command: () => command,
      repeat,
      traceparent,
      giveUpAfterMs: () => Math.min(this.#giveUpAfterMs, withinMs),
      answered: (result) => {
        if (result.case === command.case) (answer.resolve as (value: unknown) => void)(result.value);
        else answer.reject(new Error(`${command.case} was answered by ${result.case}`));
        return true;
      },
      failed: answer.reject,
    });
    return { answer: answer.promise, call };
  }
}
