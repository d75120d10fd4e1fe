// The shell's JSON has exactly the fields of the table in docs/shell.md.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ranInProcess } from "../cli/in-process.ts";
import { startServer, type TestServer } from "../support/harness.ts";

const text = readFileSync(join(import.meta.dirname, "../../docs/shell.md"), "utf8");
const table = /## JSON\n([\s\S]*?)\n## /.exec(text)?.[1] ?? "";

/** The fields in the second cell of the row that begins with these words. */
function documented(row: string): string[] {
  const line = table.split("\n").find((each) => each.startsWith(`| ${row} |`));
  return [...(line?.split("|")[2] ?? "").matchAll(/`(\w+)`/g)].map(([, field]) => field as string).sort();
}

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

async function json(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, out, err } = await ranInProcess([...args, "--json"], { ROWLOCK_ADDR: server.address });
  expect([code, err]).toEqual([0, ""]);
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const fields = (object: unknown) => Object.keys(object as object).sort();
/** The same without queue rules, which few locks have. */
const ofLock = (row: string) => documented(row).filter((field) => field !== "queueRules");
const without = (row: readonly string[], ...left: string[]) => row.filter((field) => !left.includes(field));

test("of locks, holders and waiters", async () => {
  await server.client.lease({ name: "etl/load" });
  await server.client.ticket({ name: "etl/load" });
  const [listed] = await json("ls");
  const [shown] = await json("show", "etl/load");
  for (const lock of [listed, shown]) {
    expect(fields(lock)).toEqual(without(ofLock("`ls`, `show`"), "rate", "record", "pools"));
    const { holders, waiters, limit } = lock as Record<string, object[]>;
    expect(fields(holders?.[0])).toEqual(documented("a holder"));
    expect(fields(waiters?.[0])).toEqual(documented("a waiter"));
    expect(fields(limit)).toEqual(without(documented("`limit` of a lock"), "pattern"));
  }
  const ended = await json("release", "etl/load", "--force", "--reason", "test");
  expect(ended.map(fields)).toEqual([[...without(documented("a holder"), "expiresAt"), "end"].sort()]);
});

test("of the history, of explanations and of usage", async () => {
  await server.client.lease({ name: "past/a" });
  await server.client.ticket({ name: "past/a" });
  const waiter = documented("a waiter");
  const times = without(documented("`history`"));
  const [held, waiting] = await json("history", "past/a");
  expect(fields(held)).toEqual([...documented("a holder"), ...times].sort());
  expect(fields(waiting)).toEqual([...waiter, "waitedMs"].sort());
  const [why] = await json("why", "past/a#2");
  expect(fields(why)).toEqual(without(documented("`why`"), "estimate"));
  const { claim, causes } = why as Record<string, object[]>;
  expect(fields(claim)).toEqual(waiter);
  const [cause] = causes ?? [];
  expect(fields(cause)).toEqual(["firstEndsAt", "holderCount", "holders", "kind"]);
  expect(documented("a cause")).toEqual(expect.arrayContaining(fields(cause)));
  const [usage] = await json("top", "past/", "--once");
  expect(fields(usage)).toEqual(documented("`top`"));
  const [older] = await json("ls", "past/", "--older-than", "0");
  expect(fields(older)).toEqual(documented("a holder"));
  const refs = { case: "name", value: "past/a" } as const;
  await server.client.call("forceRelease", { target: refs, reason: "test" });
  const [ended] = await json("history", "past/a", "--ended", "force-released");
  // It did not wait, so no server kept its place.
  expect(fields(ended)).toEqual(without([...documented("an ended claim"), ...times].sort(), "replica"));
  expect(fields(ended?.end)).toEqual(without(documented("`end`"), "status"));
  const [change] = await json("history", "past/a", "--forced");
  const ofChanges = documented("`history --changes`");
  expect(fields(change)).toEqual(without(ofChanges, "pattern", "pool", "from", "to", "rateFrom", "rateTo"));
  await json("limit", "past/a", "3");
  const [limit] = await json("history", "past/a", "--limits");
  expect(fields(limit)).toEqual(without(ofChanges, "pattern", "pool", "from", "claim", "rateFrom", "rateTo"));
  for (let lease = 0; lease < 5; lease++) {
    const { leaseId } = await server.client.lease({ name: "past/b" });
    await server.client.call("release", { leaseId });
  }
  await server.client.lease({ name: "past/b" });
  const [estimated] = await json("why", "past/b");
  expect(fields(estimated)).toEqual(without(documented("`why`"), "claim"));
  expect(fields(estimated?.estimate)).toEqual(documented("`estimate`"));
});

test("of limits", async () => {
  const ofSet = without(ofLock("`rowlock limit NAME 3`, `pause`, `resume`"), "pool", "counting", "noLimit");
  const [set] = await json("limit", "pool", "3");
  expect(fields(set)).toEqual(without(ofSet, "pattern", "rate"));
  const [one] = await json("limit", "--pattern", "pool/*", "4");
  expect(fields(one)).toEqual(without(ofSet, "name", "rate"));
  const [pattern, name] = await json("limit");
  const ofSetting = without(ofLock("`rowlock limit`"), "pool", "use", "rate");
  expect(fields(name)).toEqual(without(ofSetting, "pattern"));
  expect(fields(pattern)).toEqual(without(ofSetting, "name"));
  const [under] = await json("show", "pool/a");
  expect(fields(under?.limit)).toEqual(documented("`limit` of a lock"));
});

test("of rates and what was spent", async () => {
  const ofSet = without(ofLock("`rowlock limit NAME 3`, `pause`, `resume`"), "pool", "counting", "noLimit");
  const [set] = await json("limit", "api", "--rate", "500/1m");
  expect(fields(set)).toEqual(without(ofSet, "pattern"));
  const [pattern] = await json("limit", "--pattern", "api/*", "4", "--rate", "1/1s", "--burst", "2");
  expect(fields(pattern)).toEqual(without(ofSet, "name"));
  const settings = await json("limit");
  const [rateOnly] = settings.filter((each) => each.name === "api");
  expect(fields(rateOnly)).toEqual(without(ofLock("`rowlock limit`"), "pool", "use", "pattern", "limit"));
  const [shown] = await json("show", "api/a");
  expect(fields(shown)).toEqual(without(ofLock("`ls`, `show`"), "record", "pools"));
  expect(fields(shown?.rate)).toEqual(documented("`rate` of a lock"));
  const [one] = await json("limit", "api/a");
  expect(fields(one)).toEqual([...documented("`limit` of a lock"), "name", "rate"].sort());
  const [spent] = await json("spend", "api/a", "--permits", "2");
  expect(fields(spent)).toEqual(documented("`spend`"));
  const [why] = await json("why", "api/a");
  const [cause] = (why as Record<string, object[]>).causes ?? [];
  expect(fields(cause)).toEqual(["kind", "rate", "until"]);
  expect(documented("a cause")).toEqual(expect.arrayContaining(fields(cause)));
  const [claim] = await json("history", "api/a");
  expect(claim).toMatchObject({ spendOnly: true, permits: 2, end: { reason: "SPENT" } });
  await json("limit", "api", "--unset-rate");
  const [change] = await json("history", "api", "--limits");
  expect(change).toMatchObject({ kind: "limit", rateFrom: { permits: 500, per: 60_000, burst: 500 } });
  expect(documented("`history --changes`")).toEqual(expect.arrayContaining(fields(change)));
});

test("of pools, and of who waits at one", async () => {
  const ofSet = ofLock("`rowlock limit NAME 3`, `pause`, `resume`");
  const [set] = await json("limit", "--pool", "tree/*", "1", "--rate", "500/1m");
  expect(fields(set)).toEqual(without(ofSet, "name", "pattern", "noLimit"));
  await server.client.lease({ name: "tree/a" });
  await server.client.ticket({ name: "tree/b" });
  const [listed] = await json("limit", "--pool", "tree/*");
  expect(fields(listed)).toEqual(without(ofLock("`rowlock limit`"), "name", "pattern"));
  expect(fields(listed?.use)).toEqual(documented("`use` of a pool"));
  const [shown] = await json("show", "tree/b");
  expect(fields(shown)).toEqual(without(ofLock("`ls`, `show`"), "rate", "record"));
  const { pools, waiters } = shown as Record<string, object[]>;
  expect(fields(pools?.[0])).toEqual(documented("a pool over a lock"));
  expect(fields(waiters?.[0])).toEqual([...documented("a waiter"), "pool"].sort());
  const [why] = await json("why", "tree/b#1");
  const [cause] = (why as Record<string, object[]>).causes ?? [];
  expect(fields(cause)).toEqual(["ahead", "kind", "permitsAhead", "pool", "waitsHere"]);
  expect(documented("a cause")).toEqual(expect.arrayContaining(["pool", "waitsHere", "ahead", "rateUntil"]));
  const [removed] = await json("limit", "--pool", "tree/*", "--unset", "--unset-rate");
  expect(fields(removed)).toEqual(without(ofSet, "name", "pattern", "rate", "counting"));
});

test("of queue rules", async () => {
  const [set] = await json("limit", "queue", "--waiting-max", "3", "--head-start-max", "10m");
  expect(fields(set)).toContain("queueRules");
  await json("limit", "--pattern", "queue/*", "--share-by", "principal", "--reason", "fair");
  const shown = await Promise.all(["queue", "queue/a"].map(async (name) => (await json("show", name))[0]));
  const all = [...new Set(shown.flatMap((lock) => fields(lock?.queueRules)))].sort();
  expect(all).toEqual(documented("`queueRules` of a lock"));
  const [one] = await json("limit", "queue");
  const settings = await json("limit");
  for (const each of [one, ...settings.filter(({ name }) => name === "queue")])
    expect(each?.queueRules).toMatchObject({ waitingMax: 3, whenFull: "refuse", headStartMax: 600_000 });
});

test("of leases", async () => {
  const [acquired] = await json("acquire", "job");
  expect(fields(acquired)).toEqual(documented("`acquire`, `capture`"));
  const lease = String(acquired?.leaseId);
  const [renewed] = await json("renew", lease);
  expect(fields(renewed)).toEqual(documented("`renew`"));
  const [released] = await json("release", lease);
  expect(fields(released)).toEqual(["leaseId", "released"]);
});

test("of what a lock remembers", async () => {
  const [updated] = await json("update", "task", "--status", "new", "--attempts", "2", "--not-before", "0");
  expect(fields(updated)).toEqual(
    without(
      [...documented("`update`"), ...documented("`record`")].sort(),
      "record",
      "lastRun",
      "lastSuccess",
    ),
  );
  const [captured] = await json("capture", "task");
  expect(fields(captured)).toEqual(documented("`acquire`, `capture`"));
  await json("release", String(captured?.leaseId), "--status", "done");
  const [lock] = await json("show", "task");
  expect(fields(lock)).toEqual(without(ofLock("`ls`, `show`"), "rate", "pools"));
  const record = lock?.record as Record<string, unknown>;
  expect(fields(record)).toEqual(documented("`record`"));
  expect(fields(record.lastRun)).toEqual(documented("`lastRun`"));
  const [deleted] = await json("delete", "task");
  expect(fields(deleted)).toEqual(documented("`delete`"));
});
