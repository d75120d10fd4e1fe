// Overload: one server gets three times what it can carry, from callers that come back when a refusal says so and from
// callers that heed nothing, beside leases that are renewed and clients that ask for little. Says what became of all of
// them. With --leases, many leases that are renewed instead.
//
//   npm run overload -- [--database mariadb] [--seconds 60] [--times 3] [--floods heeding,flood] [--leases 100000]

import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Figures } from "../go-driver.ts";
import { drive } from "../go-driver.ts";
import type { Kind } from "../sizing/sized-database.ts";
import { type Cores, coresFromNow, type House, residentMib, startHouse } from "./house.ts";
import { holdMany } from "./leases.ts";

const KEPT = 200;
const ALONE_S = 20;
const CLOSED_LOOPS = [32, 128, 512];
/** Of the best closed loop, which gets its answers, and so asks again, in bunches. */
const EVEN_SHARES = [0.5, 0.65, 0.8, 1];
const CLOSED_S = 8;
const WARM_UP_S = 3;
const LOOK_MS = 1_000;
/** How long it may take, halved, to make the locks of the flood. */
const NAMES_S = 120;
/** All floods use these locks. Each has one pair at most at a time. */
const FLOODED = { locks: 8_000, connections: 8 };

type Way = "rowlock" | "session";
type FloodWork = "heeding" | "flood";

interface Refusals {
  readonly [kind: string]: { readonly count: number; readonly withoutRetryInfo: number };
}

interface Flood {
  readonly begun: number;
  readonly notBegun: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly refusedP99Ms: number;
  readonly refusals: Refusals;
  /** Calls without an answer long after the flood. */
  readonly left: readonly string[] | null;
  readonly cpuSeconds: number;
}

interface Kept {
  readonly leases: number;
  readonly lost: number;
  readonly renewals: number;
  readonly renewP99Ms: number;
  readonly renewMaxMs: number;
  readonly refusals: Refusals;
  readonly quietCalls: Figures;
  readonly quietSession: Figures;
  readonly cpuSeconds: number;
}

const { values: options } = parseArgs({
  options: {
    database: { type: "string", default: "mariadb" },
    seconds: { type: "string", default: "60" },
    times: { type: "string", default: "3" },
    leases: { type: "string" },
    best: { type: "string", default: "" },
    ways: { type: "string", default: "rowlock,session" },
    floods: { type: "string", default: "heeding,flood" },
  },
});
const seconds = Number(options.seconds);
const times = Number(options.times);

const house = await startHouse(options.database as Kind);
try {
  console.log(`${house.label}, load ${loadavg()[0]?.toFixed(1)} at the start`);
  if (options.leases) await holdMany(house, Number(options.leases), seconds);
  else {
    const alone = await keep(house, ALONE_S);
    say("quiet, by calls, alone", latency(alone.quietCalls));
    say("quiet, by a session, alone", latency(alone.quietSession));
    for (const way of options.ways.split(",") as Way[]) await overload(house, way, alone);
  }
  console.log(`load ${loadavg()[0]?.toFixed(1)} at the end`);
} finally {
  await house.stop();
}

async function overload(house: House, way: Way, alone: Kept): Promise<void> {
  console.log(`\n${way === "rowlock" ? "by calls of their own" : "through sessions"}`);
  const target = { system: way, address: house.address };
  await drive(house.driver, target, { work: "names", ...FLOODED }, 0, NAMES_S);
  const best = Number(options.best) || (await bestRate(house, way));
  for (const work of options.floods.split(",")) await flood(house, way, work as FloodWork, best, alone);
}

async function flood(house: House, way: Way, work: FloodWork, best: number, alone: Kept): Promise<void> {
  console.log(work === "heeding" ? "callers that heed refusals" : "callers that heed nothing");
  const most = new Map<string, number>();
  const watch = setInterval(async () => {
    for (const [bound, used] of await house.bounds().catch(() => new Map<string, number>()))
      most.set(bound, Math.max(used, most.get(bound) ?? 0));
  }, LOOK_MS);
  const cores = await coresFromNow(house);
  const kept = keep(house, seconds);
  const flooded = await driveFlood(house, way, { work, rate: times * best }, seconds);
  const took = await cores();
  clearInterval(watch);
  report(best, flooded, await kept, alone, took);
  const queues = [...most].filter(([bound, used]) => used > 0 && !bound.startsWith("pool"));
  say("most used of bounds", queues.map(([bound, used]) => `${bound} ${used}`).join(", "));
  say("memory of the server", `${(await residentMib(house.metrics)).toFixed(0)} MiB`);
}

function report(best: number, flood: Flood, kept: Kept, alone: Kept, took: Cores): void {
  say("pairs a second", `${flood.perSecond.toFixed(0)}, ${percent(flood.perSecond / best)} of the best`);
  say(
    "begun",
    `${flood.begun} pairs, and ${flood.notBegun} not, as too many were open; p50 ${flood.p50Ms.toFixed(0)} ms, p99 ${flood.p99Ms.toFixed(0)} ms`,
  );
  if (flood.left) say("never answered", flood.left.join(", "));
  say("refused", `${refusals(flood.refusals)}; p99 ${flood.refusedP99Ms.toFixed(0)} ms`);
  say(
    "leases lost",
    `${kept.lost} of ${kept.leases}, ${kept.renewals} renewals: p99 ${kept.renewP99Ms.toFixed(0)} ms, longest ${kept.renewMaxMs.toFixed(0)} ms`,
  );
  say("refused to holders and quiet clients", refusals(kept.refusals));
  say("quiet, by calls", besides(kept.quietCalls, alone.quietCalls));
  say("quiet, by a session", besides(kept.quietSession, alone.quietSession));
  const per = (cpu: number) => (cpu / (seconds + WARM_UP_S)).toFixed(2);
  say(
    "cores",
    `server ${took.server.toFixed(2)}, database ${took.database.toFixed(2)}, flood ${per(flood.cpuSeconds)}, holders ${per(kept.cpuSeconds)}`,
  );
}

/** The most that callers who come evenly were granted, after closed loops have shown about where that is. */
async function bestRate(house: House, way: Way): Promise<number> {
  const granted = async (what: string, task: object): Promise<number> => {
    const { perSecond, p99Ms } = await driveFlood(house, way, task, CLOSED_S);
    say(what, `${perSecond.toFixed(0)} pairs/s, p99 ${p99Ms.toFixed(0)} ms`);
    return perSecond;
  };
  let closed = 0;
  for (const callers of CLOSED_LOOPS)
    closed = Math.max(closed, await granted(`${callers} callers`, { work: "rounds", callers }));
  let best = 0;
  for (const rate of EVEN_SHARES.map((share) => share * closed))
    best = Math.max(best, await granted(`asked evenly for ${rate.toFixed(0)}/s`, { work: "heeding", rate }));
  return best;
}

/** Of closed loops, only the figures that all works have. */
async function driveFlood(house: House, way: Way, task: object, forS: number): Promise<Flood> {
  const target = { system: way, address: house.address };
  const [flooded] = await drive<Flood, object>(
    house.driver,
    target,
    { ...FLOODED, ...task },
    WARM_UP_S,
    forS,
  );
  return flooded as Flood;
}

async function keep(house: House, forS: number): Promise<Kept> {
  const target = { system: "rowlock", address: house.address };
  const task = { work: "keep", callers: KEPT, connections: 4 };
  const [kept] = await drive<Kept, object>(house.driver, target, task, WARM_UP_S, forS);
  return kept as Kept;
}

function refusals(all: Refusals): string {
  const each = Object.entries(all).map(
    ([kind, { count, withoutRetryInfo }]) =>
      `${count} ${kind}${withoutRetryInfo > 0 ? ` (${withoutRetryInfo} without RetryInfo)` : ""}`,
  );
  return each.join(", ") || "none";
}

function latency({ p50Ms, p99Ms }: Figures): string {
  return `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
}

function besides(now: Figures, alone: Figures): string {
  return `${latency(now)}: ${(now.p99Ms / alone.p99Ms).toFixed(1)} times its p99 alone`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)}%`;
}

function say(what: string, text: string): void {
  console.log(`${what}: ${text}`);
}
