// The recipe of a job that one of many identical servers runs each hour: all servers at once, while the running one
// dies.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { mostAtOnce, whoDid } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { type Run, recipeStage, type Settings } from "./stage.ts";

/** Starting a program for each server is slow, so only one language runs many of them. */
const SERVERS: Readonly<Record<string, number>> = { TypeScript: 25, Python: 6, "the shell": 6 };
const STARTED_AT_ONCE = 5;
const EVERY_MS = 2_000;

inEachLanguage((language) => {
  const stage = recipeStage("hourly-farm", language);

  /** Starts this many servers, by name, all of which wait for this job or run it. */
  async function farm(JOB: string, count: number, settings: Settings) {
    const servers = new Map<string, Run>();
    const watched = stage.server.client.watch(JOB);
    while (servers.size < count) {
      const SERVER = `server-${servers.size + 1}`;
      servers.set(SERVER, stage.start("report", [], { JOB, SERVER, ...settings }));
      if (servers.size === count || servers.size % STARTED_AT_ONCE === 0)
        await watched.shows(
          JOB,
          ({ waiterCount, holderCount }) => waiterCount + holderCount === servers.size,
        );
    }
    return { servers, watched };
  }

  const many = SERVERS[language.name] as number;
  test(`${many} servers write one report an hour, each in its turn, and never two at once`, async () => {
    const JOB = "hourly/in-turn";
    // Not before all servers are running.
    await stage.server.client.call("updateRecord", {
      name: JOB,
      newNotBefore: { case: "notBeforeIn", value: { seconds: 3_600n } },
    });
    const { watched } = await farm(JOB, many, { EVERY_SECONDS: EVERY_MS / 1_000, WORK_SECONDS: 0.1 });
    expect(stage.journal()).toEqual([]);
    await stage.server.client.call("updateRecord", {
      name: JOB,
      newNotBefore: { case: "unsetNotBefore", value: {} },
    });
    await stage.told(/ ends$/, 3);

    const lines = stage.journal();
    expect(mostAtOnce(lines)).toBe(1);
    const ends = whoDid("ends", lines);
    expect(new Set(ends).size).toBe(ends.length);
    await watched.shows(JOB, ({ record }) => (record?.lastRun?.fencingToken ?? 0n) >= 3n);
    const grants = watched.messages.flatMap(({ locks }) =>
      locks.map(({ record }) => record?.lastRun?.grantedAt),
    );
    const grantedMs = [...new Set(grants.filter((at) => at !== undefined).map(timestampMs))];
    expect(grantedMs.length).toBeGreaterThanOrEqual(3);
    for (const [index, ms] of grantedMs.slice(1).entries())
      expect(ms - (grantedMs[index] as number)).toBeGreaterThanOrEqual(EVERY_MS);
  });

  test("if the server that writes it dies, or loses the lock, another one writes it at once", async () => {
    const JOB = "hourly/taken-over";
    const { servers } = await farm(JOB, 3, { TTL_SECONDS: 3, WORK_SECONDS: 600 });
    await stage.told(/ begins/, 1);
    const [first = ""] = whoDid("begins", stage.journal());
    await stage.dies(servers.get(first) as Run, `${first} dies`);
    await stage.told(/ begins/, 2);
    // Before that, the server does not know that anyone fetched the lease, and the end of the lease would not count
    // as a run.
    await stage.until(async () => (await stage.lock(JOB)).holders[0]?.provisional === false);
    const target = { case: "name", value: JOB } as const;
    await stage.server.client.call("forceRelease", { target, reason: "it hangs" });
    await stage.told(/ begins/, 3);
    const lines = stage.journal();
    const [, second = "", third = ""] = whoDid("begins", lines);
    expect(lines.indexOf(`${first} dies`)).toBe(1);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(whoDid("ends", lines)).toEqual([]);
    expect((await stage.lock(JOB)).record).toMatchObject({ lastRun: { owner: second, fencingToken: 2n } });
  });

  if (language.ending === "sh")
    test("a report that fails is written again soon, and not in an hour", async () => {
      const JOB = "hourly/fails";
      const failing = stage.start("report", [], { JOB, RETRY_SECONDS: 0, WORK_SECONDS: "nonsense" });
      await stage.told(/ begins/, 2);
      await stage.dies(failing, "it dies");
      expect(whoDid("ends", stage.journal())).toEqual([]);
    });
});
