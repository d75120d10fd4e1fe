// The recipe of CI jobs that share an environment: one deploys, the newest waits, and those between are skipped.

import { expect, test } from "vitest";
import { WhenFull } from "#proto/rowlock/v1/lock_pb.js";
import { mostAtOnce } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

inEachLanguage((language) => {
  const stage = recipeStage("ci-concurrency", language);
  const skipped = (push: string) => `${push} is skipped: a newer push is deployed instead`;

  test("the newest push is deployed next, and those between are skipped with exit code 0", async () => {
    await stage.server.client.call("setLimit", {
      target: { case: "pattern", value: "ci/*" },
      newQueueRules: { case: "queueRules", value: { waitingMax: 1, whenFull: WhenFull.END_LONGEST_WAITING } },
      reason: "only the newest push",
    });
    const first = stage.start("job", ["staging", "push-1"], { WORK_SECONDS: 600, TTL_SECONDS: 3 });
    await stage.told("push-1 begins");
    const second = stage.start("job", ["staging", "push-2"], { WORK_SECONDS: 0.2 });
    await stage.until(async () => (await stage.lock("ci/staging")).waiterCount === 1);
    const third = stage.start("job", ["staging", "push-3"], { WORK_SECONDS: 0.2 });
    expect(await second.ended, second.complaints).toBe(0);
    await stage.until(async () => (await stage.lock("ci/staging")).waiterCount === 1);
    await stage.dies(first, "push-1 dies");
    expect(await third.ended, third.complaints).toBe(0);
    const journal = stage.journal();
    expect(journal).toEqual([
      "push-1 begins",
      skipped("push-2"),
      "push-1 dies",
      "push-3 begins",
      "push-3 ends",
    ]);
    expect(mostAtOnce(journal)).toBe(1);
  });

  test("a push that waits too long is not skipped: it ends with 75", async () => {
    const first = stage.start("job", ["live", "push-1"], { WORK_SECONDS: 600, TTL_SECONDS: 3 });
    await stage.told("push-1 begins");
    const second = stage.start("job", ["live", "push-2"], { WAIT_SECONDS: 1 });
    expect(await second.ended, second.complaints).toBe(75);
    expect(stage.journal()).toEqual(["push-1 begins", "push-2 gives up"]);
    await stage.dies(first);
  });
});
