// Pastes the lines of docs/tour.md, from the shell to the calls, into real shells, and checks that each step shows what
// the page says. The test changes only what differs between machines: addresses, and the ids that the page asks the
// reader to paste. It must not run the README's lines, which install and test.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { freshSqlite, testServers } from "../support/database.ts";
import { CTRL_C, HAS_PTY, Pty } from "./pty.ts";
import { processStage } from "./stage.ts";
import { Terminal } from "./terminal.ts";

const TOUR = readFileSync(new URL("../../docs/tour.md", import.meta.url), "utf8");

/** The blocks of a section that a reader pastes into a shell. */
function blocksOf(heading: string): string[] {
  const section = TOUR.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, lines]) => lines as string);
}

const tour = blocksOf("Five minutes in the shell");
const shell = blocksOf("Lines for every day");
const calls = blocksOf("The calls beneath");

/** Each call starts a client process, on a machine that also runs other tests. */
const TOUR_MS = 180_000;

const stage = processStage();

function terminal(env: Record<string, string> = {}): Terminal {
  const opened = new Terminal(env);
  stage.afterwards(() => opened.close());
  return opened;
}

/**
 * The first terminal: the server, on free ports. The grace period is long, so that a slow machine does not exceed it.
 */
async function serving(command: string, env: Record<string, string> = {}) {
  const ports = { ROWLOCK_LISTEN: "127.0.0.1:0", ROWLOCK_METRICS_LISTEN: "127.0.0.1:0" };
  const first = terminal({ ...ports, ROWLOCK_GRACE: "5m", ...env });
  void first.start(command).done.catch(() => {});
  const [, grpc] = await first.shows(/gRPC +(\S+) /);
  const [, metrics] = await first.shows(/metrics +http:\/\/(\S+)\/metrics/);
  const [screen] = await first.shows(/Rowlock[\s\S]*LockService\/Acquire\n/);
  return { grpc: grpc as string, metrics: metrics as string, screen };
}

/** The pasted text, with the address of this test's server. */
function at(address: string, from: string, text = ""): string {
  expect(text).toContain(from);
  return text.replaceAll(from, address);
}

/** The pasted text, with the id filled in. */
function withId(text = "", id = ""): string {
  expect(id).not.toBe("");
  expect(text).toMatch(/PASTE-THE-[A-Z-]+/);
  return text.replace(/PASTE-THE-[A-Z-]+/, id);
}

const idIn = (screen: string, field: string) => new RegExp(`"${field}":"([^"]+)"`).exec(screen)?.[1];

describe("docs/tour.md", () => {
  test.skipIf(!HAS_PTY)(
    "prints at each step of the tour what it says there",
    { timeout: TOUR_MS },
    async () => {
      const [run, anna, ben, limit, task, , ...others] = tour as [
        string,
        string,
        string,
        string,
        string,
        string,
      ];
      expect(others).toEqual([]);
      expect(TOUR).toContain("Start the server with `npm start`");
      const sqlite = await stage.database(freshSqlite);
      const { grpc } = await serving("npm start", { ROWLOCK_DATABASE_URL: sqlite });
      const second = terminal({ ROWLOCK_ADDR: grpc });
      const third = terminal({ ROWLOCK_ADDR: grpc });
      /** Anna's line in the second terminal, until Ctrl-C. */
      const annaHolds = async () => {
        const env = { ROWLOCK_ADDR: grpc, HOME: process.env.HOME ?? "/" };
        const pty = new Pty(anna, env);
        stage.afterwards(() => pty.destroy());
        while (!(await third.run("npx rowlock show etl/load")).includes("anna"));
        return pty;
      };

      expect(await second.run(run)).toMatch(/^my turn$/m);

      const first = await annaHolds();
      const [refused, show, waits] = ben.split("\n") as [string, string, string];
      expect(await third.run(refused)).toContain('"etl/load" is busy: anna holds it.');
      expect(await third.run(show)).toMatch(/limit +1 [\s\S]*anna/);
      const waiting = third.start(waits);
      await third.shows(/waiting for "etl\/load": next in the queue/);
      first.press(CTRL_C);
      await third.shows(/^my turn$/m);
      await waiting.done;
      expect(await first.ended()).toBe(130);

      const again = await annaHolds();
      const [raise, beside, list] = limit.split("\n") as [string, string, string];
      expect(await third.run(raise)).toMatch(/^etl\/\*: limit 3 /m);
      expect(await third.run(beside)).toMatch(/limit +3 .*night shift[\s\S]*anna/);
      expect(await third.run(list)).toMatch(/etl\/load +3 +1 +0 +anna/);
      again.press(CTRL_C);
      expect(await again.ended()).toBe(130);

      const [update, capture, remembers] = task.split("\n") as [string, string, string];
      expect(await second.run(update)).toMatch(/status +new\nattempts left +3\n/);
      expect(await second.run(capture)).toContain("working on task/7\n");
      expect(await second.run(remembers)).toMatch(
        /status +done\nattempts left +2\nlast run .*: released as done/,
      );

      // The tour leaves every lock free: none of the lines after it waits, and only the watch does not end by itself.
      const lines = shell[0]?.split("\n") ?? [];
      const [turn, page, four, report, watch] = lines as [string, string, string, string, string];
      expect(lines).toHaveLength(5);
      expect(await second.run(turn)).toMatch(/^my turn$/m);
      expect(await second.run(page)).toMatch(/limit +3 .*night shift[\s\S]*held +0/);
      expect(await second.run(four)).toMatch(/^etl\/load: limit 4 /m);
      expect(await second.run(report)).toMatch(/\d\d:\d\d:\d\d/);
      expect(await second.run(report)).toContain('"cron/report" is not due yet');
      void second.start(watch).done.catch(() => {});
      await second.shows(/:\d\d etl\/load: limit 4, free/);
    },
  );

  test("prints what it says of each call, and leaves the lock free", { timeout: TOUR_MS }, async () => {
    const [define, acquire, wait, release, renew, limit, look, ...others] = calls as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    expect(others).toEqual([]);
    const sqlite = await stage.database(freshSqlite);
    const { metrics } = await serving("npm start", { ROWLOCK_DATABASE_URL: sqlite });
    const second = terminal();
    const third = terminal();
    for (const shell of [second, third]) await shell.run(at(metrics, "127.0.0.1:9464", define));

    const [anna, ben] = acquire.split("\n") as [string, string];
    const lease = await second.run(anna);
    for (const field of ["leaseId", "fencingToken", "ttl"]) expect(lease).toContain(`"${field}"`);
    const refused = await second.run(ben);
    expect(refused).toContain("REFUSAL_REASON_BUSY");
    expect(refused).toContain('"owner":"anna"');
    expect(refused).toContain('"retryAfter"');

    const waiting = third.start(wait);
    const [position, ticketId] = await third.shows(/"position":\{.*"ticketId":"([^"]+)".*\}/);
    expect(position).toMatch(/"queueLength":1\b/);
    expect(position).not.toContain("ahead");
    expect(await second.run(withId(release, idIn(lease, "leaseId")))).toContain('"released":true');
    const [granted] = await third.shows(/"granted":\{.*\}/);
    await waiting.done;
    expect(idIn(granted, "leaseId")).toBe(ticketId);
    expect(granted).toContain('"provisional":true');
    expect(await third.run(withId(renew, ticketId))).toMatch(/"ttl":"(600|5\d\d\.\d+)s"/);

    const set = await second.run(limit);
    expect(set).toMatch(/"limit":2\b/);
    expect(idIn(set, "version")).toMatch(/^\d+$/);

    const [getLock, listLocks, listLimits, scrape, letGo] = look.split("\n") as [
      string,
      string,
      string,
      string,
      string,
    ];
    for (const command of [getLock, listLocks]) {
      const shown = await second.run(command);
      expect(shown).toContain('"holderCount":1');
      expect(shown).toContain('"owner":"ben"');
      expect(shown).toContain('"grantedAt"');
      expect(shown).not.toContain(ticketId);
    }
    expect(await second.run(listLimits)).toContain('"reason":"two books today"');
    expect(await second.run(at(metrics, "127.0.0.1:9464", scrape))).toMatch(/outcome="granted"\} 1\n/);
    const ended = await second.run(letGo);
    expect(ended).toMatch(/"ended":\[.*"owner":"ben"/);
    expect(ended).not.toContain(ticketId);
    expect(await second.run(listLocks)).not.toContain('"holderCount"');
  });

  test("has no block of the shell that is not pasted here", () => {
    expect(TOUR.match(/^```sh$/gm)).toHaveLength(tour.length + shell.length + calls.length);
    expect(shell).toHaveLength(1);
  });

  test("names the owner in each request for a lock", () => {
    const requests = calls
      .flatMap((block) => block.split("\n"))
      .filter((line) => /"name":.*"ttl"/.test(line));
    expect(requests.length).toBeGreaterThan(2);
    for (const request of requests) expect(request).toMatch(/"owner": "\w+"/);
  });

  test.skipIf(testServers().length === 0)("ends its tour on MySQL", { timeout: TOUR_MS }, async () => {
    const url = await stage.database(testServers()[0]?.fresh as () => ReturnType<typeof freshSqlite>);
    const onMysql = tour.at(-1);
    const { screen } = await serving(at(url, "mysql://user:password@127.0.0.1:3306/rowlock", onMysql));
    expect(screen).toMatch(/database +(MySQL|MariaDB)/);
  });
});
