// A client without a library: the bare calls, repeated with their request ids at one server after the other, and leases
// kept by the rule of the contract with a margin of 0. Reads commands and writes answers and events like the conformance
// drivers of the languages (test/clients/conformance/README.md); knows those commands that a run of faults sends.

import { createInterface } from "node:readline";
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { ClaimState, EndReason, Mode, type Rate, WhenFull } from "#proto/rowlock/v1/lock_pb.js";
import { tlsOf } from "../../../clients/typescript/conformance/tls-files.ts";
import type { Command, Verb } from "../../../clients/typescript/conformance/verb.ts";
import {
  BareCalls,
  type RequestOf,
  type ResponseOf,
  RowlockError,
} from "../../../clients/typescript/src/bare/index.ts";
import { monotonicMs } from "../history/clock.ts";
import { KeptLease, lasting, msOf, ttlOf, usOf } from "./kept-lease.ts";
import { type Refused, Repeated } from "./repeated.ts";

const MODES: Readonly<Record<string, Mode>> = {
  permit: Mode.PERMIT,
  shared: Mode.SHARED,
  exclusive: Mode.EXCLUSIVE,
};
/** Longer than a server waits for the others. */
const POOL_MS = 9_000;
let calls: Repeated;
let owner = "";
const leases = new Map<string, KeptLease>();

const verbs: Readonly<Record<string, Verb>> = {
  async connect(asked) {
    const options = { tls: tlsOf(asked.tls), headers: { authorization: `Bearer ${asked.token}` } };
    calls = new Repeated(asked.addresses.map((address: string) => new BareCalls(address, options)));
    owner = asked.owner;
    return {};
  },
  async acquire(
    { lock, name, mode, permits, also = [], labels = {}, requestId, ttlMs, waitMs, isDoubled },
    answer,
  ) {
    const terms = { owner, labels, lasting: lasting(ttlMs) };
    const further = also.map((each: Command) => ({ ...each, mode: MODES[each.mode] as Mode }));
    const acquire = { name, mode: MODES[mode] as Mode, permits, also: further, requestId, terms };
    const [outcome, other] = isDoubled
      ? await calls.acquireTwice(acquire)
      : [await (waitMs === 0 ? calls.acquire(acquire) : calls.wait(acquire, waitMs))];
    const grantedToo = other && "lease" in other ? String(other.lease.fencingToken) : undefined;
    if ("refusal" in outcome) return refused(outcome);
    const toldMs = monotonicMs();
    const kept = await KeptLease.confirmed(outcome, calls, (atMs) => lost(lock, atMs));
    if (kept === "gone") return { refused: { reason: "LEASE_LOST", toldMs } };
    if (kept === "late") return { refused: { reason: "LEASE_LOST" } };
    leases.set(lock, kept);
    const { token, tokens, leaseId } = kept;
    const granted = { token, tokens: Object.fromEntries(tokens), leaseId };
    answer({ granted, ...(grantedToo && { grantedToo }) });
    return undefined;
  },
  async spend({ name, permits, requestId, waitMs, isStreamed, isAgain }) {
    if (isAgain) calls.next();
    const asked = { name, mode: Mode.PERMIT, permits, requestId, terms: { owner } };
    const outcome = await calls.spend(asked, waitMs, isStreamed);
    if ("refusal" in outcome) return refused(outcome);
    const { fencingToken, spentAt } = outcome;
    return { spent: { token: String(fencingToken), permits, requestId, grantedUs: usOf(spentAt) } };
  },
  async capture({ lock, prefix, requestId, ttlMs, waitMs, statusIfLost, ifStatus }) {
    const request = {
      from: { case: "prefix", value: prefix } as const,
      maxLeases: 1,
      requestId,
      terms: { owner, lasting: lasting(ttlMs), ifStatus, statusIfLost },
      maxWait: ttlOf(waitMs),
    };
    const { taken, isRepeated } = await calls.capture(request, waitMs);
    const captured = [];
    for (const [index, outcome] of taken.entries()) {
      const handle = `${lock}${index}`;
      const { lockName: name, fencingToken, leaseId } = outcome.lease;
      const kept = await KeptLease.confirmed(outcome, calls, (atMs) => lost(handle, atMs));
      const isLost = typeof kept === "string";
      if (!isLost) leases.set(handle, kept);
      captured.push({ lock: handle, name, token: String(fencingToken), leaseId, isLost });
    }
    return { captured, isRepeated };
  },
  async release({ lock, status, coolDownMs }) {
    const kept = leases.get(lock);
    if (!kept) throw new Error(`There is no lease ${lock}.`);
    leases.delete(lock);
    kept.stop();
    const { released } = await calls.repeat("release", {
      leaseId: kept.leaseId,
      ...(status !== undefined && { status }),
      ...(coolDownMs !== undefined && { coolDown: ttlOf(coolDownMs) }),
    });
    return { released };
  },
  async getLock({ name }) {
    const { lock } = await calls.repeat("getLock", { name });
    const record = lock?.record;
    const rate = rateOf(lock?.rate?.rate);
    return {
      limit: lock?.limit?.permits,
      ...(rate && { rate }),
      holderCount: lock?.holderCount,
      waiting: lock?.waiterCount,
      lastToken: String(lock?.lastFencingToken),
      ...(record && {
        record: { status: record.status, attemptsLeft: record.attemptsLeft, version: String(record.version) },
      }),
    };
  },
  async updateRecord({ name, status, attemptsLeft, notBeforeInMs, ifVersion }) {
    const { record } = await calls.once("updateRecord", {
      name,
      ...(status !== undefined && { status }),
      ...(attemptsLeft !== undefined && {
        newAttemptsLeft: { case: "attemptsLeft", value: attemptsLeft } as const,
      }),
      ...(notBeforeInMs !== undefined && {
        newNotBefore: { case: "notBeforeIn", value: ttlOf(notBeforeInMs) } as const,
      }),
      ...(ifVersion !== undefined && { expectedVersion: BigInt(ifVersion) }),
    });
    return { status: record?.status, version: String(record?.version) };
  },
  async deleteRecord({ name, ifVersion }) {
    const { deleted } = await calls.once("deleteRecord", { name, expectedVersion: BigInt(ifVersion) });
    return { deleted };
  },
  setLimit: (asked) => {
    const { limit } = asked;
    const newLimit = limit === null ? { case: "unsetLimit", value: {} } : { case: "limit", value: limit };
    return set(asked, { newLimit });
  },
  setRate: (asked) => {
    const { permits, perMs, burst } = asked.rate;
    return set(asked, { newRate: { case: "rate", value: { permits, per: ttlOf(perMs), burst } } });
  },
  setQueueRules: (asked) => {
    const { waitingMax = 0, whenFull, shareBy = "" } = asked.queueRules;
    const ends = whenFull === "end longest waiting";
    const value = { waitingMax, whenFull: ends ? WhenFull.END_LONGEST_WAITING : WhenFull.REFUSE, shareBy };
    return set(asked, { newQueueRules: { case: "queueRules", value } });
  },
  unsetRate: (asked) => set(asked, { newRate: { case: "unsetRate", value: {} } }),
  async setPool({ pool, limit, rate }) {
    const { serversBehind, counting } = await calls.once(
      "setLimit",
      {
        target: { case: "pool", value: pool },
        newLimit:
          limit === null
            ? { case: "unsetLimit", value: create(EmptySchema) }
            : { case: "limit", value: limit },
        newRate: rate
          ? { case: "rate", value: { permits: rate.permits, per: ttlOf(rate.perMs), burst: rate.burst } }
          : { case: "unsetRate", value: create(EmptySchema) },
        reason: "a run",
      },
      POOL_MS,
    );
    return { serversBehind, counting };
  },
  async listPools() {
    const { limits } = await calls.repeat("listLimits", { pageSize: 1_000 });
    return {
      pools: limits.flatMap(({ target, limit, rateOnly, rate, use }) =>
        target.case === "pool"
          ? {
              target: target.value,
              limit: rateOnly ? null : limit,
              rate: rateOf(rate),
              permits: Number(use?.heldPermits),
              waiting: use?.waiterCount,
              isWhole: use?.counting === false,
            }
          : [],
      ),
    };
  },
  async listSets() {
    const claims = [];
    for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
      const states = [ClaimState.HELD, ClaimState.ENDED];
      const answer: ResponseOf<"listClaims"> = await calls.repeat("listClaims", {
        ...{ states, pageSize: 200, pageToken },
      });
      for (const {
        lockName: lock,
        fencingToken,
        ticketNumber,
        owner,
        also,
        grantedAt,
        end,
      } of answer.claims) {
        if (also.length === 0) continue;
        claims.push({
          ...{ lock, owner, token: String(fencingToken), ticket: String(ticketNumber) },
          also: also.map((other) => ({ lock: other.lockName, token: String(other.fencingToken) })),
          grantedUs: usOf(grantedAt),
          ...(end && { endReason: EndReason[end.reason], endedUs: usOf(end.endedAt) }),
        });
      }
      pageToken = answer.nextPageToken || undefined;
    }
    return { claims };
  },
  async listPoolChanges() {
    const changes = [];
    for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
      const answer: ResponseOf<"listChanges"> = await calls.repeat("listChanges", {
        pageSize: 200,
        pageToken,
      });
      for (const { target, what } of answer.changes) {
        if (target.case !== "pool" || what.case !== "limit") continue;
        const { from, to, rateFrom, rateTo } = what.value;
        const text = (...set: unknown[]) => JSON.stringify(set);
        const before = text(from, rateOf(rateFrom));
        changes.push({ target: target.value, before, after: text(to, rateOf(rateTo)) });
      }
      pageToken = answer.nextPageToken || undefined;
    }
    return { changes };
  },
  async forceRelease({ name, reason }) {
    const target = { case: "name", value: name } as const;
    const { ended, remaining } = await calls.once("forceRelease", { target, reason });
    return { ended: ended.length, remaining };
  },
};

async function set({ name, pattern }: Command, setting: object) {
  const target = name === undefined ? { case: "pattern", value: pattern } : { case: "name", value: name };
  const request = { target, ...setting, reason: "a run" } as RequestOf<"setLimit">;
  const { version, serversBehind } = await calls.once("setLimit", request);
  return { version: String(version), serversBehind };
}

function rateOf(rate: Rate | undefined) {
  return rate ? { permits: rate.permits, perMs: msOf(rate.per), burst: rate.burst } : null;
}

function refused({ refusal: reason, ...more }: Refused) {
  return { refused: { reason, ...more } };
}

function lost(lock: string, atMs: number): void {
  leases.delete(lock);
  say({ event: "state", lock, state: "lost", atMs });
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function run(command: Command): Promise<void> {
  const { id } = command;
  try {
    const verb = verbs[command.do];
    if (!verb) throw new Error(`There is no command ${command.do}.`);
    const result = await verb(command, (early) => say({ id, result: early }));
    if (result) say({ id, result });
  } catch (error) {
    const { reason = "", code = "", message = String(error) } = error instanceof RowlockError ? error : {};
    say({ id, error: { reason, code, message } });
  }
}

for await (const line of createInterface(process.stdin)) void run(JSON.parse(line));
process.exit(0);
