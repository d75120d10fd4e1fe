// Tasks: each that was made ends done, within its attempts, and no attempt was used by a lease that was given to nobody.

import type { Final, History, TaskMade } from "../history/history.ts";
import type { Breach } from "./breach.ts";

export function tasks(history: History): Breach[] {
  const finals = new Map(history.of("final").map((final) => [final.lock, final]));
  const takes = history.of("take");
  const told = Map.groupBy(
    takes.flatMap(({ taken }) => taken),
    ({ task }) => task,
  );
  /** Each may have used one attempt of some task. */
  const unknown = takes.filter(({ outcome }) => outcome === "unknown").length;
  const breaches: Breach[] = [];
  let unexplained = 0;
  for (const made of history.of("make")) {
    const final = finals.get(made.task);
    if (!final || (final.status === null && made.outcome === "unknown")) continue;
    const known = new Set(told.get(made.task)?.map(({ token }) => token)).size;
    breaches.push(...ofTask(made, final, known, unknown));
    if (made.isCounted) unexplained += Math.max(0, made.attempts - (final.attemptsLeft ?? 0) - known);
  }
  if (unexplained > unknown) {
    const what = `${unexplained} attempts were told to nobody, and ${unknown} captures have an unknown outcome`;
    breaches.push({ rule: "no attempt is given to nobody", what });
  }
  return breaches;
}

function ofTask({ task, attempts }: TaskMade, final: Final, known: number, unknown: number): Breach[] {
  if (known > attempts)
    return [{ rule: "never more attempts than allowed", what: `${task}: ${known} of ${attempts}` }];
  const mayBeExhausted = known + unknown >= attempts;
  if (final.status === "done" || mayBeExhausted) return [];
  const what = `${task} is ${final.status}, and ${known} of ${attempts} attempts were told`;
  return [{ rule: "no task is lost", what }];
}
