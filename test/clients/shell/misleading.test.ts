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
      expect([code, out]).toEqual([1, ""]);
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
      /^pool\/\*: limit 0 .*\nnot changed, because they have limits of their own: pool\/a\/\* \(2\), pool\/own \(3\)\n$/,
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
  test.each([
    [["run", "x", "python3", "--version"], "rowlock run x -- python3 --version"],
    [["run", "x", "python3", "--quiet"], "rowlock run x -- python3 --quiet"],
    [["run", "x", "--no-wait", "true"], "rowlock run x -- true"],
    [["run", "x", "sh", "--", "-c", "true"], "rowlock run x -- sh -c true"],
    [["capture", "task/", "python3", "--version"], "rowlock capture task/ -- python3 --version"],
  ])("has to stand after --: %j", async (words, meant) => {
    const { code, out, err } = await ran(...words);
    expect([code, out]).toEqual([64, ""]);
    expect(err).toContain(meant);
    expect(await names()).not.toContain("x");
  });

  test.each([[["run", "--", "python3", "job.py"]], [["capture", "--", "true"]]])(
    "is not read as the name of the lock: %j",
    async (words) => {
      const { code, err } = await ran(...words);
      expect(code).toBe(64);
      expect(err).toContain('nothing stands before "--"');
    },
  );

  test.each([["run"], ["capture"]])("of %s keeps its own flags", async (command) => {
    await ran("update", `task/${command}`, "--attempts", "1");
    const words = [
      `task/${command}`,
      "--",
      "sh",
      "-c",
      'test "$1 $2" = "--quiet --version"',
      "sh",
      "--quiet",
    ];
    expect(await ran(command, ...words, "--version")).toMatchObject({ code: 0, err: "" });
  });
});
