// A server of this version beside one of the next version, and after it. The next version is a copy of this tree with
// one more migration: one that only adds, or one that every server must know.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrations } from "../../migrations/index.ts";
import { reportLeftOut, testDatabases, testServers } from "../support/database.ts";
import { lasting } from "../support/lasting.ts";
import { OtherVersions } from "../support/other-version.ts";
import { queued, TestCalls } from "../support/test-calls.ts";
import { RowlockProcess, screenOf, serveArgs } from "./server-process.ts";
import { processStage } from "./stage.ts";

const ADDING = "9001-adds-a-column";
const BREAKING = "9002-takes-a-column";

const UP = {
  [ADDING]: `target.addColumn("rowlock_lock", "colour", "INTEGER NOT NULL DEFAULT 7")`,
  [BREAKING]: `target.run("ALTER TABLE rowlock_lock DROP COLUMN colour")`,
};

let versions: OtherVersions;
const { afterwards, database, serving } = processStage();
beforeAll(() => {
  versions = new OtherVersions();
});
afterAll(() => versions.remove());

/** Makes a later version. Returns its `server/main.ts`. */
function versionWith(...added: (keyof typeof UP)[]): string {
  const entries = added.map((name) => {
    const adds = name === ADDING ? `needs: "${migrations.at(-1)?.name}", ` : "";
    return `  { name: "${name}", ${adds}up: async (target) => ${UP[name]} },`;
  });
  return versions.later({ version: "99.0.0", migrations: entries }).main;
}

reportLeftOut(testServers());

describe.each(testDatabases())("on $label", ({ kind, fresh }) => {
  /** An SQLite file allows only one server at a time. */
  const isShared = kind !== "sqlite";

  async function next(main: string, url: string) {
    const process = new RowlockProcess(serveArgs(url), {}, main);
    afterwards(() => process.destroy());
    const screen = await screenOf(process);
    const client = new TestCalls(screen.grpcAddress);
    afterwards(() => client.close());
    return { ...screen, client };
  }
  /** Passes a lock from one server's client to another's through the queue, with its record. */
  async function handsOver(from: TestCalls, to: TestCalls): Promise<void> {
    const { leaseId, fencingToken } = await from.lease({ name: "handed/over" });
    const stream = to.wait(queued({ name: "handed/over" }));
    await stream.position();
    await from.call("release", { leaseId, status: "seen" });
    const granted = await stream.granted();
    expect(granted.fencingToken).toBeGreaterThan(fencingToken);
    await to.call("renew", { leaseId: granted.leaseId });
    expect((await from.call("getLock", { name: "handed/over" })).lock?.record?.status).toBe("seen");
    await to.call("release", { leaseId: granted.leaseId });
  }

  test("an old server runs beside a migration that only adds, and starts after it; not after one that breaks", async () => {
    const url = await database(fresh);
    const old = await serving(url);
    const { leaseId } = await old.client.lease({ name: "kept", terms: lasting() });
    if (!isShared) {
      old.process.kill("SIGTERM");
      await old.process.exited;
    }
    const newer = await next(versionWith(ADDING), url);
    if (isShared) {
      await handsOver(old.client, newer.client);
      await handsOver(newer.client, old.client);
      old.process.kill("SIGKILL");
      await old.process.exited;
    } else {
      newer.process.kill("SIGTERM");
      await newer.process.exited;
    }

    const again = await serving(url);
    await again.process.logged(
      new RegExp(`"migrations":\\["${ADDING}"\\],"msg":"the schema is newer than this server`),
    );
    await again.client.call("renew", { leaseId });
    await handsOver(again.client, isShared ? newer.client : again.client);
    again.process.kill("SIGTERM");
    await again.process.exited;
    if (isShared) {
      newer.process.kill("SIGTERM");
      await newer.process.exited;
    }
    const doctor = new RowlockProcess(["doctor", "--database-url", url]);
    expect(await doctor.exited).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${migrations.length + 1} migrations, none pending, 1 of a newer server`),
    });

    const newest = await next(versionWith(ADDING, BREAKING), url);
    newest.process.kill("SIGTERM");
    await newest.process.exited;
    const refused = new RowlockProcess(serveArgs(url));
    const { code, err } = await refused.exited;
    expect(code).toBe(1);
    expect(err).toContain(
      `is newer than this server: this server does not support ${BREAKING}. Start a server of the version`,
    );
  });
});
