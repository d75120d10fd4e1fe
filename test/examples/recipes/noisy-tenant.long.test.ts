// The recipe of tenants that share a few GPUs, of which one asks for most.

import { expect, test } from "vitest";
import { mostAtOnce } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

inEachLanguage((language) => {
  const stage = recipeStage("noisy-tenant", language);

  test("the next free GPU goes to the tenant that has fewest, and a dead job gives its own back", async () => {
    await stage.server.client.call("setLimit", {
      target: { case: "name", value: "gpu" },
      newLimit: { case: "limit", value: 2 },
      newQueueRules: { case: "queueRules", value: { shareBy: "label:tenant" } },
      reason: "two GPUs",
    });
    const waiting = (count: number) =>
      stage.until(async () => (await stage.lock("gpu")).waiterCount === count);
    const dying = stage.start("job", ["acme", "acme-1"], { WORK_SECONDS: 600, TTL_SECONDS: 3 });
    await stage.told("acme-1 begins");
    const long = stage.start("job", ["acme", "acme-2"], { WORK_SECONDS: 600, TTL_SECONDS: 3 });
    await stage.told("acme-2 begins");
    const ended: Promise<unknown>[] = [];
    for (const [at, [tenant, job]] of [
      ["acme", "acme-3"],
      ["acme", "acme-4"],
      ["bolt", "bolt-1"],
      ["bolt", "bolt-2"],
    ].entries()) {
      const run = stage.start("job", [tenant as string, job as string], { WORK_SECONDS: 0.2 });
      ended.push(run.ended.then((code) => expect(code, run.complaints).toBe(0)));
      await waiting(at + 1);
    }
    await stage.dies(dying, "acme-1 dies");
    await Promise.all(ended);
    await stage.dies(long);
    const journal = stage.journal();
    // While acme has the other GPU, bolt has none when one is free.
    expect(journal.filter((line) => line.endsWith("begins")).slice(2)).toEqual([
      "bolt-1 begins",
      "bolt-2 begins",
      "acme-3 begins",
      "acme-4 begins",
    ]);
    expect(mostAtOnce(journal)).toBe(2);
  });
});
