// The recipe of a control table: jobs that queue, that need several resources, that read and write, while some of
// them die.

import { expect, test } from "vitest";
import { Mode } from "#proto/rowlock/v1/lock_pb.js";
import { mostAtOnce, whoDid } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

const LONG_WORK = { WORK_SECONDS: 600, TTL_SECONDS: 3 };
const SHORT_WORK = { WORK_SECONDS: 0.2 };

inEachLanguage((language) => {
  const stage = recipeStage("control-table", language);

  const waitFor = (name: string, waiting: number) =>
    stage.until(async () => (await stage.lock(name)).waiterCount === waiting);

  test("jobs are served in order of arrival, two at a time", async () => {
    const name = "line/reports";
    const { client } = stage.server;
    await client.limit(name, 2);
    const { leaseId } = await client.lease({ name, permits: 2 });
    const jobs = ["first", "second", "third", "fourth"];
    const runs = [];
    for (const job of jobs) {
      runs.push(stage.start("line", ["reports", job], SHORT_WORK));
      await waitFor(name, runs.length);
    }
    await client.call("release", { leaseId });
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);

    const lines = stage.journal();
    expect(mostAtOnce(lines)).toBeLessThanOrEqual(2);
    const granted = lines
      .map((line) => /^(\S+) begins with token (\d+)$/.exec(line))
      .filter((it) => it !== null);
    const byToken = granted.sort(([, , one], [, , other]) => Number(one) - Number(other));
    expect(byToken.map(([, job]) => job)).toEqual(jobs);
    expect(whoDid("ends", lines).sort()).toEqual([...jobs].sort());
  });

  test("two jobs that need the same resources never wait for each other", async () => {
    const { client } = stage.server;
    const { leaseId } = await client.lease({ name: "resource/pens", mode: Mode.EXCLUSIVE });
    const one = stage.start("resources", ["one", "ink:write", "pens:write"], SHORT_WORK);
    await waitFor("resource/pens", 1);
    // This job names them in the opposite order. It waits behind the first one in both queues, and neither holds the ink.
    const other = stage.start("resources", ["other", "pens:write", "ink:write"], SHORT_WORK);
    await waitFor("resource/ink", 2);
    await waitFor("resource/pens", 2);
    expect((await stage.lock("resource/ink")).holderCount).toBe(0);
    await client.call("release", { leaseId });
    expect(await Promise.all([one.ended, other.ended])).toEqual([0, 0]);
    expect(stage.journal()).toEqual(["one begins", "one ends", "other begins", "other ends"]);
  });

  test("readers run side by side, a writer alone, and a job that comes after the writer waits for it", async () => {
    const readers = ["reader 1", "reader 2"].map((job) =>
      stage.start("resources", [job, "book:read"], LONG_WORK),
    );
    await stage.told(/begins$/, 2);
    stage.start("resources", ["writer", "book:write"], SHORT_WORK);
    await waitFor("resource/book", 1);
    stage.start("resources", ["reader 3", "book:read"], SHORT_WORK);
    await waitFor("resource/book", 2);
    expect(mostAtOnce(stage.journal())).toBe(2);

    for (const [at, reader] of readers.entries()) await stage.dies(reader, `reader ${at + 1} dies`);
    await stage.told("reader 3 ends");
    expect(stage.journal().slice(2)).toEqual([
      "reader 1 dies",
      "reader 2 dies",
      "writer begins",
      "writer ends",
      "reader 3 begins",
      "reader 3 ends",
    ]);
  });
});
