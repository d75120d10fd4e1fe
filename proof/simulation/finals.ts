// The end of a run: a new request must be granted, everything comes to rest, and then what is there is written down.

import { toJsonString } from "@bufbuild/protobuf";
import {
  type Change,
  ClaimState,
  EndReason,
  type LockRecord,
  LockRecordSchema,
  type QueueRules,
  Mode as WireMode,
  type Rate as WireRate,
} from "#proto/rowlock/v1/lock_pb.js";
import type { WatchLocksResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { poolName, poolPrefix } from "../../server/core/pools.ts";
import type { Store } from "../../server/storage/store.ts";
import { poolsOf } from "../faults/checker/pool-settings.ts";
import { wronglyRested } from "../faults/checker/rests.ts";
import { msOf, ttlOf, usOf } from "../faults/clients/kept-lease.ts";
import type { History, Mode, Noted, Rate } from "../faults/history/history.ts";
import { SimClient, sleep } from "./clients/client.ts";
import type { House } from "./house.ts";
import { BRIEF } from "./servers/server.ts";
import { GROUP } from "./share-steps.ts";
import { COUNTERS, ERASED, LOCKS, TTL_MS } from "./steps.ts";

/** For leases that nobody releases, places of clients that are gone, and tasks to be done again. */
const QUIET_MS_MAX = 30_000;
/** For the slowest watch, after everything has come to rest. */
const WATCHED_MS = 3_000;
/** More than a new request may take. */
const HEALED_MS = TTL_MS + 6_000;
const LOOK_MS = 400;
const FINDINGS_MAX = 20;
/** Of what a database that loses commits may lack. */
export const FORGOTTEN = "pools: the rules do not know of the pool";
/** The limit of pools at the end. */
const RESUMED = 3;
const WATCH_AGAIN_MS = 50;

type Told = ReadonlyMap<string, { readonly lastToken: string; readonly holders: number }>;

/** A client beside those that do steps; it is not disturbed. */
export function observer({ world, network, history }: House, name: string, index: number): SimClient {
  return new SimClient({ world, network, history, store: undefined as never, name, index });
}

/** Keeps a watch of all locks open, at one server after the other. Returns what it has told. */
export function watch({ world }: House, client: SimClient): () => Told {
  const told = new Map<string, { lastToken: string; holders: number }>();
  const take = ({ beganAnew, locks, deleted }: WatchLocksResponse) => {
    if (beganAnew) told.clear();
    for (const { name, lastFencingToken, holderCount } of locks)
      told.set(name, { lastToken: String(lastFencingToken), holders: holderCount });
    for (const name of deleted) told.delete(name);
  };
  const run = async () => {
    for (;;) {
      try {
        for await (const message of client.calls.watch({ prefix: "" })) take(message);
      } catch (error) {
        if (!(error instanceof RowlockError)) throw error;
      }
      client.calls.next();
      await sleep(WATCH_AGAIN_MS);
    }
  };
  world.at(client.process, 0, () => void run());
  return () => told;
}

/** After the last fault: a request for an unused name. */
export async function heal({ world, history }: House, client: SimClient): Promise<void> {
  const startMs = world.nowMs;
  const requestId = client.id();
  const asked = {
    name: `healed/${requestId}`,
    requestId,
    permits: 1,
    mode: 1,
    terms: { lasting: { case: "ttl" as const, value: ttlOf(TTL_MS) }, owner: client.name },
  };
  // It waits, because nothing is granted for a while after a fail-over.
  const outcome = await client.calls.wait(asked, HEALED_MS).then(
    (answer) => ("lease" in answer ? answer.lease : null),
    (error: unknown) => {
      if (!(error instanceof RowlockError)) throw error;
      return null;
    },
  );
  const end = { startMs, endMs: world.nowMs, outcome: outcome ? "granted" : "unknown" } as const;
  history.add({ did: "heal", who: client.name, ...end });
  if (outcome) await client.calls.repeat("release", { leaseId: outcome.leaseId });
}

/** Returns what is wrong with the rows. */
export async function finals(
  house: House,
  client: SimClient,
  watches: readonly (() => Told)[],
): Promise<string[]> {
  const { world, history } = house;
  await resume(history, client);
  const rested = wronglyRested(history);
  const tasks = history.of("make").map(({ task }) => task);
  const awaited = tasks.filter((task) => !rested.has(task));
  const untilMs = world.nowMs + QUIET_MS_MAX;
  const named = [...LOCKS, ...COUNTERS, ERASED];
  const spent = history.of("acquire").flatMap(({ lock }) => (named.includes(lock) ? [] : lock));
  const all = [...named, ...new Set(spent), ...tasks];
  const looked = new Map<string, Looked>();
  const isBusy = (name: string, { holders, waiting, status, attemptsLeft }: Looked) =>
    holders + waiting > 0 ||
    (awaited.includes(name) && status !== null && status !== "done" && attemptsLeft !== 0);
  // A lock may still change after it was at rest: nobody waited for tasks that rest, a server may grant late what a client
  // gave up, and a call that was under way for long may make a task late.
  for (let hasMoved = true; hasMoved && world.nowMs <= untilMs; ) {
    for (let busy = all; busy.length > 0 && world.nowMs <= untilMs; ) {
      for (const name of busy) looked.set(name, await look(house, client, name));
      busy = busy.filter((name) => isBusy(name, looked.get(name) as Looked));
      if (busy.some((name) => awaited.includes(name)))
        await client.work({ waitMs: 200, workMs: 1, max: 2, restMs: 0 });
      else if (busy.length > 0) await sleep(LOOK_MS);
    }
    await sleep(watches.length > 0 ? WATCHED_MS : LOOK_MS);
    hasMoved = false;
    for (const [name, before] of looked) {
      const now = await look(house, client, name);
      if (now.lastToken !== before.lastToken || isBusy(name, now)) hasMoved = true;
      looked.set(name, now);
    }
  }
  const granted = new Set(
    history
      .of("acquire")
      .filter(({ outcome }) => outcome === "granted")
      .map(({ lock }) => lock),
  );
  for (const [lock, state] of looked) {
    // A lock that was deleted meanwhile is told anew.
    const isForgetful = lock.startsWith(BRIEF);
    history.add({ did: "final", who: client.name, lock, ...state, ...(isForgetful && { isForgetful }) });
    if (!isForgetful) {
      for (const told of watches) {
        // Nobody has got it, and it was deleted as idle: nothing to tell, although its tokens begin where others ended.
        if (!told().has(lock) && !granted.has(lock)) continue;
        const { lastToken = null, holders = null } = told().get(lock) ?? {};
        history.add({
          did: "watch",
          who: "",
          lock,
          startMs: world.nowMs,
          endMs: world.nowMs,
          lastToken,
          holders,
        });
      }
    }
  }
  await lookAtPools(house, client, untilMs);
  await list(house, client);
  await note(house, client);
  const [server] = house.network.servers;
  const findings = (await server?.store.checkInvariants(FINDINGS_MAX)) ?? [];
  const wrong = findings
    .filter(({ severity }) => severity === "error")
    .map(({ check, message }) => `${check}: ${message}`);
  return server ? [...wrong, ...(await forgottenPools(history, server.store))] : wrong;
}

/** Pools that are set and that no server knows of, if each call that set one was answered. */
async function forgottenPools(history: History, store: Store): Promise<string[]> {
  const settings = history.of("pool");
  if (settings.length === 0 || settings.some(({ outcome }) => outcome === "unknown")) return [];
  const known = new Set((await store.limitRules()).map(({ poolId }) => poolId));
  const all = { prefix: poolName(""), afterName: null, which: "all", max: PAGE } as const;
  const { locks } = await store.list(all);
  return locks
    .filter(({ id, limit, rate }) => (limit !== null || rate !== null) && !known.has(id))
    .map(({ name }) => `${FORGOTTEN} ${poolPrefix(name)}*, which is set`);
}

type Looked = Awaited<ReturnType<typeof look>>;

async function look({ world }: House, client: SimClient, name: string) {
  const startMs = world.nowMs;
  const { lock } = await client.calls.repeat("getLock", { name });
  if (!lock) throw new Error("There is no answer.");
  const { limit, rate, holderCount, waiterCount: waiting, lastFencingToken, record } = lock;
  return {
    startMs,
    endMs: world.nowMs,
    limit: limit?.permits ?? 0,
    rate: rateOf(rate?.rate),
    holders: holderCount,
    waiting,
    lastToken: String(lastFencingToken),
    status: record?.status ?? null,
    version: record ? String(record.version) : null,
    attemptsLeft: record?.attemptsLeft ?? null,
  };
}

/** Lets go on who waits at a pool: at one that is paused, tasks would stay for ever. */
async function resume(history: History, client: SimClient): Promise<void> {
  for (const { target, limit, rate } of await poolsInForce(history, client))
    if (limit === 0 || rate) await client.setPool({ target, limit: RESUMED, rate: null });
}

async function lookAtPools({ world, history }: House, client: SimClient, untilMs: number): Promise<void> {
  let pools = await poolsInForce(history, client);
  for (
    ;
    pools.some(({ isWhole }) => !isWhole) && world.nowMs <= untilMs;
    pools = await poolsInForce(history, client)
  )
    await sleep(LOOK_MS);
  const call = { did: "final pool", who: client.name, startMs: world.nowMs, endMs: world.nowMs } as const;
  const none = { limit: null, rate: null, permits: 0, waiting: 0, isWhole: true };
  for (const target of poolsOf(history))
    history.add({ ...call, ...none, target, ...pools.find((pool) => pool.target === target) });
}

async function poolsInForce(history: History, client: SimClient) {
  // Most runs have none.
  if (poolsOf(history).length === 0) return [];
  const { limits } = await client.calls.repeat("listLimits", { pageSize: PAGE });
  return limits.flatMap(({ target, limit, rateOnly, rate, use }) =>
    target.case === "pool"
      ? {
          target: target.value,
          limit: rateOnly ? null : limit,
          rate: rateOf(rate),
          permits: Number(use?.heldPermits),
          waiting: use?.waiterCount ?? 0,
          isWhole: use?.counting === false,
        }
      : [],
  );
}

/** All leases that are kept, as a client that lists them is told. */
async function list({ world, history }: House, client: SimClient): Promise<void> {
  for (let pageToken = ""; ; ) {
    const startMs = world.nowMs;
    const states = [ClaimState.HELD, ClaimState.ENDED];
    const call = { who: client.name, startMs };
    const answer = await client.calls.repeat("listClaims", { states, pageSize: PAGE, pageToken });
    for (const {
      lockName: lock,
      fencingToken,
      ticketNumber,
      state,
      owner,
      mode,
      permits,
      grantedAt,
      end,
      also,
      labels,
      requestedAt,
    } of answer.claims) {
      const requestedUs = usOf(requestedAt);
      const group = labels[GROUP];
      const share = group !== undefined && requestedUs !== undefined && { group, requestedUs };
      const others = also.length > 0 && {
        also: also.map((other) => ({ lock: other.lockName, token: String(other.fencingToken) })),
      };
      const endedUs = usOf(end?.endedAt);
      if (fencingToken === 0n) {
        if (endedUs === undefined) continue;
        const unserved = { lock, ticket: String(ticketNumber), owner, endedUs };
        const why = { endReason: EndReason[end?.reason ?? 0] as string };
        const beside = others && { also: others.also.map((other) => other.lock) };
        history.add({
          did: "unserved",
          ...call,
          ...unserved,
          ...why,
          ...beside,
          ...share,
          endMs: world.nowMs,
        });
        continue;
      }
      const of = { token: String(fencingToken), ticket: String(ticketNumber), owner, permits };
      const grantedUs = usOf(grantedAt);
      const isHeld = state === ClaimState.HELD;
      const ended = endedUs !== undefined && { endedUs };
      const now = isHeld
        ? ({ state: "held" } as const)
        : ({ state: "ended", endReason: EndReason[end?.reason ?? 0] as string, ...ended } as const);
      const when = grantedUs !== undefined && { grantedUs };
      const shown = { ...of, mode: MODE_OF[mode] as Mode, ...when, ...now, ...others, ...share };
      history.add({ did: "list", ...call, lock, endMs: world.nowMs, ...shown });
    }
    pageToken = answer.nextPageToken;
    if (pageToken === "") return;
  }
}

/** All changes, the oldest first. */
async function note({ world, history }: House, client: SimClient): Promise<void> {
  const notes: Noted[] = [];
  for (let pageToken = ""; ; ) {
    const startMs = world.nowMs;
    const answer = await client.calls.repeat("listChanges", { pageSize: PAGE, pageToken });
    for (const { target, what } of answer.changes) {
      const call = { did: "note", who: client.name, startMs, endMs: world.nowMs } as const;
      const ofPool = target.case === "pool" && { kind: "pool" };
      notes.push({ ...call, target: target.value ?? "", ...noted(what), ...ofPool });
    }
    pageToken = answer.nextPageToken;
    if (pageToken === "") break;
  }
  for (const each of notes.toReversed()) history.add(each);
}

const PAGE = 200;
const MODE_OF: Readonly<Record<number, Mode>> = {
  [WireMode.PERMIT]: "permit",
  [WireMode.SHARED]: "shared",
  [WireMode.EXCLUSIVE]: "exclusive",
};
/** As the checker compares it: what was before, and after, as text; "": nothing. */
function noted({ case: kind, value }: Change["what"]): Pick<Noted, "kind" | "before" | "after"> {
  switch (kind) {
    case "limit":
      return {
        kind,
        before: limitText(value.from, value.rateFrom, value.queueRulesFrom),
        after: limitText(value.to, value.rateTo, value.queueRulesTo),
      };
    case "record":
      return { kind, before: recordText(value.from), after: recordText(value.to) };
    case "forcedRelease":
      return { kind: "forced release", before: "", after: "" };
    default:
      return { kind: "", before: "", after: "" };
  }
}

function limitText(
  limit: number | undefined,
  rate: WireRate | undefined,
  rules: QueueRules | undefined,
): string {
  const ofRate = rate ? `at ${JSON.stringify(rateOf(rate))}` : "";
  const ofQueue = rules ? `${rules.waitingMax} ${rules.whenFull} ${rules.shareBy}` : "";
  return [limit ?? "", ofRate, ofQueue].join(" ").trim();
}

function rateOf(rate: WireRate | undefined): Rate | null {
  return rate ? { permits: rate.permits, perMs: msOf(rate.per), burst: rate.burst } : null;
}

function recordText(record: LockRecord | undefined): string {
  return record ? toJsonString(LockRecordSchema, record) : "";
}
