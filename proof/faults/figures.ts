// What happened in one run or in several, in figures.

import type { Entry, FaultMade, History } from "./history/history.ts";

/** How long after a fault a gap still belongs to it. */
const AFTER_MS = 5_000;
const CALLS: readonly Entry["did"][] = [
  "acquire",
  "release",
  "count",
  "read",
  "limit",
  "rate",
  "again",
  "take",
  "finish",
  "make",
  "force",
];

export interface Figures {
  readonly spanMs: number;
  readonly calls: number;
  /** Calls that failed and may have taken effect. */
  readonly unknown: number;
  readonly grants: number;
  readonly spends: number;
  /** Grants of several locks. */
  readonly sets: number;
  readonly increments: number;
  readonly tasksMade: number;
  readonly tasksFinished: number;
  readonly tasksPutOff: number;
  readonly limitsSet: number;
  readonly ratesSet: number;
  /** Leases. */
  readonly forced: number;
  /** Records. */
  readonly erased: number;
  readonly staleWrites: number;
  readonly faults: ReadonlyMap<string, FaultFigures>;
}

export interface FaultFigures {
  readonly struck: number;
  /** The longest time without any grant, from the fault on. */
  readonly gapMs: number;
}

export const NO_FIGURES: Figures = {
  spanMs: 0,
  calls: 0,
  unknown: 0,
  grants: 0,
  spends: 0,
  sets: 0,
  increments: 0,
  tasksMade: 0,
  tasksFinished: 0,
  tasksPutOff: 0,
  limitsSet: 0,
  ratesSet: 0,
  forced: 0,
  erased: 0,
  staleWrites: 0,
  faults: new Map(),
};

export function figuresOf(history: History): Figures {
  const granted = history.of("acquire").filter(({ outcome }) => outcome === "granted");
  const grants = granted.filter(({ lock, set = [lock] }) => set[0] === lock);
  // A call about several locks has an entry at each of them.
  const isFirst = (entry: Entry) => !("set" in entry) || !entry.set || entry.set[0] === entry.lock;
  const calls = history.entries.filter((entry) => CALLS.includes(entry.did) && isFirst(entry));
  const done = history.of("count").filter(({ outcome }) => outcome === "done");
  const finished = (as: "done" | "again") =>
    history.of("finish").filter(({ outcome, status }) => outcome === "released" && status === as).length;
  const starts = calls.map(({ startMs }) => startMs);
  const ends = calls.map(({ endMs }) => endMs);
  return {
    spanMs: ends.reduce((a, b) => Math.max(a, b), 0) - starts.reduce((a, b) => Math.min(a, b), Infinity),
    calls: calls.length,
    unknown: calls.filter((call) => "outcome" in call && call.outcome === "unknown").length,
    grants: grants.length,
    spends: grants.filter(({ spends }) => spends).length,
    sets: grants.filter(({ set }) => set !== undefined).length,
    increments: done.filter(({ to }) => to > 0).length,
    tasksMade: history.of("make").length,
    tasksFinished: finished("done"),
    tasksPutOff: finished("again"),
    limitsSet: history.of("limit").filter(({ outcome }) => outcome === "done").length,
    ratesSet: history.of("rate").filter(({ outcome }) => outcome === "done").length,
    forced: history.of("force").reduce((sum, { ended }) => sum + ended, 0),
    erased: done.filter(({ to }) => to === 0).length,
    staleWrites: history.of("write").filter(({ accepted }) => !accepted).length,
    faults: faultsOf(
      history,
      grants.map(({ endMs }) => endMs).sort((a, b) => a - b),
    ),
  };
}

/** The figures of all these runs together. */
export function sum(a: Figures, b: Figures): Figures {
  const faults = new Map(a.faults);
  for (const [name, { struck, gapMs }] of b.faults) {
    const before = faults.get(name) ?? { struck: 0, gapMs: 0 };
    faults.set(name, { struck: before.struck + struck, gapMs: Math.max(before.gapMs, gapMs) });
  }
  const { faults: _, ...counts } = a;
  const keys = Object.keys(counts) as (keyof typeof counts)[];
  const sums = Object.fromEntries(keys.map((key) => [key, a[key] + b[key]])) as typeof counts;
  return { ...sums, faults };
}

export function linesOf({ faults, ...figures }: Figures): string[] {
  const aSecond = (figures.calls / (figures.spanMs / 1e3)).toFixed(0);
  const { calls, unknown, grants, increments, tasksMade, tasksFinished, tasksPutOff, staleWrites } = figures;
  const { spends, sets, limitsSet, ratesSet, forced, erased } = figures;
  return [
    `${calls} calls (${aSecond} a second), ${unknown} with an unknown outcome`,
    `${grants} grants, ${spends} of them spends and ${sets} of several locks, ${increments} increments, ${tasksFinished} of ${tasksMade} tasks finished, ${staleWrites} stale writes refused`,
    `${tasksPutOff} tasks put off, ${limitsSet} limits and ${ratesSet} rates set, ${forced} leases ended by force, ${erased} records deleted`,
    ...[...faults]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(
        ([name, { struck, gapMs }]) =>
          `${name}: ${struck} times, longest time without a grant ${(gapMs / 1e3).toFixed(1)} s`,
      ),
  ];
}

function faultsOf(history: History, grantsMs: readonly number[]): Map<string, FaultFigures> {
  const faults = new Map<string, FaultFigures>();
  for (const { name, ...times } of history.of("fault")) {
    const { struck, gapMs } = faults.get(name) ?? { struck: 0, gapMs: 0 };
    faults.set(name, { struck: struck + 1, gapMs: Math.max(gapMs, longestGapMs(times, grantsMs)) });
  }
  return faults;
}

/** A gap that begins within the fault or soon after it counts until its end. */
function longestGapMs({ startMs, endMs }: Omit<FaultMade, "name">, grantsMs: readonly number[]): number {
  const later = grantsMs.filter((atMs) => atMs >= startMs).sort((a, b) => a - b);
  const began = [startMs, ...later.filter((atMs) => atMs <= endMs + AFTER_MS)];
  return Math.max(0, ...began.map((atMs, index) => (later[index] ?? atMs) - atMs));
}
