// `rowlock runs` and `rowlock check`: how the runs of a job went, for a person and for a monitoring system.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Runs, verdict } from "../../../clients/shell/check.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import { startServer, type TestServer } from "../../support/harness.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const ran = (...args: string[]) => ranInProcess(args, { ROWLOCK_ADDR: server.address });
const run = (name: string, ...command: string[]) => ran("run", name, "-q", "--", ...command);

describe("rowlock runs", () => {
  test("shows the last runs, newest first, how each ended, and a strip, oldest first", async () => {
    await run("cron/a", "true");
    await ran("update", "cron/a", "--status", "known");
    await run("cron/a", "false");
    await server.client.lease({ name: "cron/a", terms: { owner: "a laptop" } });
    await server.client.force("cron/a", "it hung");
    await server.client.lease({ name: "cron/a", terms: { owner: "the next one" } });

    const { code, out } = await ran("runs", "cron/a");
    const [titles = "", ...lines] = out.split("\n");
    expect(code).toBe(0);
    expect(titles).toMatch(/^BEGAN +TOOK +OWNER +TOKEN +ENDED +STATUS$/);
    expect(lines).toEqual([
      expect.stringMatching(/ the next one +4 +runs now$/),
      expect.stringMatching(/ a laptop +3 +force released: it hung$/),
      expect.stringMatching(/ +2 +failed +known$/),
      expect.stringMatching(/ +1 +released$/),
      "",
      ".Fx",
      "",
    ]);
    expect((await ran("runs", "cron/a", "--last", "2")).out).toMatch(/runs now\n.*it hung\n\nx\n$/);
    const [newest = ""] = (await ran("runs", "cron/a", "--json", "--last", "1")).out.split("\n");
    expect(JSON.parse(newest)).toMatchObject({ state: "held", owner: "the next one" });
  });

  test("says where runs are kept if there is none", async () => {
    expect((await ran("runs", "cron/none")).out).toMatch(
      /^The history has no run of cron\/none: .*ROWLOCK_HISTORY/,
    );
  });
});

describe("rowlock check", () => {
  test("finds the last success in the history, or in the record", async () => {
    expect(await ran("check", "cron/b", "--ok-within", "1h")).toMatchObject({
      code: 3,
      out: expect.stringMatching(/^UNKNOWN - cron\/b: no success is known/),
    });
    await run("cron/b", "true");
    const good = {
      code: 0,
      out: expect.stringMatching(/^OK - cron\/b: last success \d+ m?s ago \(.*\) \| age=\d+s;;3600;0\n$/),
    };
    expect(await ran("check", "cron/b", "--ok-within", "1h")).toMatchObject(good);
    await ran("update", "cron/b", "--not-before", "none");
    await run("cron/b", "true");
    expect(await ran("check", "cron/b", "--ok-within", "1h")).toMatchObject(good);
    await run("cron/b", "false");
    expect(await ran("check", "cron/b", "--ok-within", "1h")).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^WARNING - cron\/b: last success .*, 1 run has failed since \| age=/),
    });
    expect((await ran("show", "cron/b")).out).toMatch(/failures +1 in a row\n.*last success/);
  });

  test("ends as unknown without a server, and refuses a line that does not say how long", async () => {
    const nowhere = { ROWLOCK_ADDR: "127.0.0.1:1" };
    const { code, out } = await ranInProcess(["check", "a", "--ok-within", "1h"], nowhere);
    expect([code, out]).toEqual([3, expect.stringMatching(/^UNKNOWN - a: .*127\.0\.0\.1:1.*\n$/)]);
    expect(await ran("check", "a")).toMatchObject({ code: 64, err: expect.stringMatching(/--ok-within/) });
  });

  const HOUR_MS = 3_600_000;
  const NOW_MS = Date.UTC(2026, 10, 30, 12);
  const ago = (hours: number) => new Date(NOW_MS - hours * HOUR_MS);
  test.each<[string, Partial<Runs>, RegExp]>([
    ["CRITICAL", { lastSuccessAt: ago(27) }, /^last success 27 h ago .* \| age=97200s;;93600;0$/],
    ["CRITICAL", { lastSuccessAt: ago(27), failures: 2 }, /, 2 runs have failed since \|/],
    ["CRITICAL", { lastSuccessAt: ago(1), heldSince: ago(3) }, /, runs now for 3 h, which is too long \|/],
    ["OK", { lastSuccessAt: ago(25), heldSince: ago(1) }, /, runs now for 60 min \|/],
    ["WARNING", { lastSuccessAt: ago(25), failures: 1 }, /, 1 run has failed since \|/],
    ["CRITICAL", { knownFrom: ago(26) }, /^no success is known, and the history begins at [^|]*$/],
    ["UNKNOWN", { knownFrom: ago(25) }, /^no success is known, and the history begins/],
    ["UNKNOWN", {}, /^no success is known$/],
  ])("says %s for %o", (state, runs, words) => {
    expect(verdict({ failures: 0, ...runs }, 26 * HOUR_MS, 2 * HOUR_MS, NOW_MS)).toEqual([
      state,
      expect.stringMatching(words),
    ]);
  });
});

test("a command that fails lets the lock rest, twice as long each time", async () => {
  const rest = ["--backoff", "10s", "--backoff-max", "15s", "--no-wait"];
  for (const longest of [10, 15]) {
    expect(await ran("run", "rests", ...rest, "false")).toMatchObject({ code: 1 });
    expect(await ran("run", "rests", "--no-wait", "true")).toMatchObject({ code: 75 });
    const { record } = await server.client.shown("rests");
    const leftS = Number(record?.notBefore?.seconds) - Date.now() / 1_000;
    expect(leftS).toBeGreaterThan(longest - 6);
    expect(leftS).toBeLessThanOrEqual(longest);
    await ran("update", "rests", "--not-before", "none");
  }
});
