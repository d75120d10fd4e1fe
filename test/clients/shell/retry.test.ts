// Tasks that have failed: `rowlock ls --status` finds them, and `rowlock retry` makes them due again.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ranInProcess } from "../../cli/in-process.ts";
import { startServer, type TestServer } from "../../support/harness.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const ran = (...args: string[]) => ranInProcess(args, { ROWLOCK_ADDR: server.address });
async function names(...args: string[]): Promise<string[]> {
  const { out } = await ran("ls", ...args, "--json");
  const lines = out.split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line).name);
}
const record = async (name: string) => (await server.client.shown(name)).record;

test("are listed by status, and by whether they have attempts left, over all pages", async () => {
  for (const [name, status, attempts] of [
    ["task/1", "failed", "3"],
    ["task/2", "done", "3"],
    ["task/3", "failed", "0"],
    ["task/4", "new", "0"],
  ] as const)
    await ran("update", name, "--status", status, "--attempts", attempts);
  expect(await names("task/", "--status", "failed")).toEqual(["task/3", "task/1"]);
  expect(await names("task/", "--status", "failed", "--status", "done")).toEqual([
    "task/2",
    "task/3",
    "task/1",
  ]);
  expect(await names("--exhausted")).toEqual(["task/3", "task/4"]);
  expect(await names("task/*", "--exhausted", "--status", "new")).toEqual(["task/4"]);
  const pages: string[] = [];
  let pageToken = "";
  do {
    const page = await server.client.call("listLocks", {
      prefix: "task/",
      statuses: ["failed", "new"],
      pageSize: 1,
      pageToken,
    });
    pages.push(page.locks.map(({ name }) => name).join());
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(pages).toEqual(["task/3", "task/1", "task/4"]);
});

describe("a listing by status", () => {
  const fault = async (request: object) => {
    const call = server.client.call("listLocks", { statuses: ["failed"], ...request });
    return await call.then(
      () => "none",
      (error: Error) => error.message,
    );
  };

  test("refuses what it cannot do, and foreign tokens", async () => {
    expect(await fault({ busyOnly: true })).toMatch(/statuses: has an order of its own/);
    expect(await fault({ order: 2 })).toMatch(/statuses: has an order of its own/);
    expect(await fault({ statuses: ["x".repeat(64)] })).toMatch(/statuses\[0\]/);
    expect(await fault({ pageToken: "abc" })).toMatch(/page_token: is not one of this server/);
    const { nextPageToken } = await server.client.call("listLocks", {
      statuses: ["failed"],
      prefix: "task/",
      pageSize: 1,
    });
    expect(await fault({ prefix: "other/", pageToken: nextPageToken })).toMatch(/another prefix/);
    expect(await ran("ls", "task/1", "--status", "failed")).toMatchObject({ code: 64 });
    expect(await ran("ls", "task/", "--status", "failed", "--busy")).toMatchObject({ code: 64 });
  });
});

describe("rowlock retry", () => {
  test("makes those in a status due, in another one, and says how many; again, there are none", async () => {
    for (let task = 1; task <= 40; task++)
      await ran(
        "update",
        `mail/${task}`,
        "--status",
        "failed",
        "--attempts",
        String(task % 3),
        "--not-before",
        "1h",
      );
    await server.client.lease({ name: "mail/held", terms: { owner: "a worker" } });
    await ran("update", "mail/held", "--status", "failed");
    await ran("update", "mail/other", "--status", "done");

    const asked = ["retry", "mail/*", "--if-status", "failed", "--status", "new"];
    expect((await ran(...asked, "--dry-run")).out).toBe(
      "Would make 40 locks due, in the status new.\nLeft 1 alone that somebody holds.\n",
    );
    expect((await record("mail/1"))?.status).toBe("failed");
    expect((await ran(...asked, "--max", "15", "--reason", "the disk is back")).out).toBe(
      "Made 15 locks due, in the status new.\nLeft 1 alone that somebody holds.\nThere are more: repeat it, or raise --max.\n",
    );
    expect(JSON.parse((await ran(...asked, "--json")).out)).toEqual({
      retried: 25,
      held: 1,
      changed: 0,
      hasMore: false,
      dryRun: false,
    });
    expect((await ran(...asked)).out).toBe(
      "Made 0 locks due, in the status new.\nLeft 1 alone that somebody holds.\n",
    );
    // Those without attempts have got one.
    expect(await Promise.all([1, 2, 3].map(async (task) => await record(`mail/${task}`)))).toMatchObject(
      [1, 2, 1].map((attemptsLeft) => ({ status: "new", attemptsLeft })),
    );
    expect((await record("mail/1"))?.notBefore).toBeUndefined();
    expect((await record("mail/other"))?.status).toBe("done");
    expect((await ran("history", "mail/3", "--changes")).out).toMatch(/the disk is back/);
  });

  test("leaves a task alone that changes meanwhile", async () => {
    await ran("update", "race/1", "--status", "failed");
    await ran("update", "race/2", "--status", "failed");
    const { client } = server;
    // Another operator is faster with one of them.
    const [before] = (await client.call("listLocks", { prefix: "race/1", statuses: ["failed"] })).locks;
    await ran("update", "race/1", "--attempts", "5");
    expect((await record("race/1"))?.version).not.toBe(before?.record?.version);
    expect((await ran("retry", "race/", "--exhausted")).out).toBe("Made 0 locks due.\n");
    expect((await ran("retry", "race/", "--if-status", "failed")).out).toBe("Made 2 locks due.\n");
    expect(await record("race/1")).toMatchObject({ status: "", attemptsLeft: 5 });
  });

  test("asks for a prefix, and which of its locks", async () => {
    expect(await ran("retry", "mail")).toMatchObject({
      code: 64,
      err: expect.stringMatching(
        /is one lock: write a prefix such as mail\/[\s\S]*say which: --if-status failed/,
      ),
    });
  });
});
