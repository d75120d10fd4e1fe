// What happened and why something waits, through processes: one holds a lock, others wait, an operator asks why, ends the
// lease with a reason, and finds all of it in the history.

import { describe, expect, test } from "vitest";
import { freshSqlite, testDatabases } from "../support/database.ts";
import type { Exit } from "./server-process.ts";
import { processStage } from "./stage.ts";

const stage = processStage();
/** A wait of more than ten seconds, among many processes. */
const LONG_MS = 180_000;

async function shell(fresh: Parameters<typeof stage.database>[0]) {
  const server = await stage.serving(await stage.database(fresh), "--grace", "2m");
  const env = { ROWLOCK_ADDR: server.grpcAddress };
  return {
    server,
    env,
    rowlock: (...args: string[]) => stage.rowlock(args, env),
    ran: (...args: string[]): Promise<Exit> => stage.rowlock(args, env).exited,
  };
}

const objects = (out: string) =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe.each(testDatabases())("on $label", ({ fresh }) => {
  test("a wait is explained, and found in the history with the release that ended it", {
    timeout: LONG_MS,
  }, async () => {
    const { rowlock, ran } = await shell(fresh);
    const holding = rowlock(
      "run",
      "etl/load",
      "--owner",
      "stuck",
      "--",
      "sh",
      "-c",
      "echo has it; exec sleep 1000",
    );
    await holding.said(/has it/);
    const waiting = rowlock("run", "etl/load", "--owner", "next", "--", "echo", "my turn");
    await waiting.logged(/next in the queue/);

    const why = await ran("why", "etl/load#2");
    expect(why).toMatchObject({ code: 0, err: "" });
    expect(why.out).toMatch(/^etl\/load#2: 1st in the queue; held by stuck/);
    expect(why.out).toMatch(
      /\n {2}- stuck \(#1\) holds it; unless [^\n]*: rowlock release etl\/load --force --ticket 1 --reason WHY\n/,
    );
    expect((await ran("why", "etl/load")).out).toMatch(/stuck[\s\S]*next \(#2\) waits before it/);
    // After ten seconds.
    await waiting.logged(/rowlock: waiting for "etl\/load": 1st in the queue; held by stuck[^\n]*\n/);

    const forced = await ran(
      "release",
      "etl/load",
      "--force",
      "--ticket",
      "1",
      "--reason",
      "its host is dead",
    );
    expect(forced.code).toBe(0);
    expect((await holding.exited).code).toBe(76);
    const { code, out, err } = await waiting.exited;
    expect([code, out]).toEqual([0, "my turn\n"]);
    expect(err.match(/held by stuck/g)).toHaveLength(1);

    const history = await ran("history", "etl/load");
    expect(history).toMatchObject({ code: 0, err: "" });
    const [titles, second, first, ...others] = history.out.split("\n");
    expect(titles).toMatch(/^CLAIM +REQUESTED +WAITED +HELD +TAKES +TOKEN +OWNER +STATE$/);
    expect(second).toMatch(/^#2 .* 1 permit +2 +next +released$/);
    expect(first).toMatch(/^#1 .* 1 permit +1 +stuck +force released by 127\.0\.0\.1:\d+: its host is dead$/);
    expect(others).toEqual([""]);
    const [ended] = objects((await ran("history", "etl/load", "--ended", "released", "--json")).out);
    expect(ended.waitedMs).toBeGreaterThan(9_000);
    expect((await ran("history", "--forced")).out).toMatch(
      /forced release +etl\/load +127\.0\.0\.1:\d+ +#1 of stuck, which held it +ended +its host is dead\n/,
    );
    expect((await ran("history", "etl/load", "--chart")).out).toMatch(/\n#1 stuck █+x\n#2 next +░+█+\n/);
  });
});

describe("rowlock top", () => {
  test("prints again and again until a signal, and survives the absence of the server", async () => {
    const database = await stage.database(freshSqlite);
    const server = await stage.serving(database);
    await server.client.lease({
      name: "etl/load",
      terms: { owner: "nightly", lasting: { case: "noExpiry", value: {} } },
    });
    const flags = ["--every", "1s", "--json", "--give-up-after", "2s", "--addr", server.grpcAddress];
    const watching = stage.rowlock(["top", "--by", "owner", ...flags], {});
    await watching.said(/"group":"nightly"[\s\S]*"group":"nightly"/);
    server.process.kill("SIGTERM");
    await server.process.exited;
    await watching.logged(/No Rowlock server answered within 2 s/);
    const again = await stage.serving(database, "--listen", server.grpcAddress);
    await again.client.lease({ name: "etl/orders", terms: { owner: "hourly" } });
    await watching.said(/"group":"hourly","held":1/);
    watching.kill("SIGINT");
    const { code, err } = await watching.exited;
    expect([code, err.match(/No Rowlock server/g)?.length]).toEqual([0, 1]);
  });
});
