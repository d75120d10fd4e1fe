// `rowlock pause` and `resume`: also limits that names have of their own, and nobody's change is lost.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pausedLimit, reasonOf } from "../../../clients/shell/paused-limits.ts";
import type { LockEngine } from "../../../server/engine/engine.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import { startServer, type TestServer } from "../../support/harness.ts";

let server: TestServer;
/** Called before the server sets the limit of a name. */
let beforeSetting: (name: string) => Promise<unknown> = async () => {};

beforeEach(async () => {
  beforeSetting = async () => {};
  const wrapEngine = (engine: LockEngine) =>
    new Proxy(engine, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (key !== "ask") return typeof value === "function" ? value.bind(target) : value;
        return async (command: Parameters<LockEngine["ask"]>[0]) => {
          if (command.verb === "set_limit") await beforeSetting(command.name);
          return await target.ask(command);
        };
      },
    });
  server = await startServer({ wrapEngine });
});
afterEach(() => server.stop());

const ran = (...args: string[]) => ranInProcess(args, { ROWLOCK_ADDR: server.address });

/** All settings: `etl/load 4 why`. */
async function settings(): Promise<string[]> {
  const { out } = await ran("limit", "--json");
  const lines = out.split("\n").filter(Boolean);
  return lines.map((line) => {
    const { name, pattern, limit, reason } = JSON.parse(line);
    return `${name ?? pattern} ${limit} ${reason}`.trim();
  });
}

const isStopped = async (name: string) => (await ran("run", name, "--no-wait", "true")).code === 75;

describe("a pause of a pattern", () => {
  test("stops names with limits of their own, and its end sets back what was there", async () => {
    await ran("limit", "etl/load", "4", "--reason", "two cards");
    await ran("limit", "--pattern", "etl/a/*", "2");
    await ran("limit", "etl/off", "0", "--reason", "broken disk");
    await ran("limit", "etlx", "3");
    const before = await settings();

    const paused = await ran("pause", "etl/*", "--reason", "upgrade");
    expect(paused).toMatchObject({ code: 0, err: "" });
    expect(paused.out.trim().split("\n").sort()).toEqual([
      "etl/*: limit 0, was not set; 0 held, 0 waiting",
      "etl/a/*: limit 0, was 2; 0 held, 0 waiting",
      expect.stringMatching(/^etl\/load: limit 0, was 4; 0 held/),
      expect.stringMatching(/^etl\/off: limit 0, /),
    ]);
    for (const name of ["etl/load", "etl/a/x", "etl/new"]) expect(await isStopped(name)).toBe(true);
    expect(await isStopped("etlx")).toBe(false);
    expect((await ran("limit", "etl/load")).out).toContain("upgrade [paused by");
    expect((await ran("run", "etl/new", "--no-wait", "true")).err).toMatch(
      /: `rowlock resume 'etl\/\*'` ends that\.$/m,
    );

    expect(await ran("resume", "etl/*")).toMatchObject({ code: 0, err: "" });
    expect(await settings()).toEqual(before);
    expect(await isStopped("etl/new")).toBe(false);
  });

  test.each([
    ["etl/*", "etl/a/*"],
    ["etl/a/*", "etl/*"],
  ])("and another one hold what is under both until both have ended, %s first", async (first, second) => {
    await ran("limit", "etl/a/x", "4", "--reason", "why");
    await ran("pause", "etl/*", "--reason", "one");
    await ran("pause", "etl/a/*", "--reason", "two");
    await ran("resume", first);
    expect(await isStopped("etl/a/x")).toBe(true);
    expect(await isStopped("etl/b")).toBe(first !== "etl/*");
    await ran("resume", second);
    expect(await settings()).toEqual(["etl/a/x 4 why"]);
  });

  test("overwrites no change that another operator makes at the same time", async () => {
    await ran("limit", "etl/load", "4");
    let isFirst = true;
    beforeSetting = async () => {
      if (!isFirst) return;
      isFirst = false;
      await ran("limit", "etl/load", "7", "--reason", "mine");
    };
    expect(await ran("pause", "etl/*")).toMatchObject({ code: 0, err: "" });
    expect(await isStopped("etl/load")).toBe(true);
    await ran("resume", "etl/*");
    expect(await settings()).toEqual(["etl/load 7 mine"]);
  });
});

test("the end of a pause says which one still holds the name or the pattern", async () => {
  await ran("pause", "etl/*");
  for (const inner of ["etl/load", "etl/a/*"]) {
    await ran("pause", inner);
    expect(await ran("resume", inner)).toEqual({
      code: 0,
      out: `${inner}: limit 0, also paused by etl/*; 0 held, 0 waiting\n`,
      err: "",
    });
    expect(await ran("resume", inner)).toEqual({
      code: 1,
      out: "",
      err: `rowlock: "${inner}" is paused by "etl/*": \`rowlock resume 'etl/*'\` ends that.\n`,
    });
  }
  await ran("limit", "--pattern", "etl/*", "0", "--reason", "by hand");
  await ran("pause", "etl/load");
  expect((await ran("resume", "etl/load")).out).toBe("etl/load: limit 0, was 0; 0 held, 0 waiting\n");
});

test("a wait that ends under a pause names the pause", async () => {
  await ran("pause", "etl/*", "--reason", "upgrade");
  const { code, err } = await ran("run", "etl/load", "--wait", "50ms", "true");
  expect([code, err]).toEqual([
    75,
    expect.stringContaining(
      '"etl/load" did not become free in time: it is paused (upgrade [paused by "etl/*"; was unset]): ' +
        "`rowlock resume 'etl/*'` ends that.\n",
    ),
  ]);
});

test("a reason that is too long for its marks is an error, and a former one is shortened", async () => {
  const { code, err } = await ran("pause", "etl/*", "--reason", "x".repeat(250));
  expect([code, err]).toEqual([64, expect.stringContaining("--reason is too long by")]);
  const paused = {
    by: ['odd "], name', "*"],
    limit: 4,
    reason: "é".repeat(120),
    why: 'a [paused by "x"; was 1]',
  };
  const reason = reasonOf(paused);
  expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(255);
  expect(pausedLimit({ limit: 0, reason })).toEqual({
    ...paused,
    reason: expect.stringMatching(/^é{50,}…$/),
  });
  expect(pausedLimit({ limit: 1, reason })).toBeUndefined();
});

test.each([["run"], ["acquire"], ["update"]])(
  "%s takes no pattern, and says where one belongs",
  async (command) => {
    const { code, err } = await ran(command, "etl/*", command === "update" ? "--status=x" : "true");
    expect([code, err]).toEqual([64, expect.stringContaining("--pattern")]);
  },
);

test.each([
  ["etl/", ["etl/a", "etl/b"]],
  ["etl/*", ["etl/a", "etl/b"]],
  ["et*", ["etl", "etl/a", "etl/b"]],
  ["etl", ["etl"]],
  ["et", []],
  ["", ["etl", "etl/a", "etl/b", "x"]],
])("ls %j lists %j", async (text, names) => {
  for (const name of ["etl/b", "etl", "etl/a", "x"]) await server.client.lease({ name });
  const listed = await ran("ls", text, "--json");
  expect(
    listed.out
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line).name),
  ).toEqual(names);
  const claims = await ran("ls", text, "--older-than", "0", "--json");
  expect(
    claims.out
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line).lockName)
      .sort(),
  ).toEqual(names);
  if (names.length === 0) expect((await ran("ls", text)).out).toContain("rowlock ls 'et*'");
});
