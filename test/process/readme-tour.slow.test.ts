// Pastes the README's shell lines, from the tour to its end, into real shells, and checks that each step shows what
// the README says. The test changes only what differs between machines: addresses, and the ids that the README asks
// the reader to paste. For other languages the README has the clients' first examples, which those clients' tests
// run.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { freshSqlite, testServers } from "../support/database.ts";
import { processStage } from "./stage.ts";
import { Terminal } from "./terminal.ts";

const README = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const TOUR = /## A tour of five minutes\n([\s\S]*?)\n## /.exec(README)?.[1] ?? "";
const SHELL = /## From the shell, and from your language\n\n```sh\n([\s\S]*?)\n```/.exec(README)?.[1] ?? "";
const pasted = [...TOUR.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, lines]) => lines as string);
const [define, acquire, again, wait, release, renew, limit, look, task, onMysql, ...others] = pasted as [
  string,
  ...string[],
] as string[];

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

const idIn = (screen: string, field: string) => new RegExp(`"${field}": "([^"]+)"`).exec(screen)?.[1];

describe("the README's tour", () => {
  test("prints at each step what the README shows", { timeout: TOUR_MS }, async () => {
    expect(others).toEqual([]);
    expect(TOUR).toContain("Start the server with `npm start`");
    const sqlite = await stage.database(freshSqlite);
    const { grpc, metrics } = await serving("npm start", { ROWLOCK_DATABASE_URL: sqlite });
    const second = terminal();
    const third = terminal();
    for (const shell of [second, third]) await shell.run(at(grpc, "127.0.0.1:50051", define));

    const lease = await second.run(acquire as string);
    for (const field of ["leaseId", "fencingToken", "ttl"]) expect(lease).toContain(`"${field}"`);
    const refused = await second.run(again as string);
    expect(refused).toContain("REFUSAL_REASON_BUSY");
    expect(refused).toContain('"owner": "anna"');
    expect(refused).toContain('"retryAfter"');

    const waiting = third.start(wait as string);
    const [, ticketId] = await third.shows(/"position": \{[\s\S]*"ticketId": "([^"]+)"/);
    expect(await second.run(withId(release, idIn(lease, "leaseId")))).toContain('"released": true');
    const [granted] = await third.shows(/"granted": \{[\s\S]*?\}\n\}/);
    await waiting.done;
    expect(idIn(granted, "leaseId")).toBe(ticketId);
    expect(granted).toContain('"provisional": true');
    expect(await third.run(withId(renew, ticketId))).toMatch(/"ttl": "(600|5\d\d\.\d+)s"/);

    const [set, more] = (limit as string).split("\n") as [string, string];
    expect(await second.run(set)).toContain('"limit": 3');
    expect(await second.run(more)).toMatch(/"lease": \{[\s\S]*"permits": 2/);

    const [getLock, listLocks, listLimits, scrape, letGo] = (look as string).split("\n") as [
      string,
      string,
      string,
      string,
      string,
    ];
    for (const command of [getLock, listLocks]) {
      const shown = await second.run(command);
      expect(shown).toContain('"holderCount": 2');
      for (const owner of ["ben", "carla"]) expect(shown).toContain(`"owner": "${owner}"`);
      expect(shown).toContain('"grantedAt"');
      expect(shown).not.toContain(ticketId);
    }
    expect(await second.run(listLimits)).toMatch(/"pattern": "etl\/\*"[\s\S]*"reason": "night shift"/);
    expect(await second.run(at(metrics, "127.0.0.1:9464", scrape))).toMatch(/outcome="granted"\} 2\n/);
    const ended = await second.run(letGo);
    for (const owner of ["ben", "carla"]) expect(ended).toContain(`"owner": "${owner}"`);
    expect(await second.run(listLocks)).not.toContain('"holderCount"');

    await second.run(`export ROWLOCK_ADDR=${grpc}`);
    const [update, capture, show] = (task as string).split("\n") as [string, string, string];
    expect(await second.run(update)).toMatch(/status +new\nattempts left +3\n/);
    expect(await second.run(capture)).toContain("working on task/7\n");
    expect(await second.run(show)).toMatch(/status +done\nattempts left +2\nlast run .*: released as done/);

    // The lines below find every lock free: no command waits, and only the watch does not end by itself.
    const lines = SHELL.split("\n");
    const [run, page, raise, report, watch] = lines as [string, string, string, string, string];
    expect(lines).toHaveLength(5);
    expect(await second.run(run)).toMatch(/^my turn$/m);
    expect(await second.run(page)).toMatch(/limit +3 .*night shift[\s\S]*held +0/);
    expect(await second.run(raise)).toMatch(/^etl\/load: limit 4 /m);
    expect(await second.run(report)).toMatch(/\d\d:\d\d:\d\d/);
    expect(await second.run(report)).toContain('"report" is not due yet');
    void second.start(watch).done.catch(() => {});
    await second.shows(/Z etl\/load: limit 4, free/);
  });

  test("leaves out no block of the shell", () => {
    expect(README.match(/^```sh$/gm)).toHaveLength(1 + pasted.length + 1);
  });

  test("names the owner in each request for a lock", () => {
    const requests = pasted
      .flatMap((block) => block.split("\n"))
      .filter((line) => /\{"name":.*"ttl"/.test(line));
    expect(requests.length).toBeGreaterThan(3);
    for (const request of requests) expect(request).toMatch(/"owner": "\w+"/);
  });

  test.skipIf(testServers().length === 0)("ends on MySQL", { timeout: TOUR_MS }, async () => {
    const url = await stage.database(testServers()[0]?.fresh as () => ReturnType<typeof freshSqlite>);
    const { screen } = await serving(at(url, "mysql://user:password@127.0.0.1:3306/rowlock", onMysql));
    expect(screen).toMatch(/database +(MySQL|MariaDB)/);
  });
});
