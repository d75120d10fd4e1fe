// What happens while a whole server is frozen, is switched to read-only, or gives its user minimal rights, and how many
// rows it reads. The server is private to this file, started from a binary on this machine, because nothing else could
// use it meanwhile.

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim } from "../../../../server/core/claim.ts";
import { countHolder } from "../../../../server/core/lock.ts";
import { Candidates } from "../../../../server/engine/capturing/candidates.ts";
import { migrationStatus } from "../../../../server/storage/migrate/migrate.ts";
import { openReadyStore } from "../../../../server/storage/open-ready.ts";
import { LOAN_MS_MAX } from "../../../../server/storage/storage-bounds.ts";
import type { Store } from "../../../../server/storage/store.ts";
import { StoreError } from "../../../../server/storage/store.ts";
import { RECORD } from "../../../support/claims.ts";
import { freshDatabase } from "../../../support/database.ts";
import { chosenDatabases } from "../../../support/mysql-family/chosen-databases.ts";
import { namedBinaries, ownBinaries } from "../../../support/mysql-family/own-binaries.ts";
import type { RunningServer } from "../../../support/mysql-family/private-server.ts";
import { startPrivateServer } from "../../../support/mysql-family/private-server.ts";
import type { PlainConnection, Stage } from "../../../support/mysql-stage.ts";
import { connectionsOf, openStage, refusal, START, UNOBSERVED, until } from "../../../support/mysql-stage.ts";
import {
  addClaims,
  addClaimsTo,
  changeLock,
  load,
  lockId,
  NO_CHANGES,
  NO_PLAN,
  planned,
  raised,
} from "../../../support/store-fixture.ts";

const binaries = await ownBinaries();

describe.each([...binaries])("on a %s of its own", (flavour, binary) => {
  let running: RunningServer;
  let stage: Stage;
  let plain: PlainConnection;

  beforeAll(async () => {
    running = await startPrivateServer(binary, flavour);
    stage = await openStage(running.server);
    plain = await stage.connection();
  });
  afterAll(async () => {
    await stage?.close();
    await running?.stop();
  });

  /**
   * Rows read by the whole server, which has no other users. Reading this counter also reads rows, always the same
   * number.
   */
  async function rowsRead(): Promise<number> {
    const rows = await plain.run("SHOW GLOBAL STATUS LIKE 'Handler_read_%'");
    return rows.reduce((sum, row) => sum + Number(row.Value), 0);
  }

  async function variable(name: string): Promise<string> {
    const [row] = await plain.run(`SELECT @@${name} AS value`);
    return String(row?.value);
  }

  test("a frozen server fails calls in bounded time, and is used again when it goes on", async () => {
    const store = await stage.store({ poolSize: 3 });
    const id = await lockId(store, "frozen");
    await Promise.all([1, 2, 3].map(() => store.find(["frozen"])));
    const pid = Number(await readFile(await variable("pid_file"), "utf8"));
    const reasons = new Set<string>();
    process.kill(pid, "SIGSTOP");
    // `kill` returns before the signal has stopped every thread.
    await until(async () => /\) T /.test(await readFile(`/proc/${pid}/stat`, "utf8")));
    try {
      const startedMs = performance.now();
      const calls = Array.from({ length: 30 }, () =>
        refusal(store.transact({ ...NO_PLAN, locks: planned(id) }, neverDecide)),
      );
      for (const { kind, reason } of await Promise.all(calls)) {
        expect(kind).toBe("unavailable");
        reasons.add(reason);
      }
      // One loan plus the wait for one, although each of three connections serves ten calls: the waits do not add up.
      expect(performance.now() - startedMs).toBeLessThan(5 * LOAN_MS_MAX);
      expect(reasons).toEqual(new Set(["timeout", "pool_exhausted"]));
      // The pool has dropped the connections that did not answer, and new connections are not answered either.
      expect(store.pool().open).toBe(0);
      expect(await refusal(store.find(["frozen"]))).toMatchObject({ kind: "unavailable", reason: "timeout" });
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await works(store, id);
    expect(store.pool().waiting).toBe(0);
  });

  test("a server that has become read-only is refused, and used again when it is not", async () => {
    const store = await stage.store({ poolSize: 2 });
    const id = await lockId(store, "read-only");
    await plain.run("SET GLOBAL read_only = 1");
    try {
      for (const other of await connectionsOf(plain, stage.address.database))
        await plain.run(`KILL ${other}`);
      await until(() => store.pool().open === 0);
      expect(await refusal(store.find(["a"]))).toMatchObject({ kind: "unavailable", reason: "read_only" });
      expect(await refusal(stage.store())).toMatchObject({ kind: "unavailable", reason: "read_only" });
    } finally {
      await plain.run("SET GLOBAL read_only = 0");
    }
    await works(store, id);
  });

  test("a user with rights on rows alone suffices, and read-only stops such a user in the middle", async () => {
    const { database } = stage.address;
    await plain.run(`CREATE USER 'small'@'%' IDENTIFIED BY 'small';
      GRANT SELECT, INSERT, UPDATE, DELETE ON ${database}.* TO 'small'@'%'`);
    const store = await stage.store({ user: "small", password: "small", poolSize: 1 });
    const id = await lockId(store, "small");
    const reader = { state: "held", mode: "shared" } as const;
    const added = await addClaims(store, id, reader, reader, {}, { state: "ended", dueInUs: 600_000_000 });
    await plain.run(`UPDATE ${database}.rowlock_history SET ended_at = 1, kept_for = 0`);
    await store.register({ id: 1n, address: "here", version: "1", secret: "" }, 1_000_000, 0n);
    await store.heartbeat(1n, added, 1_000_000);
    await store.poll([id], 0);
    expect(await store.purgeClaims(Number.MAX_SAFE_INTEGER, 10)).toBe(1);
    await lockId(store, "idle");
    await until(async () => (await store.purgeLocks(0, 10)) > 0);
    expect((await store.view("small", 10))?.holders.length).toBe(2);
    expect((await store.view("small", 10))?.waiters).toMatchObject([{ replica: 1n }]);
    expect(await store.checkInvariants(10)).toEqual([]);
    expect(await store.checkDurability()).toEqual([]);

    await plain.run("SET GLOBAL read_only = 1");
    try {
      const error = await refusal(changeLock(store, id, () => {}));
      expect(error).toMatchObject({ kind: "unavailable", reason: "read_only" });
      // The connection is not used again, because its server may now be a permanent replica.
      expect(store.pool().open).toBe(0);
    } finally {
      await plain.run("SET GLOBAL read_only = 0");
    }
    await works(store, id);
  });

  test("a decision reads and locks a few rows of a table of many", async () => {
    const target = await stage.store({ poolSize: 1 });
    const ids = [
      ...(await target.resolve(Array.from({ length: 300 }, (_, each) => `wide/${each}`))).values(),
    ];
    ids.sort((a, b) => (a < b ? -1 : 1));
    const isHeld = { state: "held" } as const;
    const added = await addClaimsTo(target, ids, isHeld, isHeld, { state: "waiting" });
    await plain.run("ANALYZE TABLE rowlock_lock, rowlock_claim, rowlock_history, rowlock_request");
    const first = await rowsRead();
    const byAsking = (await rowsRead()) - first;
    for (const count of [1, 2, 3]) {
      const claims = added.slice(0, count);
      const locks = planned(...new Set(claims.map((claim) => claim.lockId)));
      const write = () =>
        target.transact({ ...NO_PLAN, locks, claims }, (loaded) => {
          for (const claim of loaded.claims) claim.replica = (claim.replica ?? 0n) + 1n;
          return { ...NO_CHANGES, locks: raised(loaded), changed: loaded.claims };
        });
      const steps = [write, () => target.heartbeat(1n, claims, 1), () => target.claims(claims)];
      for (const step of steps) {
        const before = await rowsRead();
        await step();
        expect((await rowsRead()) - before - byAsking).toBeLessThan(READS_MAX);
      }
    }
  });

  test("a grant and an end are two writes each, as without records, and a record is one more", async () => {
    const target = await stage.store({ poolSize: 1 });
    const [id, recorded] = [await lockId(target, "written"), await lockId(target, "written and recorded")];
    await changeLock(target, recorded, (lock) => Object.assign(lock, { record: RECORD }));
    const writes = async () => {
      const rows = await plain.run(
        "SHOW GLOBAL STATUS WHERE Variable_name RLIKE '^Com_(insert|update|delete|replace)'",
      );
      return rows.reduce((sum, row) => sum + Number(row.Value), 0);
    };
    const writesOf = async (work: () => Promise<unknown>) => {
      const before = await writes();
      await work();
      return (await writes()) - before;
    };
    for (const [lock, requestId, expected] of [
      [id, "chosen", 2],
      [id, "\0made by a server", 2],
      [recorded, "chosen for a record", 3],
    ] as const) {
      const grant = () => addClaims(target, lock, { state: "held", requestId });
      expect(await writesOf(grant)).toBe(expected);
      const { claims } = await target.holders(lock, 1);
      const end = () =>
        target.transact({ ...NO_PLAN, locks: planned(lock), claims }, (loaded) => {
          const [held] = loaded.claims as [Claim];
          for (const each of loaded.locks.values()) countHolder(each, held, -1);
          Object.assign(held, { state: "ended", endedAtUs: loaded.nowUs, endReason: "released" });
          return { ...NO_CHANGES, locks: raised(loaded), changed: [held] };
        });
      expect(await writesOf(end)).toBe(expected);
    }
  });

  test("a capture reads no more rows if most of very many locks cannot be taken", async () => {
    const target = await stage.store({ poolSize: 1 });
    await plain.run(`USE ${stage.address.database}`);
    const due = [...(await target.resolve(["task/1", "task/2", "task/3"])).values()];
    const record = "(lock_id, folder, name, status, due_at, version)";
    for (const id of due)
      await plain.run(
        `INSERT INTO rowlock_record ${record} VALUES (${id}, 'task/', 'task/${id}', 'new', ${id}, 1)`,
      );
    // Held or exhausted; due in an hour; in another status.
    const unwanted = ["'new', NULL", `'new', ${(Date.now() + 3_600_000) * 1_000}`, "'done', 0"];
    for (const [at, values] of unwanted.entries())
      await plain.run(
        `INSERT INTO rowlock_record ${record} VALUES (${1_000 + at}, 'task/', '${at}', ${values}, 1)`,
      );
    const first = await rowsRead();
    const byAsking = (await rowsRead()) - first;
    const capture = async () => {
      const before = await rowsRead();
      const under = { kind: "prefix", prefix: "task/" } as const;
      const found = await new Candidates(target, new Set(), under, ["new"], null).next(3);
      expect(found.map(({ id }) => id)).toEqual(due);
      return (await rowsRead()) - before - byAsking;
    };
    expect(await capture()).toBeGreaterThan(3);
    // From here on each read reaches its bound, so more locks change nothing.
    let ofSome = 0;
    for (let times = 0; times < DOUBLED; times++) {
      const others = `SELECT lock_id + ${1_000 * 2 ** (times + 1)}, folder, CONCAT(name, ${times}), status, due_at, 1
        FROM rowlock_record WHERE lock_id >= 1000`;
      await plain.run(`INSERT INTO rowlock_record ${record} ${others}`);
      if (times === SOME_DOUBLED) ofSome = await capture();
    }
    const [row] = await plain.run("SELECT COUNT(*) AS records FROM rowlock_record WHERE folder = 'task/'");
    expect(Number(row?.records)).toBe(due.length + unwanted.length * 2 ** DOUBLED);
    expect(ofSome).toBeLessThan(READS_MAX);
    expect(await capture()).toBe(ofSome);
  });

  test("a second request id is distinguished from a second ticket number, whatever language the server speaks", async () => {
    const id = await lockId(await stage.store(), "languages");
    for (const language of LANGUAGES) {
      await plain.run("SET GLOBAL lc_messages = ?", [language]);
      const store = await stage.store({ poolSize: 1 });
      const [first] = (await addClaims(store, id, { requestId: language })) as [Claim];
      const secondRequest = refusal(addClaims(store, id, { requestId: language }));
      expect(await secondRequest).toMatchObject({ kind: "transient", reason: "duplicate_request" });
      const secondTicket = addClaims(store, id, { ticketNumber: first.ticketNumber });
      await expect(secondTicket).rejects.not.toBeInstanceOf(StoreError);
      await store.close();
    }
    await plain.run("SET GLOBAL lc_messages = ?", [LANGUAGES[0]]);
  });

  test("settings that lose acknowledged commits are found", async () => {
    const store = await stage.store();
    expect(await store.checkDurability()).toEqual([]);
    const flush = await variable("global.innodb_flush_log_at_trx_commit");
    await plain.run("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    try {
      expect(await store.checkDurability()).toMatchObject([{ severity: "error", check: "durability" }]);
      await refusedUntouched();
    } finally {
      await plain.run(`SET GLOBAL innodb_flush_log_at_trx_commit = ${flush}`);
    }
  });

  /** A refused database is left unchanged. */
  async function refusedUntouched(): Promise<void> {
    const { url, drop } = await freshDatabase(running.server);
    try {
      const silent = { debug() {}, info() {}, warn() {}, error() {} };
      const opened = openReadyStore({ ...START, databaseUrl: url }, UNOBSERVED, silent);
      expect(await refusal(opened)).toMatchObject({ reason: "weak_durability" });
      expect((await migrationStatus(url)).applied).toEqual([]);
    } finally {
      await drop();
    }
  }

  /** The first calls may still get a connection whose opening began while the server did not answer. */
  async function works(store: Store, id: bigint): Promise<void> {
    await until(async () => {
      const answer = await load(store, { locks: planned(id) }).catch((error: unknown) => error);
      return !(answer instanceof Error);
    });
  }
});

test("servers for these tests are started wherever there is a binary", () => {
  const { flavours } = chosenDatabases(process.env.ROWLOCK_TEST_DATABASES);
  expect(binaries.size).toBeGreaterThanOrEqual(namedBinaries().length > 0 && flavours.size > 0 ? 1 : 0);
});

/** The first is the servers' default; the others put a key's name in another place of their messages. */
const LANGUAGES = ["en_US", "ja_JP", "cs_CZ", "hu_HU", "sk_SK"];
/** Three records doubled this often are 24,576. */
const DOUBLED = 13;
/** The first doublings give some hundreds. */
const SOME_DOUBLED = 6;
/** Far fewer than the tables contain. */
const READS_MAX = 100;

function neverDecide(): never {
  throw new Error("A frozen server has answered.");
}
