// Arguments that look like something else: an error explains what was meant, and nothing is changed.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ranInProcess } from "../../cli/in-process.ts";
import { startServer, type TestServer } from "../../support/harness.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const ran = (...args: string[]) => ranInProcess(args, { ROWLOCK_ADDR: server.address });
const names = async () =>
  (await server.client.call("listLocks", { prefix: "" })).locks.map(({ name }) => name);

describe("a limit", () => {
  test.each([[["etl/*", "0"]], [["etl/*", "--unset"]], [["etl/*"]]])(
    "of a name with a star at its end means a pattern: %j",
    async (words) => {
      const { code, out, err } = await ran("limit", ...words);
      expect([code, out]).toEqual([64, ""]);
      expect(err).toContain("--pattern 'etl/*'");
      expect(await names()).toEqual([]);
    },
  );

  test("of a pattern lists the names under it that it does not change", async () => {
    await ran("limit", "pool/own", "3");
    await ran("limit", "pool/same", "0");
    await ran("limit", "pool", "4");
    await ran("limit", "--pattern", "pool/a/*", "2");
    const set = await ran("limit", "--pattern", "pool/*", "0");
    expect(set.out).toMatch(
      /^pool\/\*: limit 0 .*\nnot changed, because they have limits of their own: pool\/a\/\* \(2\), pool\/own \(3\)\nthese go on; .*\n$/,
    );
    const again = JSON.parse((await ran("limit", "--pattern", "pool/*", "0", "--json")).out);
    expect(again.unaffected).toMatchObject([
      { pattern: "pool/a/*", limit: 2 },
      { name: "pool/own", limit: 3 },
    ]);
    expect((await ran("limit", "--pattern", "pool/*", "--unset")).out).toMatch(
      /^pool\/\*: limit \d+ [^\n]*\n$/,
    );
  });
});

describe("a command to run", () => {
  const check = 'test "$*" = "-q --ttl 5 -- --help"';
  const words = ["sh", "-c", check, "sh", "-q", "--ttl", "5", "--", "--help"];
  test.each([
    [["run", "x"]],
    [["run", "x", "--"]],
    [["run", "--owner", "me", "x", "-q", "--ttl", "5m"]],
    [["run", "x", "--no-wait", "--label=a=b", "--"]],
    [["capture", "task/"]],
    [["capture", "--ttl", "1m", "task/", "-q", "--"]],
  ])("after %j has all flags that follow its name", async (own) => {
    await ran("update", "task/1", "--attempts", "1");
    expect(await ran(...own, ...words)).toMatchObject({ code: 0, err: "" });
  });

  test("leaves the flags before its name to rowlock", async () => {
    const { code, err } = await ran("run", "x", "--ttl", "5x", "--bogus", "sh", "--ttl");
    expect([code, err]).toEqual([64, expect.stringContaining("--bogus")]);
    expect((await ran("run", "x", "--help", "sh")).out).toContain("Usage: rowlock run");
    expect(await names()).not.toContain("y");
  });

  test.each([[["run", "--", "python3", "job.py"]], [["capture", "--", "true"]]])(
    "is not read as the name of the lock: %j",
    async (words) => {
      const { code, err } = await ran(...words);
      expect(code).toBe(64);
      expect(err).toContain('nothing stands before "--"');
    },
  );
});
