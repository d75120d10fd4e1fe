// The recipe of a schedule that makes up for missed runs: several servers after a downtime, one of which dies.

import { expect, test } from "vitest";
import { until } from "../../support/until.ts";
import { whoDid } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

const HOUR = 3_600;
const MISSED = 3;
/**
 * A shell server starts one program for each run that it finds and another to take it, and must keep up on a busy
 * machine.
 */
const EVERY_SECONDS: Readonly<Record<string, number>> = { TypeScript: 2, Python: 2, "the shell": 5 };

inEachLanguage((language) => {
  const stage = recipeStage("missed-runs", language);

  test("each missed run is started once, the one in which a server dies by another server", async () => {
    const settings = { JOB: "missed", LOOK_BACK_SECONDS: MISSED * HOUR, TTL_SECONDS: 3 };
    const first = stage.start("schedule", [], { ...settings, WORK_SECONDS: 600 });
    await stage.told(/ begins/);
    await stage.dies(first, "the first server dies");
    const [interrupted = ""] = whoDid("begins", stage.journal());
    for (let server = 2; server <= 3; server++)
      stage.start("schedule", [], { ...settings, WORK_SECONDS: 0.1 });
    await stage.told(/ ends$/, MISSED);

    const lines = stage.journal();
    const ends = whoDid("ends", lines);
    expect(new Set(ends).size).toBe(ends.length);
    expect(whoDid("begins", lines).sort()).toEqual([interrupted, ...ends].sort());
    for (const run of ends) expect(run).toMatch(/^missed\/\d{4}-\d\d-\d\dT\d\d:00:00Z$/);
    for (const run of ends) {
      const { record, lastFencingToken } = await stage.lock(run);
      expect([record?.status, lastFencingToken]).toEqual(["done", run === interrupted ? 2n : 1n]);
    }
  });

  test("no run is left out or repeated if the server goes away and comes back", async () => {
    const every = EVERY_SECONDS[language.name] as number;
    const settings = { JOB: "each", EVERY_SECONDS: every, TTL_SECONDS: 3, WORK_SECONDS: 0 };
    const started = (LOOK_BACK_SECONDS: number) =>
      stage.start("schedule", [], { ...settings, LOOK_BACK_SECONDS });
    const timesOf = () => whoDid("ends", stage.journal()).map((run) => Date.parse(run.slice("each/".length)));

    const first = started(3 * every);
    // Three missed runs, and one that has become due since.
    await stage.told(/ ends$/, 4);
    await stage.dies(first, "the server dies");
    const { locks } = await stage.server.client.call("listLocks", { prefix: "each/" });
    const interrupted = locks.filter(({ record }) => record?.status !== "done").map(({ name }) => name);
    const downMs = Date.now();
    started(6 * every);
    await until(() => isGapless(timesOf(), every * 1_000) && Math.max(...timesOf()) > downMs);

    const ends = whoDid("ends", stage.journal());
    const twice = ends.filter((run, index) => ends.indexOf(run) !== index);
    // Only the run in which the server died may be repeated: it had ended, but the server could not report it.
    expect(interrupted).toEqual(expect.arrayContaining(twice));
  });
});

function isGapless(times: readonly number[], everyMs: number): boolean {
  const sorted = [...new Set(times)].sort((one, other) => one - other);
  return sorted.every((time, index) => index === 0 || time - (sorted[index - 1] as number) === everyMs);
}
