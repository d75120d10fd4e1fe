// Tasks: each that was made ends done, within its attempts, which only count down; no attempt was used by a lease that was
// given to nobody; and one that is done stays done.

import type { Final, History, TaskMade } from "../history/history.ts";
import type { Breach } from "./breach.ts";
import { wronglyRested } from "./rests.ts";

export function tasks(history: History): Breach[] {
  const finals = new Map(history.of("final").map((final) => [final.lock, final]));
  const takes = history.of("take");
  const told = Map.groupBy(
    takes.flatMap(({ taken, endMs }) => taken.map((one) => ({ ...one, endMs }))),
    ({ task }) => task,
  );
  /** Attempts that they may have used. */
  const unknown = takes
    .filter(({ outcome }) => outcome === "unknown")
    .reduce((sum, { max = 1 }) => sum + max, 0);
  const rested = wronglyRested(history);
  const breaches: Breach[] = [];
  let unexplained = 0;
  for (const made of history.of("make")) {
    const final = finals.get(made.task);
    if (!final || (final.status === null && made.outcome === "unknown")) continue;
    const grants = told.get(made.task) ?? [];
    const known = new Set(grants.map(({ token }) => token)).size;
    breaches.push(...ofTask(made, final, known, unknown, rested.has(made.task)));
    // One that its client could not rely on may have been given back, and one may come after the last look.
    const kept = grants.filter(({ isLost, endMs }) => !isLost && endMs < final.startMs);
    const used = new Set(kept.map(({ token }) => token)).size;
    if (final.attemptsLeft !== null && final.attemptsLeft > made.attempts - used) {
      const what = `${made.task}: ${final.attemptsLeft} of ${made.attempts} are left after ${used}`;
      breaches.push({ rule: "no used attempt comes back", what });
    }
    if (made.isCounted) unexplained += Math.max(0, made.attempts - (final.attemptsLeft ?? 0) - known);
  }
  if (unexplained > unknown) {
    const what = `${unexplained} attempts were told to nobody, and captures with unknown outcomes may have used ${unknown}`;
    breaches.push({ rule: "no attempt is given to nobody", what });
  }
  return [...breaches, ...done(history, finals)];
}

/** Who takes tasks wants none that is done. */
function done(history: History, finals: ReadonlyMap<string, Final>): Breach[] {
  const last = new Map<string, bigint>();
  for (const { taken } of history.of("take")) {
    for (const { task, token } of taken) {
      if (BigInt(token) > (last.get(task) ?? 0n)) last.set(task, BigInt(token));
    }
  }
  return history
    .of("finish")
    .filter(({ task, token, status, outcome, endMs }) => {
      if (status !== "done" || outcome !== "released") return false;
      const final = finals.get(task);
      const isUndone = final !== undefined && endMs < final.startMs && final.status !== "done";
      return isUndone || (last.get(task) ?? 0n) > BigInt(token);
    })
    .map(({ task, token, who }) => ({
      rule: "an acknowledged status stays",
      what: `${task}: ${who} finished it with ${token}, and it is ${finals.get(task)?.status}, taken with ${last.get(task)}`,
    }));
}

function ofTask(
  { task, attempts }: TaskMade,
  final: Final,
  known: number,
  unknown: number,
  mayRest: boolean,
): Breach[] {
  if (known > attempts)
    return [{ rule: "never more attempts than allowed", what: `${task}: ${known} of ${attempts}` }];
  const mayBeExhausted = known + unknown >= attempts;
  if (final.status === "done" || mayRest || mayBeExhausted) return [];
  const what = `${task} is ${final.status}, and ${known} of ${attempts} attempts were told`;
  return [{ rule: "no task is lost", what }];
}
