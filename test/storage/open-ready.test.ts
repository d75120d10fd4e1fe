// When a server may use a store: which databases it waits for and how long, and which it refuses before creating
// anything in them. The databases and the clock are fakes.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
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
const PENDING: MigrationStatus = { ...UP_TO_DATE, pending: ["0002", "0003"] };
/** With this server in the fleet. */
const beside = (level: number, more: Partial<MigrationStatus> = {}): MigrationStatus => {
  const members = [{ address: "10.0.0.7:50051", version: "0.0.9", level, knows: "" }];
  return { ...UP_TO_DATE, ...more, fleet: { ...UP_TO_DATE.fleet, members } };
};
const RULED_OUT = { levelMin: { level: LEVEL + 1, by: "7.0.0" }, members: [] };
const OPENED = expect.stringMatching(/^opened at /);

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

test("a database that is away is tried again after pauses that grow up to a bound, and each try is logged", async () => {
  database.failures = Array.from({ length: 7 }, () => failed("connection_refused"));
  let atMs = performance.now();
  expect(await open()).toBe(STORE);
  const pauses = [0, 1, 2, 3, 4, 5, 6].map((tries) =>
    Math.min(START_PAUSE_MS * 2 ** tries, START_PAUSE_MS_MAX),
  );
  const expected = [atMs, ...pauses.map((pauseMs) => (atMs += pauseMs))];
  expect(database.did).toEqual(expected.map((ms) => `opened at ${ms}`));
  expect(logged).toEqual(
    Array(7).fill('warn It is connection_refused. Trying again. {"reason":"connection_refused"}'),
  );
});

test("a database that stays away is given up when the time is over, and the error names it", async () => {
  database.failures = Array.from({ length: 1_000 }, () => failed("connection_refused"));
  const beganMs = performance.now();
  const error = (await open()) as StoreError;
  expect(performance.now() - beganMs).toBe(60_000);
  expect(error).toMatchObject({ reason: "connection_refused", cause: expect.any(StoreError) });
  expect(error.message).toMatch(/Gave up after 60 s.*db\.example/);
  expect(error.message).not.toContain("a-password");
  database.failures = Array.from({ length: 1_000 }, () => failed("read_only"));
  expect(((await open()) as StoreError).message).toMatch(/Make the database of .* writable/);
});

test.each(["access_denied", "no_database"])(
  "a database that says %s is not waited for, and the error has the user and the name of the database",
  async (reason) => {
    database.failures = [failed(reason)];
    const error = (await open()) as StoreError;
    expect(error.reason).toBe(reason);
    expect(error.message).toMatch(/^It is .*\. ROWLOCK_DATABASE_URL is mysql:.*db\.example.*\/\w+$/);
    expect(error.message).not.toContain("a-password");
    expect(database.did).toHaveLength(1);
  },
);

test.each([
  ...["tls", "schema", "newer_schema", "weak_durability"].map(
    (reason) => [reason, failed(reason), {}] as const,
  ),
  ["a bug", new Error("a bug"), {}] as const,
  ["a file in use", failed("in_use"), { databaseUrl: "sqlite:/data/locks.db" }] as const,
])("what no waiting cures is not waited for: %s", async (_, failure, options) => {
  database.failures = [failure];
  expect(await open(options)).toBe(failure);
  expect(database.did).toHaveLength(1);
});

interface Scene {
  readonly is: Partial<typeof database>;
  readonly options?: Partial<ReadyOptions>;
  /** Beside opening it. */
  readonly did?: readonly string[];
  readonly logs?: readonly string[];
}

test.each<[string, Scene]>([
  ["that is up to date", { is: { status: UP_TO_DATE } }],
  [
    "with an older schema, which it migrates first",
    {
      is: { status: PENDING },
      did: ["migrated"],
      logs: [
        "info waiting for another server {}",
        'info schema brought up to date {"migrations":["0002","0003"]}',
      ],
    },
  ],
  [
    "with a newer schema that it can use",
    {
      is: { status: { ...UP_TO_DATE, unknown: ["0009"] } },
      logs: ['info the schema is newer than this server, but compatible {"migrations":["0009"]}'],
    },
  ],
  [
    "that may lose commits, on request",
    {
      is: { findings: [ERROR] },
      options: { weakDurability: true },
      logs: ['warn It loses commits. {"check":"durability"}'],
    },
  ],
  [
    "that loses commits only if an earlier step fails",
    { is: { findings: [WARNING] }, logs: ['warn It may be better. {"check":"durability"}'] },
  ],
  ["beside servers that are new enough", { is: { status: beside(LEVEL_MIN) } }],
])("a server uses a database %s", async (_, { is, options = {}, did = [], logs = [] }) => {
  Object.assign(database, is);
  expect(await open(options)).toBe(STORE);
  expect(database.did).toEqual([...did, OPENED]);
  expect(logged).toEqual(logs);
  // The store learns which servers may run beside it from now on.
  expect(database.raised).toEqual([`${LEVEL_MIN} by 1.2.3`]);
});

const OLDER_WAITED = / there is version 0\.0\.9 .* Gave up after 1 s \(ROWLOCK_STARTUP_TIMEOUT\)\.$/;

test.each<[string, string, RegExp, Partial<MigrationStatus>, Partial<ReadyOptions>?]>([
  ["with an older schema, if it may not migrate", "schema", /lacks 0002, 0003/, PENDING, { migrate: false }],
  [
    "of a trial version",
    "schema",
    /start with an empty database/,
    { isOfTrial: true, pending: ["0001"], unknown: ["0"], breaking: ["0"] },
  ],
  [
    "with a newer schema that it cannot use",
    "newer_schema",
    /does not support 0010\./,
    { unknown: ["0009", "0010"], breaking: ["0010"], pending: ["0002"] },
  ],
  [
    "beside servers that are too old, for which it waits",
    "older_servers",
    OLDER_WAITED,
    beside(LEVEL_MIN - 1, { pending: ["0002"] }),
    { startupTimeoutMs: 1_000 },
  ],
  [
    "beside later servers that have ruled it out",
    "too_old",
    /Start version 7\.0\.0/,
    { pending: ["0002"], fleet: RULED_OUT },
  ],
])("a server refuses a database %s, and changes nothing", async (_, reason, said, status, options) => {
  database.status = { ...UP_TO_DATE, ...status };
  const error = (await open(options)) as StoreError;
  expect(error).toMatchObject({ kind: "unavailable", reason });
  expect(error.message).toMatch(said);
  expect(database.did).toEqual([]);
  if (reason === "older_servers")
    expect(logged[0]).toMatch(/^warn This version has level .* Trying again\. \{"reason":"older_servers"\}$/);
});

test("a database that may lose what it has acknowledged is refused unchanged, and the error lists all faults", async () => {
  Object.assign(database, {
    findings: [ERROR, WARNING, { ...ERROR, message: "And more." }],
    status: PENDING,
  });
  const error = (await open()) as StoreError;
  expect(error).toMatchObject({ kind: "unavailable", reason: "weak_durability" });
  expect(error.message).toContain("  It loses commits.\n  And more.");
  expect(error.message).not.toContain(WARNING.message);
  expect(database.did).toEqual([]);
});

test("a store is opened with the requested connections, and with lanes only if they were requested", async () => {
  await open();
  expect(database.openedWith).toMatchObject({ observer: OBSERVER, poolSize: 9, lanes: null });
  await open({ lanes: 3 });
  expect(database.openedWith).toMatchObject({ observer: OBSERVER, poolSize: 9, lanes: 3 });
});
