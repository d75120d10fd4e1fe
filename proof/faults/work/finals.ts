// The end of a run: a new request must be granted, everything comes to rest, and then what is there is written down.

import { setTimeout as sleep } from "node:timers/promises";
import { wronglyRested } from "../checker/rests.ts";
import { type Client, Failed } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import type { Mode, Rate } from "../history/history.ts";
import { lookAtPools, resumePools } from "./pools.ts";
import { groupAt } from "./queue-rules.ts";
import { type Run, TTL_MS } from "./run.ts";
import { TASKS, work } from "./tasks.ts";

/** For leases that nobody releases, places of clients that are gone, and tasks to be done again. */
const QUIET_MS_MAX = 120_000;
/** For a new request: after a promotion, nothing is granted for a ttl. */
const HEALED_MS = 10_000;
/** For the slowest watch, after everything has come to rest. */
const WATCHED_MS = 3_000;
const POLL_MS = 200;

export async function finals(run: Run, locks: readonly string[]): Promise<void> {
  const { history, clients } = run;
  const client = clients[0] as Client;
  await healed(run, client);
  await resumePools(run);
  const untilMs = monotonicMs() + QUIET_MS_MAX;
  const tasks = history.of("make").map(({ task }) => task);
  const rested = wronglyRested(history);
  const isQuiet = quietOf(rested);
  // What is left of the tasks is done when all faults are over.
  let areDone = false;
  const rest = { ...run, isOver: () => areDone || monotonicMs() > untilMs };
  const workers = clients.map((each) => work(rest, each));
  const looked = await lookUntilQuiet(client, [...locks, ...tasks], isQuiet, untilMs);
  areDone = true;
  await Promise.all(workers);
  // What did not come to rest in time, or was not waited for, has moved on since.
  for (const [name, state] of looked)
    if (rested.has(name) || !isQuiet(name, state)) looked.set(name, await look(client, name));
  await sleep(WATCHED_MS);
  for (const [lock, { startMs, endMs, ...state }] of looked)
    history.add({ did: "final", who: client.name, lock, startMs, endMs, ...state });
  for (const watching of clients.filter(({ isBare }) => !isBare)) {
    for (const lock of looked.keys()) {
      const told = watching.told.get(lock);
      const [startMs, endMs] = [monotonicMs(), monotonicMs()];
      const { lastToken = null, holders = null } = told ?? {};
      history.add({ did: "watch", who: watching.name, lock, startMs, endMs, lastToken, holders });
    }
  }
  await lookAtPools(run);
  await listed(run, locks);
  await noted(run);
}

async function healed({ history }: Run, client: Client): Promise<void> {
  const startMs = monotonicMs();
  const handle = client.id();
  const asked = { do: "acquire", lock: handle, name: handle, mode: "permit", permits: 1, requestId: handle };
  const outcome = await client.ask({ ...asked, ttlMs: TTL_MS, waitMs: HEALED_MS }).then(
    ({ granted }) => (granted ? ("granted" as const) : ("unknown" as const)),
    (error: unknown) => {
      if (!(error instanceof Failed)) throw error;
      return "unknown" as const;
    },
  );
  history.add({ did: "heal", who: client.name, startMs, endMs: monotonicMs(), outcome });
  if (outcome === "granted") await client.ask({ do: "release", lock: handle });
}

interface Look {
  readonly startMs: number;
  readonly endMs: number;
  readonly limit: number;
  /** undefined: the client does not say. */
  readonly rate?: Rate | null;
  readonly holders: number;
  readonly waiting: number;
  readonly lastToken: string;
  readonly status: string | null;
  readonly version: string | null;
  readonly attemptsLeft: number | null;
}

async function lookUntilQuiet(
  client: Client,
  names: readonly string[],
  isQuiet: ReturnType<typeof quietOf>,
  untilMs: number,
): Promise<Map<string, Look>> {
  const looked = new Map<string, Look>();
  let busy = [...names];
  while (busy.length > 0) {
    for (const name of busy) looked.set(name, await look(client, name));
    busy = busy.filter((name) => !isQuiet(name, looked.get(name) as Look));
    if (monotonicMs() > untilMs) break;
    if (busy.length > 0) await sleep(POLL_MS);
  }
  return looked;
}

/** `rested`: tasks that nobody waits for. */
function quietOf(rested: ReadonlySet<string>) {
  return (name: string, { holders, waiting, status }: Look): boolean => {
    const isDone = status === null || status === "done" || rested.has(name);
    return holders === 0 && waiting === 0 && (isDone || !isTask(name));
  };
}

const isTask = (name: string) => name.startsWith(TASKS);

async function look(client: Client, name: string): Promise<Look> {
  const startMs = monotonicMs();
  const lock = await client.ask({ do: "getLock", name });
  const record = lock.record as { status: string; version: string; attemptsLeft?: number } | undefined;
  return {
    startMs,
    endMs: monotonicMs(),
    limit: lock.limit as number,
    ...(client.isBare && { rate: (lock.rate as Rate | undefined) ?? null }),
    holders: lock.holderCount as number,
    waiting: lock.waiting as number,
    lastToken: lock.lastToken as string,
    status: record?.status ?? null,
    version: record?.version ?? null,
    attemptsLeft: record?.attemptsLeft ?? null,
  };
}

/** The leases of each lock and of the tasks, as a client that lists them is told. */
async function listed({ history, clients }: Run, locks: readonly string[]): Promise<void> {
  const lister = clients.find(({ isBare }) => !isBare);
  if (!lister) return;
  const sets = await listedSets(clients);
  for (const which of [...locks.map((name) => ({ name })), { prefix: TASKS }]) {
    const startMs = monotonicMs();
    const { claims } = (await lister.ask({ do: "listClaims", ...which })) as { claims: readonly Shown[] };
    const endMs = monotonicMs();
    for (const { lockName: lock, token, ticketNumber: ticket, ...claim } of claims) {
      const { state, owner, principal, mode, permits, end } = claim;
      if (!token || token === "0" || state === "waiting") continue;
      const group = groupAt(lock, { name: owner });
      const shown = {
        lock,
        token,
        ticket,
        state,
        owner,
        mode,
        permits,
        ...(group !== undefined && { group }),
      };
      const more = { ...(principal && { principal }), ...(end && { endReason: end.reason }) };
      const { also, grantedUs, endedUs } = sets.get(`${lock}/${ticket}`) ?? {};
      const ofSet = also && { also, ...(grantedUs && { grantedUs }), ...(endedUs && { endedUs }) };
      history.add({ did: "list", who: lister.name, ...shown, ...more, ...ofSet, startMs, endMs });
    }
  }
  const call = { did: "unserved", who: lister.name, startMs: monotonicMs(), endMs: monotonicMs() } as const;
  for (const { token, lock, ticket, owner, also, endReason, endedUs } of sets.values()) {
    if (token !== "0" || endReason === undefined || endedUs === undefined) continue;
    const others = also.map((other) => other.lock);
    history.add({ ...call, lock, ticket, owner, endReason, endedUs, also: others });
  }
}

interface ShownSet {
  readonly lock: string;
  readonly token: string;
  readonly ticket: string;
  readonly owner: string;
  readonly also: readonly { readonly lock: string; readonly token: string }[];
  readonly grantedUs?: number;
  readonly endReason?: string;
  readonly endedUs?: number;
}

/** Claims for several locks, held and ended, by the lock and the ticket number of each row. Only bare clients tell of them. */
async function listedSets(clients: Run["clients"]): Promise<ReadonlyMap<string, ShownSet>> {
  const client = clients.find(({ isBare }) => isBare);
  if (!client) return new Map();
  const { claims } = (await client.ask({ do: "listSets" })) as { claims: readonly ShownSet[] };
  return new Map(claims.map((claim) => [`${claim.lock}/${claim.ticket}`, claim]));
}

interface Shown {
  readonly lockName: string;
  readonly token?: string;
  readonly ticketNumber: string;
  readonly state: "waiting" | "held" | "ended";
  readonly owner: string;
  readonly principal?: string;
  readonly mode: Mode;
  readonly permits: number;
  readonly end?: { readonly reason: string };
}

/** All changes of limits and records, and forced releases, the oldest first. */
async function noted({ history, clients }: Run): Promise<void> {
  const lister = clients.find(({ isBare }) => !isBare);
  if (!lister) return;
  const startMs = monotonicMs();
  const { changes } = (await lister.ask({ do: "listChanges", prefix: "" })) as {
    changes: readonly ShownChange[];
  };
  const endMs = monotonicMs();
  for (const change of changes.toReversed()) {
    const { kind, name, pattern, from, to, rateFrom, rateTo, queueRulesFrom, queueRulesTo } = change;
    // Of a pool: see lookAtPools.
    if (name === undefined && pattern === undefined) continue;
    history.add({
      did: "note",
      who: lister.name,
      kind,
      target: name ?? pattern ?? "",
      before: [textOf(from), textOf(rateFrom), textOf(queueRulesFrom)].join(" ").trim(),
      after: [textOf(to), textOf(rateTo), textOf(queueRulesTo)].join(" ").trim(),
      startMs,
      endMs,
    });
  }
}

interface ShownChange {
  readonly kind: string;
  readonly name?: string;
  readonly pattern?: string;
  readonly from?: unknown;
  readonly to?: unknown;
  readonly rateFrom?: unknown;
  readonly rateTo?: unknown;
  readonly queueRulesFrom?: unknown;
  readonly queueRulesTo?: unknown;
}

/** What a change shows of before or after, so that it can be compared; "": nothing. */
function textOf(shown: unknown): string {
  if (shown === undefined) return "";
  return typeof shown === "object" ? JSON.stringify(shown) : String(shown);
}
