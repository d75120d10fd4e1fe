// Pools as people read them: what is used of one, as in "12 of 50 taken, 3 wait", and the line of a changed one.

import type { LimitInForce, LimitView, PoolUse, PoolView, RateView } from "../typescript/src/index.ts";
import { type Paint, shown } from "./print.ts";
import { rateText } from "./rates.ts";

/** The pool that has set this limit or rate; null: none has. The server hides its pattern from callers who may not see it. */
export function poolOf({
  source,
  pattern = "",
}: Pick<LimitView | RateView, "source" | "pattern">): string | null {
  if (source !== "pool") return null;
  return pattern === "" ? "a pool" : `the pool ${shown(pattern)}`;
}

/** @param limit undefined: the pool has only a rate. */
export function usedWords(
  {
    heldPermits,
    waiterCount,
    draining,
    counting,
  }: Pick<PoolUse, "heldPermits" | "waiterCount" | "draining" | "counting">,
  limit: number | undefined,
  paint: Paint = (_, text) => text,
): string {
  const taken = limit === undefined ? `${heldPermits} taken` : `${heldPermits} of ${limit} taken`;
  const waiting = `${waiterCount} ${waiterCount === 1 ? "waits" : "wait"}`;
  return [
    taken,
    ...(waiterCount > 0 ? [paint("yellow", waiting)] : []),
    ...(draining ? [paint("yellow", "drains")] : []),
    ...(counting ? ["earlier holders are still counted"] : []),
  ].join(", ");
}

/** A pool over a lock, on a line. */
export function poolLine({ pattern, limit, rate, use }: PoolView, paint: Paint): string {
  const { version, reason } = limit ?? rate ?? {};
  const set = [
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(reason ? [shown(reason)] : []),
  ].join(", ");
  return (
    [
      `${shown(pattern)}: ${limit?.permits === 0 ? paint("red", usedWords(use, 0)) : usedWords(use, limit?.permits, paint)}`,
      ...(rate ? [`rate ${rateText(rate)}, ${use.available} available`] : []),
    ].join("; ") + (set === "" ? "" : ` (${set})`)
  );
}

/** What became of a pool. */
export function changedPoolLine(pool: string, set: LimitInForce): string {
  const { limit, noLimit, rate, version, heldPermits, waiterCount, draining, counting } = set;
  const what =
    noLimit && !rate
      ? "is no pool any more"
      : [noLimit ? "no limit" : `limit ${limit}`, ...(rate ? [`rate ${rateText(rate)}`] : [])].join(", ");
  const use = { heldPermits, waiterCount, draining, counting: counting ?? false };
  return `${shown(pool)} (pool): ${what} (version ${version}); ${usedWords(use, noLimit ? undefined : limit)}\n`;
}
