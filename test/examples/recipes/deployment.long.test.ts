// The recipe of deployments of services that share a database: side by side, and never beside a migration.

import { expect, test } from "vitest";
import { mostAtOnce } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { recipeStage } from "./stage.ts";

const LONG_WORK = { WORK_SECONDS: 600, TTL_SECONDS: 3 };
const SHORT_WORK = { WORK_SECONDS: 0.2 };

inEachLanguage((language) => {
  const stage = recipeStage("deployment", language);

  const waitFor = (name: string, waiting: number) =>
    stage.until(async () => (await stage.lock(name)).waiterCount === waiting);

  test("services are deployed side by side; a migration waits for them, and whoever comes later for it", async () => {
    const users = ["shop", "mail"].map((service) =>
      stage.start("deploy", [service, "orders", "use"], LONG_WORK),
    );
    await stage.told(/begins$/, 2);
    expect(mostAtOnce(stage.journal())).toBe(2);
    const migration = stage.start("deploy", ["stock", "orders", "migrate"], SHORT_WORK);
    await waitFor("database/orders", 1);
    const later = stage.start("deploy", ["bills", "orders", "use"], SHORT_WORK);
    await waitFor("database/orders", 2);
    // Another database is nobody's concern.
    await stage.ran("deploy", ["wiki", "pages", "migrate"], SHORT_WORK);
    for (const [at, run] of users.entries()) await stage.dies(run, `${["shop", "mail"][at]} dies`);
    expect(await Promise.all([migration.ended, later.ended])).toEqual([0, 0]);
    expect(stage.journal().slice(-4)).toEqual(["stock begins", "stock ends", "bills begins", "bills ends"]);
  });

  test("a migration that waits too long gives up with 75, holds nothing meanwhile, and others go on", async () => {
    const user = stage.start("deploy", ["shop", "events", "use"], LONG_WORK);
    await stage.told("shop begins");
    const migration = stage.start("deploy", ["stock", "events", "migrate"], {
      ...SHORT_WORK,
      WAIT_SECONDS: 2,
    });
    await waitFor("deploy/stock", 1);
    expect((await stage.lock("deploy/stock")).heldPermits).toBe(0n);
    expect(await migration.ended, migration.complaints).toBe(75);
    await stage.ran("deploy", ["mail", "events", "use"], SHORT_WORK);
    expect(stage.journal()).toEqual(["shop begins", "stock gives up", "mail begins", "mail ends"]);
    await stage.dies(user);
  });

  test("one service is deployed by one pipeline at a time", async () => {
    const runs = ["use", "migrate", "use"].map((how) =>
      stage.start("deploy", ["shop", "goods", how], SHORT_WORK),
    );
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([0, 0, 0]);
    expect(mostAtOnce(stage.journal())).toBe(1);
  });
});
