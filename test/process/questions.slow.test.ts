// Pastes the lines by which docs/operations.md answers an operator's questions into a shell, at a server at which all that
// has happened. Only the time of the first question is another one.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { localClock } from "../../clients/shell/past-times.ts";
import { testDatabases } from "../support/database.ts";
import { until } from "../support/harness.ts";
import { processStage } from "./stage.ts";
import { Terminal } from "./terminal.ts";

const PAGE = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
const QUESTIONS = /\n## Questions\n([\s\S]*?)\n## /.exec(PAGE)?.[1] ?? "";
/** Questions, and the lines that answer them. */
const rows = [...QUESTIONS.matchAll(/^\| ([^|]+\?) \| `(rowlock [^`]+)` \|$/gm)].map(
  ([, question, line]) => [question, line] as [string, string],
);

const stage = processStage();
const QUESTIONS_MS = 180_000;

describe.each(testDatabases())("on $label", ({ fresh }) => {
  test("each question is answered by the line beside it", { timeout: QUESTIONS_MS }, async () => {
    const server = await stage.serving(await stage.database(fresh), "--grace", "5m");
    const { client } = server;
    const terminal = new Terminal({ ROWLOCK_ADDR: server.grpcAddress });
    stage.afterwards(() => terminal.close());
    await terminal.run(`rowlock() { '${process.execPath}' server/main.ts "$@"; }`);
    const unread = new Map(rows);
    const pasted = (question: RegExp) => {
      const [asked = ""] = [...unread.keys()].filter((each) => question.test(each));
      const line = unread.get(asked) ?? "";
      unread.delete(asked);
      expect(line).not.toBe("");
      return line;
    };

    await client.lease({
      name: "etl/load",
      terms: { owner: "stuck", lasting: { case: "noExpiry", value: {} } },
    });
    // A time of a clock with seconds at which it was held: the next second to begin.
    const from = localClock(new Date());
    await until(() => localClock(new Date()) !== from);
    const then = localClock(new Date());
    await client.ticket({
      name: "etl/load",
      terms: { owner: "next", lasting: { case: "ttl", value: { seconds: 600n } } },
    });
    const asked = pasted(/Why does my job wait/);
    expect(await terminal.run(asked)).toMatch(/etl\/load: 1 waits for it; held by stuck[\s\S]*next \(#2\)/);
    expect(await terminal.run(pasted(/are old/).replace("1h", "1ms"))).toMatch(
      /etl\/load +#1 .* stuck +held/,
    );

    const claim = { lockName: "etl/load", ticketNumber: 1n };
    await client.call("forceRelease", {
      target: { case: "claim", value: claim },
      reason: "its host is dead",
    });
    const at = pasted(/Who held/);
    expect(at).toContain("03:12");
    expect(await terminal.run(at.replace("03:12", then))).toMatch(
      /#1 .* stuck +force released by 127\.0\.0\.1:\d+: its host is dead\n/,
    );
    expect(await terminal.run(pasted(/Who forced it/))).toMatch(
      /etl\/load +127\.0\.0\.1:\d+ +#1 of stuck, which held it +ended +its host is dead\n/,
    );

    const pattern = { target: { case: "pattern", value: "etl/*" } } as const;
    await client.call("setLimit", { ...pattern, newLimit: { case: "limit", value: 4 }, reason: "day" });
    await client.call("setLimit", {
      ...pattern,
      newLimit: { case: "limit", value: 2 },
      reason: "night shift",
    });
    expect(await terminal.run(pasted(/Who changed limits/))).toMatch(
      /limit +etl\/\* +127\.0\.0\.1:\d+ +4 +2 +night shift\n.* not set +4 +day\n/,
    );

    const pool = { target: { case: "pool", value: "tree/*" } } as const;
    await client.call("setLimit", {
      ...pool,
      newLimit: { case: "limit", value: 1 },
      reason: "one at a time",
    });
    const { leaseId } = await client.lease({ name: "tree/a" });
    const { ticketId } = await client.ticket({ name: "tree/b" });
    expect(await terminal.run(pasted(/pools are full/))).toMatch(
      /tree\/\* \(pool\) +1 +1 of 1 taken, 1 waits.* +1 +one at a time\n/,
    );
    for (const id of [ticketId, leaseId]) await client.call("release", { leaseId: id });

    await client.lease({
      name: "leaks",
      terms: { owner: "leaky", lasting: { case: "noExpiry", value: {} } },
    });
    const live = async (question: RegExp, shows: RegExp) => {
      const opened = new Terminal({ ROWLOCK_ADDR: server.grpcAddress });
      stage.afterwards(() => opened.close());
      await opened.run(`rowlock() { '${process.execPath}' server/main.ts "$@"; }`);
      void opened.start(pasted(question)).done.catch(() => {});
      await opened.shows(shows);
    };
    await live(/leaks leases/, /OWNER +HELD .*\nleaky +1 +0 +\S+ \w+ +1 /);
    await live(/takes most time/, /PRINCIPAL +HELD .*\n\(nobody asked\) +2 /);
    expect([...unread.keys()]).toEqual([]);
  });
});
