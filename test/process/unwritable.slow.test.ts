// A database that can be reached but not written: its disk is full, or it is read-only. Calls fail as UNAVAILABLE and
// change nothing, the server reports it on /readyz, and continues by itself afterwards.

import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { freshDatabase, reportLeftOut } from "../support/database.ts";
import { lasting } from "../support/lasting.ts";
import { ownBinaries } from "../support/mysql-family/own-binaries.ts";
import type { RunningServer } from "../support/mysql-family/private-server.ts";
import { startPrivateServer } from "../support/mysql-family/private-server.ts";
import { queued } from "../support/test-calls.ts";
import { serveArgs } from "./server-process.ts";
import type { SmallDisk } from "./small-disk.ts";
import { hasSmallDisks, mountSmallDisk, NEEDS_SMALL_DISK } from "./small-disk.ts";
import { AWAY, answered, processStage, readyPage, refused, type ServingServer } from "./stage.ts";

const HOUR = { seconds: 3_600n, nanos: 0 };
const SQLITE_DISK_MIB = 8;
const MYSQL_DISK_MIB = 400;
/** It takes 4 s; this allows for a machine with other work. */
const START_MS_MAX = 150_000;
/** Far below the time that a client waits for an answer; each call is decided within milliseconds. */
const ANSWER_MS_MAX = 25_000;

const stage = processStage();

/** A claim of the maximum size, so that few of them use up the free space inside the database's files. */
const large = (name: string) => ({
  name: name.padEnd(255, "."),
  terms: {
    owner: "o".repeat(255),
    labels: Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`label-${index}`, "v".repeat(255)])),
    lasting: { case: "ttl" as const, value: HOUR },
  },
});

/** Takes locks until the database has no space left. Returns the names of the granted ones. */
async function takeAllRoom({ client }: ServingServer): Promise<string[]> {
  const granted: string[] = [];
  for (let round = 0; ; round++) {
    const requests = Array.from({ length: 32 }, (_, index) => large(`large/${round}/${index}/`));
    const startedMs = performance.now();
    const results = await Promise.allSettled(requests.map((request) => client.lease(request)));
    expect(performance.now() - startedMs).toBeLessThan(ANSWER_MS_MAX);
    const refusals = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    results.forEach((result, index) => {
      if (result.status === "fulfilled") granted.push(requests[index]?.name as string);
    });
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ ...AWAY, message: expect.stringContaining("(full)") });
    if (refusals.length > 0) return granted;
  }
}

/**
 * Takes locks until the table of guard rows is larger than 64 pages. While it is smaller, MySQL reserves too few pages
 * for a row that grows, and stops at an assertion of its own (btr0cur.cc) if there is no space for a further one.
 */
async function outgrowFirstExtent({ client }: ServingServer): Promise<string[]> {
  const names = Array.from({ length: 256 }, (_, index) => large(`large/before/${index}/`));
  for (let from = 0; from < names.length; from += 32)
    await Promise.all(names.slice(from, from + 32).map((request) => client.lease(request)));
  return names.map(({ name }) => name);
}

async function busyNames({ client }: ServingServer): Promise<string[]> {
  const names: string[] = [];
  for (let pageToken = ""; ; ) {
    const page = await client.call("listLocks", { prefix: "large/", busyOnly: true, pageToken });
    names.push(...page.locks.map(({ name }) => name));
    if (page.nextPageToken === "") return names.sort();
    pageToken = page.nextPageToken;
  }
}

/** A holder and a waiter that follows the queue, from before the disk was full. */
async function heldAndWaitedFor({ client }: ServingServer) {
  const lease = await client.lease({ name: "kept", terms: lasting() });
  const stream = client.wait(queued({ name: "kept", requestId: "w" }));
  await stream.position();
  return { lease, stream };
}

type Kept = Awaited<ReturnType<typeof heldAndWaitedFor>>;

/** The lease still exists and can be released, and the waiter is granted with the next token. */
async function goesOn({ client }: ServingServer, { lease, stream }: Kept): Promise<void> {
  await answered(() => client.call("renew", { leaseId: lease.leaseId }));
  expect(await answered(() => client.call("release", { leaseId: lease.leaseId }))).toBeTruthy();
  expect((await stream.granted()).fencingToken).toBe(lease.fencingToken + 1n);
}

async function isSound(server: ServingServer, url: string): Promise<void> {
  server.process.kill("SIGTERM");
  expect(await server.process.exited).toMatchObject({ code: 0 });
  const doctor = await stage.rowlock(["doctor"], { ROWLOCK_DATABASE_URL: url }).exited;
  expect(doctor).toMatchObject({ code: 0, out: expect.stringContaining("no errors") });
}

describe.runIf(inject("sqlite"))(`an SQLite file${NEEDS_SMALL_DISK}`, () => {
  function smallDisk(): SmallDisk {
    const disk = mountSmallDisk(SQLITE_DISK_MIB);
    stage.afterwards(() => disk.remove());
    return disk;
  }

  test.skipIf(!hasSmallDisks)(
    "on a full disk refuses what it has no room for, and goes on when there is some",
    async () => {
      const disk = smallDisk();
      const url = `sqlite:${join(disk.directory, "rowlock.db")}`;
      const server = await stage.serving(url);
      const kept = await heldAndWaitedFor(server);
      disk.fill();
      const granted = await takeAllRoom(server);
      const { client } = server;
      expect(
        await refused(() => client.call("renew", { leaseId: kept.lease.leaseId, ttl: HOUR })),
      ).toMatchObject({ message: expect.stringContaining("(full)") });
      await refused(() => client.call("release", { leaseId: kept.lease.leaseId }));
      // The server's small entry in the register may still find space for a while.
      expect(await readyPage(server, 503)).toBe("not ready: the database cannot be written: full\n");
      expect((await client.call("getLock", { name: "kept" })).lock).toMatchObject({
        holderCount: 1,
        waiterCount: 1,
      });

      disk.makeRoom();
      expect(await readyPage(server, 200)).toBe("ready\n");
      expect(await busyNames(server)).toEqual(granted.sort());
      await client.lease(large("large/afterwards/"));
      await goesOn(server, kept);
      await isSound(server, url);
    },
  );

  test.skipIf(!hasSmallDisks)("that became read-only while no server used it is refused", async () => {
    const disk = smallDisk();
    const url = `sqlite:${join(disk.directory, "rowlock.db")}`;
    const server = await stage.serving(url);
    server.process.kill("SIGTERM");
    await server.process.exited;
    disk.becomeReadOnly();
    const { code, err } = await stage.rowlock(serveArgs(url, "--startup-timeout", "0s")).exited;
    expect(code).toBe(1);
    expect(err).toContain(`rowlock cannot start: `);
    expect(err).toContain(`${join(disk.directory, "rowlock.db")} cannot be written`);
    expect(err).not.toMatch(/^\s+at /m);
  });
});

const binaries = [...(await ownBinaries())];
reportLeftOut(binaries);

describe.each(binaries)("a %s", (flavour, binary) => {
  let disk: SmallDisk | undefined;
  let running: RunningServer;

  beforeAll(async () => {
    disk = hasSmallDisks ? mountSmallDisk(MYSQL_DISK_MIB) : undefined;
    running = await startPrivateServer(binary, flavour, {
      // With a full binary log, MySQL blocks COMMIT and checks again once a minute. Calls then end by the bounds of
      // the store and of the engine's attempts, within 18 s, and the recovery takes a minute to be seen.
      flags: flavour === "mysql" ? ["--skip-log-bin"] : [],
      ...(disk && { parent: disk.directory }),
    });
  }, START_MS_MAX);
  afterAll(async () => {
    await running?.stop();
    disk?.remove();
  });

  async function database(): Promise<string> {
    const url = await stage.database(() => freshDatabase(running.server));
    await migrateUp(url);
    return url;
  }

  async function administer(sql: string): Promise<void> {
    const connection = await createConnection({ uri: running.server.url, multipleStatements: true });
    await connection.query(sql);
    await connection.end();
  }

  /** The same database for a user that read-only stops. */
  async function asSmallUser(url: string): Promise<string> {
    const small = new URL(url);
    await administer(`CREATE USER IF NOT EXISTS 'small'@'%' IDENTIFIED BY 'small';
      GRANT SELECT, INSERT, UPDATE, DELETE ON ${small.pathname.slice(1)}.* TO 'small'@'%'`);
    small.username = small.password = "small";
    return small.href;
  }

  // MySQL has a variable that also stops administrators. Turning read_only off turns off both.
  const variable = flavour === "mysql" ? "super_read_only" : "read_only";

  test(`that is switched to ${variable} fails calls, makes starting servers wait, and serves when it is switched back`, async () => {
    const own = await database();
    const url = flavour === "mysql" ? own : await asSmallUser(own);
    const server = await stage.serving(url, "--migrate", "false");
    const kept = await heldAndWaitedFor(server);
    const { client } = server;
    const writes = {
      acquire: () => client.call("acquire", { name: "other" }),
      renew: () => client.call("renew", { leaseId: kept.lease.leaseId }),
      release: () => client.call("release", { leaseId: kept.lease.leaseId }),
      setLimit: () => client.limit("kept", 2),
    };
    await administer(`SET GLOBAL ${variable} = 1`);
    try {
      for (const write of Object.values(writes)) {
        await expect(write()).rejects.toMatchObject({
          ...AWAY,
          message: expect.stringContaining("(read_only)"),
        });
      }
      expect(await readyPage(server, 503)).toContain("cannot be written: read_only");
      const late = stage.rowlock(serveArgs(url));
      await late.logged(/The database server is read-only \((super_)?read_only is on\).*Trying again/);
      await administer("SET GLOBAL read_only = 0");
      await late.said(/LockService\/Acquire/);
    } finally {
      await administer("SET GLOBAL read_only = 0");
    }
    expect(await readyPage(server, 200)).toBe("ready\n");
    const { lock } = await client.call("getLock", { name: "kept" });
    expect(lock).toMatchObject({ holderCount: 1, waiterCount: 1, limit: { permits: 1, version: 0n } });
    await goesOn(server, kept);
  });

  test("that is switched to read_only is not written, even by a user whom read_only does not stop", async () => {
    const server = await stage.serving(await database());
    const { client } = server;
    await client.lease({ name: "before" });
    await administer("SET GLOBAL read_only = 1");
    try {
      expect(await readyPage(server, 503)).toContain("cannot be written: read_only");
      await expect(client.lease({ name: "meanwhile" })).rejects.toMatchObject(AWAY);
    } finally {
      await administer("SET GLOBAL read_only = 0");
    }
    expect(await readyPage(server, 200)).toBe("ready\n");
    await client.lease({ name: "afterwards" });
  });

  test.skipIf(!hasSmallDisks)(
    `on a full disk refuses what it has no room for, and goes on when there is some${NEEDS_SMALL_DISK}`,
    async () => {
      const url = await database();
      const server = await stage.serving(url);
      const kept = await heldAndWaitedFor(server);
      const earlier = await outgrowFirstExtent(server);
      disk?.fill();
      try {
        const granted = await takeAllRoom(server);
        expect(await busyNames(server)).toEqual([...earlier, ...granted].sort());
        // Commands that need no more space still work.
        await server.client.call("renew", { leaseId: kept.lease.leaseId, ttl: HOUR });
      } finally {
        disk?.makeRoom();
      }
      await answered(() => server.client.lease(large("large/afterwards/")));
      expect(await readyPage(server, 200)).toBe("ready\n");
      await goesOn(server, kept);
      await isSound(server, url);
    },
  );
});
