// An upgrade under load, server by server, and one step back: from the last release to this version, and from this version
// to a later one. Then what is refused: a version that would break those that run, and a version that is too old.

import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrations } from "../../migrations/index.ts";
import { LEVEL } from "../../server/core/level.ts";
import { RowlockProcess, screenOf, serveArgs } from "../process/server-process.ts";
import { processStage, readyPage } from "../process/stage.ts";
import { type FoundServer, freshDatabase, mysqlFamily, reportLeftOut } from "../support/database.ts";
import { lastRelease, type OtherVersion, OtherVersions } from "../support/other-version.ts";
import { TestCalls } from "../support/test-calls.ts";
import { until } from "../support/until.ts";
import { Crowd, type CrowdSize } from "./crowd.ts";
import { startDrivers } from "./drivers.ts";
import { Fleet } from "./fleet.ts";

/**
 * Until there is a release: the first version with these tables. A migration that needs itself cannot run beside it; then
 * name a later commit.
 */
const BEFORE_THE_FIRST_RELEASE = "b1e0ecc51efa2ddb4a43b1dbc8865e4462b7ba4f";
const SIZE: CrowdSize = { leases: 20, waits: 40, queues: 2 };
/** Shorter than the default, to save time: the waiters are few. */
const GRACE_MS = 5_000;
const SERVERS = 3;
const PATIENCE_MS = 400_000;

const LATEST = migrations.at(-1)?.name;
const ADDING = `  { name: "9001-adds-a-column", needs: "${LATEST}", up: (target) => target.addColumn("rowlock_lock", "colour", "INTEGER NOT NULL DEFAULT 7") },`;
const BREAKING = `  { name: "9002-takes-a-column", up: (target) => target.run("ALTER TABLE rowlock_lock DROP COLUMN colour") },`;

const [server] = mysqlFamily().filter(({ flavour }) => flavour === "mariadb");
reportLeftOut(server ? [server] : []);

describe.runIf(server)("on MariaDB", () => {
  const { afterwards, database, serving } = processStage();
  let versions: OtherVersions;
  let release: OtherVersion | undefined;
  /** The next version, as a release may be: with a migration that only adds, and the next level. */
  let next: OtherVersion;
  let afterNext: OtherVersion;

  beforeAll(async () => {
    versions = new OtherVersions();
    release = await versions.ofCommit((await lastRelease()) ?? BEFORE_THE_FIRST_RELEASE);
    next = versions.later({ version: "98.0.0", level: LEVEL + 1, levelMin: LEVEL, migrations: [ADDING] });
    afterNext = versions.later({
      version: "99.0.0",
      level: LEVEL + 2,
      levelMin: LEVEL + 1,
      migrations: [ADDING, BREAKING],
    });
  }, PATIENCE_MS);
  afterAll(() => versions?.remove());

  const fresh = () => database(() => freshDatabase(server as FoundServer));
  /** Runs the program of a version; undefined: this version. */
  const run = (args: readonly string[], version?: OtherVersion) => {
    const process = new RowlockProcess(args, {}, version?.main);
    afterwards(() => process.destroy());
    return process;
  };
  const refusal = async (args: readonly string[], version?: OtherVersion) => {
    const { code, err } = await run(args, version).ended();
    expect(code).toBe(1);
    return err;
  };
  const served = async (url: string, version: OtherVersion) => {
    const screen = await screenOf(run(serveArgs(url), version));
    const client = new TestCalls(screen.grpcAddress);
    afterwards(() => client.close());
    return { ...screen, client };
  };

  /** Takes all servers from one version to the other under load, and then one of them back. */
  async function roll(from: string | undefined, to: string | undefined): Promise<void> {
    const url = await fresh();
    const { running: drivers } = await startDrivers(["typescript"]);
    afterwards(() => Promise.all(drivers.map((driver) => driver.destroy())));
    const fleet = await Fleet.start(url, SERVERS, GRACE_MS, from);
    afterwards(() => fleet.destroy());
    const crowd = await Crowd.start("upgrade", drivers, SIZE, { addresses: fleet.addresses, url });
    afterwards(() => crowd.close());
    for (const [index, main] of [...Array(SERVERS).fill(to), from].entries()) {
      await crowd.stops();
      await fleet.restart(index % SERVERS, main);
    }
    const { breaches, grants, placesAtStops } = await crowd.report();
    expect(breaches).toEqual([]);
    expect(placesAtStops).toBeGreaterThan(SIZE.waits);
    expect(grants).toBeGreaterThan(SIZE.waits);
    for (const { server } of fleet.members) {
      server?.process.kill("SIGTERM");
      await server?.process.ended();
    }
    // The newer version checks the rows that both have written.
    const doctor = new RowlockProcess(["doctor", "--database-url", url], {}, to);
    expect(await doctor.ended()).toMatchObject({
      code: 0,
      out: expect.stringContaining("ok       invariants"),
    });
  }

  test(
    "the last release is replaced by this version under load, and comes back beside it",
    async (context) => {
      context.skip(
        !release,
        "this clone has neither a tag of a release nor the commit that stands for one: it is shallow",
      );
      await roll(release?.main, undefined);
    },
    PATIENCE_MS,
  );

  test(
    "this version is replaced by the next one under load, and comes back beside it",
    async () => {
      await roll(undefined, next.main);
    },
    PATIENCE_MS,
  );

  test("a version after the next does not start beside this one, nor migrate, and both say which server is in the way", async () => {
    const url = await fresh();
    const { grpcAddress, process } = await serving(url);
    const beside = await refusal([...serveArgs(url), "--startup-timeout", "1s"], afterNext);
    expect(beside).toContain(
      `This version has level ${LEVEL + 2} and can run beside servers of level ${LEVEL + 1} or later, but there is version `,
    );
    expect(beside).toContain(
      `(level ${LEVEL}) at ${grpcAddress}. Stop the older servers first, or start the version in between.`,
    );
    const migrating = await refusal(["migrate", "up", "--database-url", url], afterNext);
    expect(migrating).toContain(
      "would break servers that do not know 9002-takes-a-column: there is version ",
    );
    expect(migrating).toContain(
      `(level ${LEVEL}) at ${grpcAddress}. Stop these servers before the schema is migrated.`,
    );
    const status = await run(["migrate", "status", "--database-url", url], afterNext).ended();
    expect(status).toMatchObject({
      code: 1,
      out: expect.stringContaining(`server   ${grpcAddress}: version `),
    });
    // It has changed nothing, and starts when the older server has stopped.
    process.kill("SIGTERM");
    await process.ended();
    await served(url, afterNext);
  });

  test("this version does not start after the version after the next, but the next one would", async () => {
    const url = await fresh();
    const { process } = await served(url, afterNext);
    process.kill("SIGTERM");
    await process.ended();
    const levelsOnly = versions.later({ version: "98.0.1", level: LEVEL, migrations: [ADDING, BREAKING] });
    for (const args of [serveArgs(url), ["restored", "--pause", "1s", "--database-url", url]])
      expect(await refusal(args, levelsOnly)).toContain(
        `This server is too old for its database: it has level ${LEVEL}, and version 99.0.0`,
      );
    expect(await refusal(serveArgs(url))).toContain("does not support 9002-takes-a-column.");
    const nextWithSchema = versions.later({
      version: "98.0.2",
      level: LEVEL + 1,
      levelMin: LEVEL,
      migrations: [ADDING, BREAKING],
    });
    await served(url, nextWithSchema);
  });

  test("a server that was away while later versions took over decides nothing, is not ready, and says why", async () => {
    const url = await fresh();
    const old = await serving(url);
    await old.client.lease({ name: "held" });
    old.process.kill("SIGSTOP");
    const levels = versions.later({ version: "99.0.1", level: LEVEL + 2, levelMin: LEVEL + 1 });
    // As if it had been away for longer than the register remembers it.
    const connection = await createConnection({ uri: url });
    afterwards(() => connection.end());
    await connection.query("DELETE FROM rowlock_replica");
    const newer = await served(url, levels);
    old.process.kill("SIGCONT");
    await old.process.logged(
      /This server is too old for its database: it has level \d+, and version 99\.0\.1/,
    );
    // At first, the connections that have died meanwhile may be the reason.
    await until(async () =>
      (await readyPage(old, 503)).includes(
        "this server is too old for the database, which a later version uses",
      ),
    );
    await expect(old.client.lease({ name: "another" })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining(
        "This server is too old for its database and decides nothing: ask another one.",
      ),
    });
    await newer.client.lease({ name: "another" });
  });
});
