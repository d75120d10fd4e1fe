// What happened in a run, in figures.

import type { History } from "./history/history.ts";

/** How long after a fault a gap still belongs to it. */
const AFTER_MS = 5_000;

export function figuresOf(history: History): string[] {
  const grants = history.of("acquire").filter(({ outcome }) => outcome === "granted");
  const calls = history.entries.filter(({ did }) =>
    ["acquire", "release", "count", "read", "limit", "take", "finish", "make"].includes(did),
  );
  const unknown = calls.filter((call) => "outcome" in call && call.outcome === "unknown").length;
  const spanMs =
    Math.max(...calls.map(({ endMs }) => endMs)) - Math.min(...calls.map(({ startMs }) => startMs));
  const count = (did: "count" | "make" | "finish", outcome: string) =>
    history.of(did).filter((entry) => entry.outcome === outcome).length;
  return [
    `${calls.length} calls (${(calls.length / (spanMs / 1e3)).toFixed(0)} a second), ${unknown} with an unknown outcome`,
    `${grants.length} grants, ${count("count", "done")} increments, ${count("finish", "released")} of ${history.of("make").length} tasks finished, ` +
      `${history.of("write").filter(({ accepted }) => !accepted).length} stale writes refused`,
    ...gaps(
      history,
      grants.map(({ endMs }) => endMs),
    ),
  ];
}

function gaps(history: History, grantsMs: readonly number[]): string[] {
  const sorted = [...grantsMs].sort((a, b) => a - b);
  const worst = new Map<string, number>();
  for (const { name, startMs, endMs } of history.of("fault")) {
    const within = [startMs, ...sorted.filter((atMs) => atMs >= startMs && atMs <= endMs + AFTER_MS)];
    const longest = Math.max(0, ...within.slice(1).map((atMs, index) => atMs - (within[index] as number)));
    worst.set(name, Math.max(worst.get(name) ?? 0, longest));
  }
  return [...worst].map(
    ([name, gapMs]) => `longest time without a grant: ${(gapMs / 1e3).toFixed(1)} s, ${name}`,
  );
}
