// The recipe of a batch job with an adjustable limit: separate executions while the limit changes and one of them
// dies.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mostAtOnce, whoDid } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

const LONG_WORK = { WORK_SECONDS: 600, TTL_SECONDS: 3 };
const SHORT_WORK = { WORK_SECONDS: 0.1 };

inEachLanguage((language) => {
  const stage = recipeStage("batch-limit", language);

  async function turnKnob(job: string, limit: number | string) {
    writeFileSync(join(stage.folder, "knob"), `${limit}\n`);
    return await stage.start("apply-limit", [job, "knob"]).ended;
  }

  test("as many batches run as the knob allows, even when it is turned and when one of them dies", async () => {
    const waiting = async () => (await stage.lock("batch/import")).waiterCount;
    expect(await turnKnob("import", 2)).toBe(0);
    const long = ["1", "2", "3"].map((execution) => stage.start("batch", ["import", execution], LONG_WORK));
    await stage.told(/begins$/, 2);
    await stage.until(async () => (await waiting()) === 1);
    const short = ["4", "5"].map((execution) => stage.start("batch", ["import", execution], SHORT_WORK));
    await stage.until(async () => (await waiting()) === 3);
    expect(whoDid("begins", stage.journal())).toHaveLength(2);

    expect(await turnKnob("import", 3)).toBe(0);
    await stage.told(/begins$/, 3);
    expect(whoDid("begins", stage.journal()).sort()).toEqual(["1", "2", "3"]);
    expect(await waiting()).toBe(2);

    await stage.dies(long[0] as (typeof long)[number], "1 dies");
    expect(await Promise.all(short.map(({ ended }) => ended))).toEqual([0, 0]);
    const lines = stage.journal();
    expect(lines.at(-5)).toBe("1 dies");
    expect(mostAtOnce(lines)).toBe(3);
    expect(whoDid("ends", lines).sort()).toEqual(["4", "5"]);
  });

  test("a knob without a number changes nothing", async () => {
    const { limit } = await stage.lock("batch/import");
    for (const nonsense of ["", "many"]) expect(await turnKnob("import", nonsense)).not.toBe(0);
    expect((await stage.lock("batch/import")).limit).toEqual(limit);
  });
});
