// The recipe of a batch job whose limit is a knob: executions of their own, while the knob is turned and one of them dies.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mostAtOnce, whoDid } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

inEachLanguage((language) => {
  const stage = recipeStage("batch-limit", language);

  async function turnKnob(job: string, limit: number | string) {
    writeFileSync(join(stage.folder, "knob"), `${limit}\n`);
    return await stage.start("apply-limit", [job, "knob"]).ended;
  }

  test("as many run as the knob says, also when it is turned and when one of them dies", async () => {
    const waiting = async () => (await stage.lock("batch/long")).waiting;
    expect(await turnKnob("long", 2)).toBe(0);
    const settings = { WORK_SECONDS: 600, TTL_SECONDS: 3 };
    const runs = ["1", "2", "3", "4", "5"].map((execution) =>
      stage.start("batch", ["long", execution], settings),
    );
    await stage.told(/begins$/, 2);
    await stage.until(async () => (await waiting()) === 3);
    expect(whoDid("begins", stage.journal())).toHaveLength(2);

    expect(await turnKnob("long", 3)).toBe(0);
    await stage.told(/begins$/, 3);

    const [first = ""] = whoDid("begins", stage.journal());
    await stage.dies(runs[Number(first) - 1] as (typeof runs)[number], `${first} dies`);
    await stage.told(/begins$/, 4);
    expect(await waiting()).toBe(1);
    expect(mostAtOnce(stage.journal())).toBe(3);
  });

  test("all run, each once, where they are more than the limit", async () => {
    expect(await turnKnob("short", 2)).toBe(0);
    const executions = ["1", "2", "3", "4"];
    await Promise.all(
      executions.map((execution) => stage.ran("batch", ["short", execution], { WORK_SECONDS: 0.2 })),
    );
    const lines = stage.journal();
    expect(mostAtOnce(lines)).toBeLessThanOrEqual(2);
    expect(whoDid("begins", lines).sort()).toEqual(executions);
    expect(whoDid("ends", lines).sort()).toEqual(executions);
  });

  test("a knob that holds no number changes nothing", async () => {
    expect(await turnKnob("other", 2)).toBe(0);
    for (const nonsense of ["", "many"]) expect(await turnKnob("other", nonsense)).not.toBe(0);
    expect((await stage.lock("batch/other")).limit?.limit).toBe(2);
  });
});
