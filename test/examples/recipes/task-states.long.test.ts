// The recipe of states: a job that is skipped after it has failed, a lock that ends by itself, and tasks of several
// queues whose workers die.

import { describe, expect, test } from "vitest";
import { mostAtOnce, whoDid } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

const LONG_WORK = { WORK_SECONDS: 600, TTL_SECONDS: 3 };
const SHORT_WORK = { WORK_SECONDS: 0.1 };
const LEFT_OUT = 75;

inEachLanguage((language) => {
  const stage = recipeStage("task-states", language);
  const isFree = (name: string) => async () => (await stage.lock(name)).holderCount === 0;

  describe("a job", () => {
    test("is left out once it has failed, until somebody has checked", async () => {
      await stage.ran("nightly", ["backup"], SHORT_WORK);
      const failing = stage.start("nightly", ["backup"], { ...SHORT_WORK, FAIL: "backup" });
      expect(await failing.ended).toBe(1);
      expect(await stage.start("nightly", ["backup"], SHORT_WORK).ended).toBe(LEFT_OUT);
      await stage.server.client.call("updateRecord", { name: "job/backup", status: "" });
      await stage.ran("nightly", ["backup"], SHORT_WORK);
      expect(stage.journal()).toEqual([
        ...["backup begins", "backup ends"],
        ...["backup begins", "backup fails"],
        "backup is left out",
        ...["backup begins", "backup ends"],
      ]);
    });

    test("never runs twice at once, and has failed if it dies", async () => {
      const running = stage.start("nightly", ["sync"], LONG_WORK);
      await stage.told("sync begins");
      expect(await stage.start("nightly", ["sync"], SHORT_WORK).ended).toBe(LEFT_OUT);
      await stage.dies(running, "sync dies");
      await stage.until(isFree("job/sync"));
      expect(await stage.start("nightly", ["sync"], SHORT_WORK).ended).toBe(LEFT_OUT);
      expect(stage.journal()).toEqual(["sync begins", "sync is left out", "sync dies", "sync is left out"]);
      expect((await stage.lock("job/sync")).record).toMatchObject({ status: "failed" });
    });
  });

  describe("a lock that is never released", () => {
    test("goes to one of two simultaneous callers, and to no later one", async () => {
      await Promise.all([1, 2].map(() => stage.ran("alert", ["disk-full"])));
      await stage.ran("alert", ["disk-full"]);
      expect(stage.journal()).toEqual(["disk-full was reported"]);
    });

    test("is free again when its time is over", async () => {
      await stage.ran("alert", ["no-mail"], { EVERY_SECONDS: 1 });
      await stage.until(isFree("alert/no-mail"));
      await stage.ran("alert", ["no-mail"], { EVERY_SECONDS: 1 });
      expect(stage.journal()).toEqual(["no-mail was reported", "no-mail was reported"]);
    });
  });

  test("tasks are done once, three at a time, though a worker dies; one that cannot be done is tried three times", async () => {
    const tasks = ["mail/1", "mail/2", "mail/3", "bills/1", "bills/2"];
    await stage.ran("put", ["mail", "1", "2", "3", "bad"]);
    await stage.ran("put", ["bills", "1", "2"]);
    const doomed = stage.start("worker", ["mail"], LONG_WORK);
    await stage.told(/ begins$/, 3);
    const taken = whoDid("begins", stage.journal());
    expect(taken.toSorted()).toEqual(["mail/1", "mail/2", "mail/3"]);
    await stage.dies(doomed, ...taken.map((task) => `${task} dies`));

    const settings = { ...SHORT_WORK, RETRY_SECONDS: 0.2, FAIL: "bad" };
    // In the shell, one worker runs three captures in parallel.
    const workers = language.ending === "sh" ? ["mail", "bills"] : ["mail", "mail", "bills"];
    for (const queue of workers) stage.start("worker", [queue], settings);
    await stage.until(async () => {
      const { locks } = await stage.server.client.call("listLocks", { prefix: "tasks/" });
      const done = locks.filter(({ record }) => record?.status === "done").map(({ name }) => name);
      const isGivenUp = locks.some(
        ({ record, holderCount }) =>
          record?.attemptsLeft === 0 && record.status === "failed" && holderCount === 0,
      );
      return isGivenUp && done.length === tasks.length;
    });

    const lines = stage.journal();
    expect(whoDid("ends", lines).sort()).toEqual(tasks.toSorted());
    for (const task of [...tasks, "mail/bad"])
      expect(mostAtOnce(lines.filter((line) => line.startsWith(`${task} `)))).toBe(1);
    expect(whoDid("fails", lines)).toEqual(["mail/bad", "mail/bad", "mail/bad"]);
    // Tasks of the worker that died were begun twice, all others once.
    const begun = whoDid("begins", lines).filter((task) => task !== "mail/bad");
    expect(begun.sort()).toEqual([...tasks, ...taken].sort());

    // Putting a done task does not run it again, and a worker that finds nothing ends.
    await stage.ran("put", ["bills", "1"]);
    await stage.ran("worker", ["bills"], { ...settings, IDLE_SECONDS: 0.1 });
    expect(stage.journal()).toEqual(lines);
  });
});
