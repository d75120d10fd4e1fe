// What happened and why something waits, through processes: one holds a lock, others wait, an operator asks why, ends the
// lease with a reason, and finds all of it in the history.

import { describe, expect, test } from "vitest";
import { freshSqlite, testDatabases } from "../support/database.ts";
import { startRefusingProxy } from "../support/refusing-proxy.ts";
import { CTRL_C, HAS_PTY, Pty } from "./pty.ts";
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

  test("names full of control characters are asked for, explained and listed", async () => {
    const { server, ran } = await shell(fresh);
    const name = "evil\x1b[2J\r\nrowlock: all is well\u202e";
    const held = await server.client.lease({ name, terms: { owner: name, labels: { [name]: name } } });
    const { ticketId } = await server.client.ticket({ name, terms: { owner: name } });
    await ran("limit", name, "1", "--reason", name);
    const answers = [
      await ran("why", name),
      await ran("why", `${name}#2`),
      await ran("why", ticketId),
      await ran("top", "--once", "--by", "owner"),
      await ran("ls", "--owner", name),
      await ran("history", name, "--limits"),
    ];
    await server.client.call("release", { leaseId: held.leaseId });
    answers.push(await ran("history", name), await ran("history", name, "--chart"));
    answers.push(await ran("history", "--prefix", "evil\x1b", "--json"));
    for (const { code, out, err } of answers) {
      expect([code, err]).toEqual([0, ""]);
      expect(out).toMatch(/^[\x20-\x7e░█…\n]+$/);
      expect(out).toContain("evil\\u001b[2J");
    }
  });
});

test("rowlock run waits as before at a server that cannot say why", { timeout: LONG_MS }, async () => {
  const { server, rowlock } = await shell(freshSqlite);
  const held = await server.client.lease({
    name: "job",
    terms: { lasting: { case: "noExpiry", value: {} } },
  });
  const proxy = await startRefusingProxy(server.grpcAddress, "UNIMPLEMENTED", ["Session", "ExplainWait"]);
  stage.afterwards(() => proxy.close());
  const waiting = rowlock("run", "job", "--addr", proxy.address, "--", "echo", "my turn");
  await waiting.logged(/next in the queue/);
  await expect.poll(() => proxy.asked, { timeout: LONG_MS }).toContain("ExplainWait");
  await server.client.call("release", { leaseId: held.leaseId });
  expect(await waiting.exited).toMatchObject({ code: 0, out: "my turn\n" });
  const { code, err } = await rowlock("why", "job", "--addr", proxy.address).exited;
  expect([code, err]).toEqual([
    69,
    expect.stringMatching(/^rowlock: [^\n]*older than this command[^\n]*\n$/),
  ]);
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

  test.skipIf(!HAS_PTY)(
    "draws its page on a terminal until Ctrl-C, and then restores the screen",
    async () => {
      const { server, env } = await shell(freshSqlite);
      await server.client.lease({ name: "page", terms: { owner: "anna" } });
      const line = `stty cols 80 rows 30; exec ${process.execPath} server/main.ts top --by owner --every 1s`;
      const pty = new Pty(line, env);
      stage.afterwards(() => pty.destroy());
      await pty.shows(/␛\[\?1049h[\s\S]*OWNER[\s\S]*anna/);
      const from = pty.screen.length;
      await server.client.lease({ name: "other", terms: { owner: "ben" } });
      await pty.shows(/␛\[H(?:(?!␛\[H)[\s\S])*ben/, from);
      pty.press(CTRL_C);
      expect(await pty.ended()).toBe(0);
      expect(pty.screen).toMatch(/␛\[\?25h␛\[\?1049l$/);
    },
  );
});
