// When a server may use a store: which databases it waits for and how long, and which it refuses before creating
// anything in them. The databases and the clock are fakes.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LEVEL, LEVEL_MIN, type LevelMin } from "../../server/core/level.ts";
import type { MigrationStatus } from "../../server/storage/migrate/migrate.ts";
import { type OpeningLog, openReadyStore, type ReadyOptions } from "../../server/storage/open-ready.ts";
import { START_PAUSE_MS, START_PAUSE_MS_MAX } from "../../server/storage/storage-bounds.ts";
import { type Finding, type Store, StoreError } from "../../server/storage/store.ts";

const database = vi.hoisted(() => ({
  findings: [] as Finding[],
  status: {} as MigrationStatus,
  /** The errors of the next attempts to open it; after them it opens. */
  failures: [] as Error[],
  did: [] as string[],
  raised: [] as string[],
  openedWith: undefined as unknown,
}));
const STORE = {
  async raiseLevelMin({ level, by }: LevelMin) {
    database.raised.push(`${level} by ${by}`);
  },
} as Store;

vi.mock(import("../../server/storage/open.ts"), async () => ({
  durabilityOf: async () => database.findings,
  openStore: async (_url: string, options: object = {}) => {
    database.did.push(`opened at ${performance.now()}`);
    database.openedWith = options;
    const failure = database.failures.shift();
    if (failure) throw failure;
    return STORE;
  },
}));
vi.mock(import("../../server/storage/migrate/migrate.ts"), async () => ({
  migrationStatus: async () => database.status,
  migrateUp: async (_url: string, options?: { log?: (message: string) => void }) => {
    database.did.push("migrated");
    options?.log?.("waiting for another server");
    return database.status.pending;
  },
}));

const UP_TO_DATE: MigrationStatus = {
  applied: ["0001"],
  pending: [],
  unknown: [],
  breaking: [],
  isOfTrial: false,
  fleet: { levelMin: { level: 0, by: "" }, members: [] },
};
const OBSERVER = { statement() {}, transaction() {}, connection() {} };
const OPTIONS: ReadyOptions = {
  version: "1.2.3",
  databaseUrl: "mysql://user:a-password@db.example:3306/locks",
  startupTimeoutMs: 60_000,
  migrate: true,
  weakDurability: false,
  poolSize: 9,
  lanes: null,
};
const ERROR: Finding = { severity: "error", check: "durability", message: "It loses commits." };
const WARNING: Finding = { severity: "warning", check: "durability", message: "It may be better." };
const failed = (reason: string) => new StoreError("unavailable", reason, `It is ${reason}.`);

let logged: string[];
beforeEach(() => {
  vi.useFakeTimers();
  logged = [];
  Object.assign(database, {
    findings: [],
    status: UP_TO_DATE,
    failures: [],
    did: [],
    raised: [],
    openedWith: undefined,
  });
});
afterEach(() => void vi.useRealTimers());

/** The result of opening it, including what was logged. */
async function open(overrides: Partial<ReadyOptions> = {}): Promise<Store | Error> {
  const at = (level: string) => (facts: object, message: string) =>
    void logged.push(`${level} ${message} ${JSON.stringify(facts)}`);
  const log = { info: at("info"), warn: at("warn"), debug() {} } satisfies OpeningLog;
  const opening = openReadyStore({ ...OPTIONS, ...overrides }, OBSERVER, log).catch((error: Error) => error);
  await vi.runAllTimersAsync();
  return await opening;
}

describe("a database that is away", () => {
  test("is tried again after pauses that grow up to a bound, and each try is logged with its reason", async () => {
    database.failures = Array.from({ length: 7 }, () => failed("connection_refused"));
    const beganMs = performance.now();
    expect(await open()).toBe(STORE);
    const pauses = [0, 1, 2, 3, 4, 5, 6].map((tries) =>
      Math.min(START_PAUSE_MS * 2 ** tries, START_PAUSE_MS_MAX),
    );
    let atMs = beganMs;
    const expected = [atMs, ...pauses.map((pauseMs) => (atMs += pauseMs))];
    expect(database.did).toEqual(expected.map((ms) => `opened at ${ms}`));
    expect(logged).toEqual(
      Array(7).fill('warn It is connection_refused. Trying again. {"reason":"connection_refused"}'),
    );
  });

  test("is given up when the time is over, and the error has the time and the address, without the password", async () => {
    database.failures = Array.from({ length: 1_000 }, () => failed("connection_refused"));
    const beganMs = performance.now();
    const error = (await open()) as StoreError;
    expect(performance.now() - beganMs).toBe(60_000);
    expect(error).toMatchObject({
      kind: "unavailable",
      reason: "connection_refused",
      cause: expect.any(StoreError),
    });
    expect(error.message).toContain("Gave up after 60 s");
    expect(error.message).toContain("db.example");
    expect(error.message).not.toContain("a-password");
  });

  test.each(["access_denied", "no_database"])(
    "is not waited for if it is %s, and the error has the user and the name of the database",
    async (reason) => {
      database.failures = [failed(reason)];
      const error = (await open()) as StoreError;
      expect(error.reason).toBe(reason);
      expect(error.message).toMatch(/^It is .*\. ROWLOCK_DATABASE_URL is mysql:.*db\.example.*\/\w+$/);
      expect(error.message).not.toContain("a-password");
      expect(database.did).toHaveLength(1);
    },
  );

  test("that is read-only shall be made writable", async () => {
    database.failures = Array.from({ length: 1_000 }, () => failed("read_only"));
    expect(((await open()) as StoreError).message).toMatch(/Make the database of .* writable/);
  });

  test.each(["tls", "schema", "newer_schema", "weak_durability"])(
    "is not waited for if it is %s, which no waiting cures",
    async (reason) => {
      const failure = failed(reason);
      database.failures = [failure];
      expect(await open()).toBe(failure);
      expect(database.did).toHaveLength(1);
    },
  );

  test("is not waited for after a bug, or with a file", async () => {
    const bug = new Error("a bug");
    database.failures = [bug];
    expect(await open()).toBe(bug);
    const failure = failed("in_use");
    database.failures = [failure];
    expect(await open({ databaseUrl: "sqlite:/data/locks.db" })).toBe(failure);
    expect(database.did).toHaveLength(2);
  });
});

describe("a database that may lose what it has acknowledged", () => {
  test("is refused before anything is created in it, and the error lists all faults", async () => {
    database.findings = [ERROR, WARNING, { ...ERROR, message: "And more." }];
    database.status = { ...UP_TO_DATE, pending: ["0002"] };
    const error = (await open()) as StoreError;
    expect(error).toMatchObject({ kind: "unavailable", reason: "weak_durability" });
    expect(error.message).toContain("  It loses commits.\n  And more.");
    expect(error.message).not.toContain(WARNING.message);
    expect(database.did).toEqual([]);
  });

  test("is accepted on request, with a line in the log", async () => {
    database.findings = [ERROR];
    expect(await open({ weakDurability: true })).toBe(STORE);
    expect(logged).toEqual(['warn It loses commits. {"check":"durability"}']);
  });

  test("only if an earlier step fails is used, with a line in the log", async () => {
    database.findings = [WARNING];
    expect(await open()).toBe(STORE);
    expect(logged).toEqual(['warn It may be better. {"check":"durability"}']);
  });
});

describe("a schema", () => {
  test("that is up to date is not changed", async () => {
    expect(await open()).toBe(STORE);
    expect(database.did).toHaveLength(1);
    expect(logged).toEqual([]);
  });

  test("that is older is migrated before the store is opened, if the server may", async () => {
    database.status = { ...UP_TO_DATE, pending: ["0002", "0003"] };
    expect(await open()).toBe(STORE);
    expect(database.did).toEqual(["migrated", expect.stringMatching(/^opened/)]);
    expect(logged).toEqual([
      "info waiting for another server {}",
      'info schema brought up to date {"migrations":["0002","0003"]}',
    ]);
    database.did.length = 0;
    const error = (await open({ migrate: false })) as StoreError;
    expect(error).toMatchObject({ kind: "unavailable", reason: "schema" });
    expect(error.message).toContain("lacks 0002, 0003");
    expect(database.did).toEqual([]);
  });

  test("of a trial version is refused, with what to do, and not touched", async () => {
    database.status = { ...UP_TO_DATE, isOfTrial: true, pending: ["0001"], unknown: ["0"], breaking: ["0"] };
    const error = (await open()) as StoreError;
    expect(error).toMatchObject({ kind: "unavailable", reason: "schema" });
    expect(error.message).toContain("start with an empty database");
    expect(database.did).toEqual([]);
  });

  test("that is newer is used if this server can, with a line in the log, and refused otherwise", async () => {
    database.status = { ...UP_TO_DATE, unknown: ["0009"] };
    expect(await open()).toBe(STORE);
    expect(logged).toEqual([
      'info the schema is newer than this server, but compatible {"migrations":["0009"]}',
    ]);
    database.did.length = 0;
    database.status = { ...UP_TO_DATE, unknown: ["0009", "0010"], breaking: ["0010"], pending: ["0002"] };
    const error = (await open()) as StoreError;
    expect(error).toMatchObject({ kind: "unavailable", reason: "newer_schema" });
    expect(error.message).toContain("does not support 0010.");
    expect(database.did).toEqual([]);
  });
});

describe("other servers", () => {
  const older = { address: "10.0.0.7:50051", version: "0.0.9", level: LEVEL_MIN - 1, knows: "" };

  test("that are too old to run beside this one are waited for, and nothing is changed meanwhile", async () => {
    database.status = { ...UP_TO_DATE, pending: ["0002"], fleet: { ...UP_TO_DATE.fleet, members: [older] } };
    const error = (await open({ startupTimeoutMs: 1_000 })) as StoreError;
    expect(error).toMatchObject({ kind: "unavailable", reason: "older_servers" });
    expect(error.message).toMatch(
      / there is version 0\.0\.9 .* Gave up after 1 s \(ROWLOCK_STARTUP_TIMEOUT\)\.$/,
    );
    expect(database.did).toEqual([]);
    expect(logged[0]).toMatch(/^warn This version has level .* Trying again\. \{"reason":"older_servers"\}$/);
  });

  test("that are new enough are not waited for, and the store learns which are from now on", async () => {
    database.status = {
      ...UP_TO_DATE,
      fleet: { ...UP_TO_DATE.fleet, members: [{ ...older, level: LEVEL_MIN }] },
    };
    expect(await open()).toBe(STORE);
    expect(database.raised).toEqual([`${LEVEL_MIN} by 1.2.3`]);
  });

  test("of a later version that have ruled this one out are not waited for", async () => {
    const levelMin = { level: LEVEL + 1, by: "7.0.0" };
    database.status = { ...UP_TO_DATE, pending: ["0002"], fleet: { levelMin, members: [] } };
    expect(await open()).toMatchObject({
      reason: "too_old",
      message: expect.stringContaining("Start version 7.0.0"),
    });
    expect(database.did).toEqual([]);
  });
});

test("a store is opened with the requested connections, and with lanes only if they were requested", async () => {
  await open();
  expect(database.openedWith).toMatchObject({ observer: OBSERVER, poolSize: 9, lanes: null });
  await open({ lanes: 3 });
  expect(database.openedWith).toMatchObject({ observer: OBSERVER, poolSize: 9, lanes: 3 });
});
