// Lock records from the shell: a script captures and releases; what is wrong with a command line is said.

import { afterAll, beforeAll, expect, test } from "vitest";
import { ranInProcess } from "../../cli/in-process.ts";
import { startServer, type TestServer } from "../../support/harness.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const ran = (...args: string[]) => ranInProcess(args, { ROWLOCK_ADDR: server.address });
const lock = async (name: string) => (await server.client.call("getLock", { name })).lock;

test("a capture prints a line for each lock to a script, which releases them by their leases", async () => {
  for (const name of ["task/1", "task/2", "task/3"]) await ran("update", name, "--attempts", "3");
  const { code, out } = await ran("capture", "task/", "--count", "2", "--ttl", "5m", "--owner", "script");
  expect([code, out]).toEqual([0, expect.stringMatching(/^task\/1\t\S+\t1\ntask\/2\t\S+\t1\n$/)]);
  expect(await lock("task/2")).toMatchObject({ holders: [{ owner: "script" }], record: { attemptsLeft: 2 } });
  const lease = out.split("\t")[1] as string;
  const last = ["--status", "done", "--attempts", "9", "--cool-down", "1h"];
  expect(await ran("release", lease, ...last)).toMatchObject({ code: 0, out: "Released.\n" });
  expect((await lock("task/1"))?.record).toMatchObject({ status: "done", attemptsLeft: 9 });
  // A release cannot write a result if its lease has already ended.
  expect(await ran("release", lease, "--status", "late")).toMatchObject({
    code: 1,
    out: "The lease had already ended.\n",
  });
  expect((await lock("task/1"))?.record?.status).toBe("done");
  const json = await ran("capture", "task/", "--count", "2", "--json");
  expect(JSON.parse(json.out)).toMatchObject({ name: "task/3", token: 1 });
  expect(await ran("capture", "task/")).toMatchObject({
    code: 75,
    out: "",
    err: expect.stringMatching(/^rowlock: There is no lock to take under "task\/".*\n$/),
  });
  expect(await ran("capture", "task/", "--quiet")).toEqual({ code: 75, out: "", err: "" });
});

test.each<[string[], RegExp]>([
  [["run", "", "--", "true"], /it is empty/],
  [["run", "l"], /missing required argument .command./],
  [["update", "job"], /say what to set: --status/],
  [["update", "job", "--not-before", "soon"], /a time from now such as 10m, or none/],
  [["update", "job", "--not-before", "2030-01-01"], /an instant with its zone/],
  [
    ["update", "job", "--not-before", "3700d", "--attempts", "many"],
    /2 things[\s\S]*to 3653 d[\s\S]*whole number/,
  ],
  [
    ["limit", "l", "2000000000000"],
    /is not a limit: write a whole number from 0 to 1000000, or --unset for none/,
  ],
  [["limit", "l", "-1"], /"-1" is not a limit: write a whole number from 0 to 1000000/],
  [["delete", "etl/*"], /would be the name of one lock/],
  [["why", "etl/*"], /"etl\/\*" is a pattern: name one lock/],
  [["run", "l", "--wait", "1s", "--no-wait", "--", "true"], /--wait and --no-wait contradict each other/],
  [["update", "l", "--attempts", "-2"], /write a whole number from 0 to 1000000, or unlimited/],
  [["capture", "t/", "--count", "101", "--if-status", "x".repeat(64)], /1 to 100[\s\S]*64 bytes long/],
  [["capture", "t/", "--json", "--", "true"], /leave out --count and --json/],
  [["capture", "t/", "--status-done", "x"], /need a command: add one after the prefix/],
  [["release", "l", "--force", "--reason", "r", "--status", "s"], /cannot be combined with --force/],
])("what is wrong is told: %j", async (args, words) => {
  expect(await ran(...args)).toMatchObject({ code: 64, out: "", err: expect.stringMatching(words) });
});
