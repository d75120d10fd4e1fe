// The verbs that need a client but no held lock: limits, listings, and leases by their ids.

import type {
  ChangeView,
  ClaimedLockView,
  ClaimView,
  LimitInForce,
  LimitSetting,
  LimitTarget,
  LimitView,
  PoolView,
  RowlockClient,
  WaitCause,
} from "../src/index.ts";
import { endOf } from "./failure.ts";
import { queueRulesAsked, queueRulesOf } from "./queue-rules.ts";
import { givenRate, rateOf } from "./rates.ts";
import { recordOf, releaseOptionsOf } from "./record-verbs.ts";
import type { Command, Verb } from "./verb.ts";

export function operatorVerbs(clientOf: (command: Command) => RowlockClient): Readonly<Record<string, Verb>> {
  return {
    renewLease: async (asked) => {
      const { ttlMs } = asked;
      const {
        name,
        token,
        ttlMs: leftMs,
      } = await clientOf(asked).renew(asked.leaseId, {
        ...(ttlMs !== undefined && { ttl: ttlMs }),
      });
      return { name, token: String(token), ttlMs: leftMs ?? null };
    },
    releaseLease: async (asked) => ({
      released: await clientOf(asked).release(asked.leaseId, releaseOptionsOf(asked)),
    }),
    setLimit: async (asked) => {
      return inForceOf(await clientOf(asked).setLimit(targetOf(asked), asked.limit, changeOf(asked)));
    },
    setRate: async (asked) =>
      inForceOf(await clientOf(asked).setRate(targetOf(asked), givenRate(asked.rate), changeOf(asked))),
    unsetRate: async (asked) =>
      inForceOf(await clientOf(asked).setRate(targetOf(asked), null, changeOf(asked))),
    setQueueRules: async (asked) =>
      inForceOf(
        await clientOf(asked).setQueueRules(
          eachOf(asked),
          queueRulesAsked(asked.queueRules),
          changeOf(asked),
        ),
      ),
    unsetQueueRules: async (asked) =>
      inForceOf(await clientOf(asked).setQueueRules(eachOf(asked), null, changeOf(asked))),
    getLock: async (asked) => {
      const { limit, rate, queueRules, holders, waiters, lastToken, record, pools, ...lock } = await clientOf(
        asked,
      ).getLock(asked.name);
      return {
        ...lock,
        ...limitOf(limit),
        ...(rate && { rate: rateOf(rate) }),
        ...(queueRules && { queueRules: queueRulesOf(queueRules) }),
        lastToken: String(lastToken),
        holders: holders.map(claimOf),
        waiters: waiters.map(claimOf),
        ...(record && { record: recordOf(record) }),
        ...(pools && { pools: pools.map(poolOf) }),
      };
    },
    listLocks: async (asked) => {
      const { prefix, busyOnly, statuses, exhaustedOnly, order } = asked;
      const names: string[] = [];
      const found = clientOf(asked).listLocks({
        prefix,
        ...(busyOnly !== undefined && { busyOnly }),
        ...(statuses !== undefined && { status: statuses }),
        ...(exhaustedOnly !== undefined && { exhaustedOnly }),
        ...(order !== undefined && { order }),
      });
      for await (const { name } of found) names.push(name);
      return { names };
    },
    listLimits: async (asked) => {
      const limits: object[] = [];
      for await (const setting of clientOf(asked).listLimits({ prefix: asked.prefix }))
        limits.push(settingOf(setting));
      return { limits };
    },
    listClaims: async (asked) => {
      const { name, prefix, owner } = asked;
      const claims: object[] = [];
      for await (const claim of clientOf(asked).listClaims({ name, prefix, owner })) {
        const { lockName, state, end } = claim;
        claims.push({ ...claimOf(claim), lockName, state, ...(end && { end: endOf(end) }) });
      }
      return { claims };
    },
    listChanges: async (asked) => {
      const { name, prefix } = asked;
      const changes: object[] = [];
      for await (const { changedAt: _, ...change } of clientOf(asked).listChanges({ name, prefix }))
        changes.push(changedOf(change));
      return { changes };
    },
    explainWait: async (asked) => {
      const { name, ticketNumber } = asked;
      const target = { name, ...(ticketNumber !== undefined && { ticketNumber: BigInt(ticketNumber) }) };
      const { claim, causes, summary } = await clientOf(asked).explainWait(target);
      return { ...(claim && { owner: claim.owner }), causes: causes.map(causeOf), summary };
    },
    forceRelease: async (asked) => {
      const { name, ticketNumber, reason } = asked;
      const target = { name, ...(ticketNumber !== undefined && { ticketNumber: BigInt(ticketNumber) }) };
      const { ended, remaining } = await clientOf(asked).forceRelease(target, reason);
      return { ended: ended.length, remaining };
    },
  };
}

function targetOf(asked: Command): LimitTarget {
  return asked.pool === undefined ? eachOf(asked) : { pool: asked.pool };
}

/** What has settings for each name by itself. */
function eachOf({ name, pattern }: Command): Exclude<LimitTarget, { readonly pool: string }> {
  return name === undefined ? { pattern } : { name };
}

function changeOf({ ifVersion, reason }: Command) {
  return {
    ...(ifVersion !== undefined && { ifVersion: BigInt(ifVersion) }),
    ...(reason !== undefined && { reason }),
  };
}

function inForceOf({ rate, queueRules, version, ...inForce }: LimitInForce): object {
  return {
    ...inForce,
    version: String(version),
    ...(rate && { rate: rateOf(rate) }),
    ...(queueRules && { queueRules: queueRulesOf(queueRules) }),
  };
}

function changedOf(change: Omit<ChangeView, "changedAt">): object {
  const view = change as ChangeView;
  if (view.kind === "limit") {
    const { rateFrom, rateTo, queueRulesFrom, queueRulesTo, ...limit } = view;
    return {
      ...limit,
      ...(rateFrom && { rateFrom: rateOf(rateFrom) }),
      ...(rateTo && { rateTo: rateOf(rateTo) }),
      ...(queueRulesFrom && { queueRulesFrom: queueRulesOf(queueRulesFrom) }),
      ...(queueRulesTo && { queueRulesTo: queueRulesOf(queueRulesTo) }),
    };
  }
  if (view.kind === "record") {
    const { from, to } = view;
    return { ...view, from: from && recordOf(from), to: to && recordOf(to) };
  }
  if (view.kind !== "forced release") return view;
  return { ...view, claim: { ...view.claim, ticketNumber: String(view.claim.ticketNumber) } };
}

function claimOf(claim: ClaimView): object {
  const { owner, principal, token, permits, mode, ticketNumber, labels, spendOnly, pool, also } = claim;
  return {
    owner,
    ...(principal !== undefined && { principal }),
    ...(token !== undefined && { token: String(token) }),
    permits,
    mode,
    ticketNumber: String(ticketNumber),
    labels,
    ...(spendOnly && { spendOnly }),
    ...(pool !== undefined && { pool }),
    ...(also && { also: also.map(claimedLockOf) }),
  };
}

function claimedLockOf({ token, ...claimed }: ClaimedLockView): object {
  return { ...claimed, ...(token !== undefined && { token: String(token) }) };
}

function causeOf({ lockName, ...cause }: WaitCause): object {
  return { ...causeAlone(cause), ...(lockName !== undefined && { lockName }) };
}

function causeAlone(cause: WaitCause): object {
  const owners = (claims: readonly ClaimView[]) => claims.map(({ owner }) => owner);
  switch (cause.kind) {
    case "held":
      return { kind: cause.kind, holders: owners(cause.holders), holderCount: cause.holderCount };
    case "queued":
      return { kind: cause.kind, ahead: cause.ahead, first: owners(cause.first) };
    case "limit":
      return { kind: cause.kind, limit: cause.limit.permits };
    case "rate":
      return { kind: cause.kind, rate: rateOf(cause.rate), isForEver: cause.until === undefined };
    case "pool":
      return { kind: cause.kind, ...poolOf(cause.pool), waitsHere: cause.waitsHere, ahead: cause.ahead };
    case "status":
      return { kind: cause.kind, status: cause.status };
    default:
      return { kind: cause.kind };
  }
}

function poolOf({ pattern, limit, rate, use }: PoolView): object {
  return { pattern, ...(limit && { limit: limit.permits }), ...(rate && { rate: rateOf(rate) }), use };
}

function limitOf({ permits, source }: LimitView): object {
  return { limit: permits, limitSource: source };
}

function settingOf({ version, rate, queueRules, ...setting }: LimitSetting): object {
  return {
    ...setting,
    version: String(version),
    ...(rate && { rate: rateOf(rate) }),
    ...(queueRules && { queueRules: queueRulesOf(queueRules) }),
  };
}
