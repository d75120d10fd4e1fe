// The recipe of locks over a tree: jobs side by side below a folder, one that moves the folder, and paths in opposite orders.

import { expect, test } from "vitest";
import { mostAtOnce } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

/** Only one test gives up. */
const WAIT_SECONDS = 120;
const LONG_WORK = { WORK_SECONDS: 600, TTL_SECONDS: 3, WAIT_SECONDS };
const SHORT_WORK = { WORK_SECONDS: 0.2, WAIT_SECONDS };

inEachLanguage((language) => {
  const stage = recipeStage("tree-locks", language);

  const waitFor = (name: string, waiting: number) =>
    stage.until(async () => (await stage.lock(name)).waiterCount === waiting);

  test("jobs work side by side below a folder; its mover waits for them, and whoever comes later for the mover", async () => {
    const TREE = "moved";
    const below = ["a/b/1", "a/b/2"].map((path) => stage.start("path", [path, path], { ...LONG_WORK, TREE }));
    await stage.told(/begins$/, 2);
    expect(mostAtOnce(stage.journal())).toBe(2);
    const mover = stage.start("path", ["mover", "a/b"], { ...SHORT_WORK, TREE });
    await waitFor("moved/a/b", 1);
    const later = stage.start("path", ["later", "a/b/3"], { ...SHORT_WORK, TREE });
    await waitFor("moved/a/b", 2);
    // What is below another folder is nobody's concern.
    await stage.ran("path", ["stranger", "c/1"], { ...SHORT_WORK, TREE });
    for (const [at, run] of below.entries()) await stage.dies(run, `a/b/${at + 1} dies`);
    expect(await Promise.all([mover.ended, later.ended])).toEqual([0, 0]);
    expect(stage.journal().slice(-4)).toEqual(["mover begins", "mover ends", "later begins", "later ends"]);
  });

  test("two jobs at one path take turns", async () => {
    const runs = ["one", "other"].map((job) => stage.start("path", [job, "x/y"], SHORT_WORK));
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([0, 0]);
    expect(stage.journal()).toHaveLength(4);
    expect(mostAtOnce(stage.journal())).toBe(1);
  });

  test("a mover that waits too long gives up, and those below go on", async () => {
    const TREE = "impatient";
    const below = stage.start("path", ["below", "a/1"], { ...LONG_WORK, TREE });
    await stage.told("below begins");
    const mover = stage.start("path", ["mover", "a"], { ...SHORT_WORK, TREE, WAIT_SECONDS: 1 });
    expect(await mover.ended).not.toBe(0);
    await stage.ran("path", ["later", "a/2"], { ...SHORT_WORK, TREE });
    expect(stage.journal()).toEqual(["below begins", "later begins", "later ends"]);
    await stage.dies(below);
  });
});
