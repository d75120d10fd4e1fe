// A database server whose settings somebody has changed, one setting at a time: the schema is made, a server works, and
// doctor finds nothing, or the first of them says in a sentence what to do. Each database server is private to this file.

import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type App, startApp } from "../../../server/app.ts";
import { loadConfig } from "../../../server/config/config.ts";
import { createLog } from "../../../server/log/log.ts";
import { parseDatabaseUrl } from "../../../server/storage/database-url.ts";
import { migrateUp, migrationStatus } from "../../../server/storage/migrate/migrate.ts";
import { openStore } from "../../../server/storage/open.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import { type FreshDatabase, freshDatabase, reportLeftOut } from "../../support/database.ts";
import { ownBinaries } from "../../support/mysql-family/own-binaries.ts";
import { type RunningServer, startPrivateServer } from "../../support/mysql-family/private-server.ts";
import { openPlainConnection, type PlainConnection, refusal } from "../../support/mysql-stage.ts";
import { addClaims, addClaimsTo, load, lockId, planned } from "../../support/store-fixture.ts";
import { TestCalls } from "../../support/test-calls.ts";

const binaries = await ownBinaries();
reportLeftOut([...binaries]);

type Setting = readonly [variable: string, value: string, only?: "mysql" | "mariadb"];

/** Each of these has broken something, or would change what a session does. Values are SQL. */
const ALONE: readonly Setting[] = [
  ["autocommit", "0"],
  ["character_set_server", "'ucs2'"],
  ["completion_type", "'CHAIN'"],
  ["completion_type", "'RELEASE'"],
  ["default_storage_engine", "'MyISAM'"],
  ["idle_transaction_timeout", "1", "mariadb"],
  ["init_connect", "'SET autocommit = 0, sql_select_limit = 1'"],
  ["init_connect", "'SET SESSION TRANSACTION READ ONLY'"],
  ["init_connect", "'START TRANSACTION'"],
  ["innodb_default_row_format", "'compact'"],
  ["lock_wait_timeout", "1"],
  ["max_allowed_packet", "1048576"],
  ["max_execution_time", "1", "mysql"],
  ["max_join_size", "1"],
  ["max_sort_length", "64"],
  ["max_statement_time", "0.01", "mariadb"],
  [
    "optimizer_switch",
    "'mrr=on,mrr_cost_based=off,index_merge=off,materialization=off,semijoin=off,derived_merge=off'",
  ],
  ["range_optimizer_max_mem_size", "1", "mysql"],
  ["session_track_system_variables", "'*'"],
  ["sql_generate_invisible_primary_key", "1", "mysql"],
  ["sql_mode", "''"],
  ["sql_mode", "'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,IGNORE_SPACE,HIGH_NOT_PRECEDENCE'"],
  ["sql_mode", "'MSSQL'", "mariadb"],
  ["sql_mode", "'ORACLE'", "mariadb"],
  ["sql_mode", "'EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT,TIME_ROUND_FRACTIONAL'", "mariadb"],
  ["sql_mode", "'TRADITIONAL,ONLY_FULL_GROUP_BY,NO_UNSIGNED_SUBTRACTION,PAD_CHAR_TO_FULL_LENGTH'"],
  ["sql_require_primary_key", "1", "mysql"],
  ["sql_safe_updates", "1"],
  ["sql_select_limit", "1"],
  ["time_zone", "'-11:00'"],
  ["transaction_isolation", "'SERIALIZABLE'", "mysql"],
  ["transaction_read_only", "1", "mysql"],
  ["tx_isolation", "'READ-UNCOMMITTED'", "mariadb"],
  ["tx_read_only", "1", "mariadb"],
  ["wait_timeout", "2"],
];

/** Less likely to matter, so together. */
const TOGETHER: readonly Setting[] = [
  ["big_tables", "1"],
  ["binlog_row_image", "'MINIMAL'"],
  ["character_set_connection", "'latin1'"],
  ["collation_server", "'latin1_german1_ci'"],
  ["div_precision_increment", "0"],
  ["eq_range_index_dive_limit", "0"],
  ["event_scheduler", "ON"],
  ["explicit_defaults_for_timestamp", "0"],
  ["foreign_key_checks", "0"],
  ["group_concat_max_len", "4"],
  ["init_connect", "'SET NAMES latin1'"],
  ["innodb_lock_wait_timeout", "1"],
  ["innodb_snapshot_isolation", "1", "mariadb"],
  ["innodb_strict_mode", "0"],
  ["interactive_timeout", "1"],
  ["join_cache_level", "8", "mariadb"],
  ["lc_messages", "'fr_FR'"],
  ["lc_time_names", "'de_DE'"],
  ["low_priority_updates", "1"],
  ["max_error_count", "0"],
  ["max_heap_table_size", "16384"],
  ["max_length_for_sort_data", "4"],
  ["net_read_timeout", "1"],
  ["net_write_timeout", "1"],
  ["old_mode", "'NO_DUP_KEY_WARNINGS_WITH_IGNORE,NO_PROGRESS_INFO,ZERO_DATE_TIME_CAST'", "mariadb"],
  ["optimizer_max_sel_arg_weight", "1", "mariadb"],
  ["optimizer_search_depth", "1"],
  ["query_cache_type", "1", "mariadb"],
  ["read_buffer_size", "8192"],
  ["session_track_schema", "1"],
  ["session_track_state_change", "1"],
  ["sort_buffer_size", "32768"],
  ["sql_auto_is_null", "1"],
  ["sql_big_selects", "0"],
  ["sql_buffer_result", "1"],
  ["sql_warnings", "1"],
  ["system_versioning_alter_history", "'KEEP'", "mariadb"],
  ["tmp_table_size", "1024"],
  ["unique_checks", "0"],
  ["updatable_views_with_limit", "0"],
  ["use_stat_tables", "'COMPLEMENTARY_FOR_QUERIES'", "mariadb"],
];

describe.each([...binaries])("on a %s of its own", (flavour, binary) => {
  let running: RunningServer;
  let admin: PlainConnection;
  let known: ReadonlySet<string>;

  beforeAll(async () => {
    running = await startPrivateServer(binary, flavour, {
      flags: ["--log-bin"],
      // Each database is made anew, and a disk would flush each of its tables.
      ...(existsSync("/dev/shm") && { parent: "/dev/shm" }),
    });
    const { url } = await freshDatabase(running.server);
    admin = await openPlainConnection(url);
    known = new Set((await admin.run("SHOW GLOBAL VARIABLES")).map(({ Variable_name: name }) => name));
    // As most servers run: with rights to their own database alone, so that init_connect holds for them, too.
    await admin.run("CREATE USER 'usual'@'%' IDENTIFIED BY 'p'");
  });
  afterAll(async () => {
    admin?.close();
    await running?.stop();
  });

  /** A database for the usual user. */
  async function fresh(): Promise<FreshDatabase> {
    const database = await freshDatabase(running.server);
    onTestFinished(() => database.drop());
    const { pathname } = new URL(database.url);
    await admin.run(`GRANT ALL ON \`${pathname.slice(1)}\`.* TO 'usual'@'%'`);
    return {
      ...database,
      url: Object.assign(new URL(database.url), { username: "usual", password: "p" }).href,
    };
  }

  /** Sets them for new sessions until the test is over. Leaves out what this server does not have. */
  async function setGlobals(...settings: readonly Setting[]): Promise<void> {
    for (const [variable, value, only = flavour] of settings) {
      if (!known.has(variable) || only !== flavour) continue;
      // As text, because some numbers are larger than the driver's.
      const [row] = await admin.run(`SELECT CAST(@@GLOBAL.${variable} AS CHAR) AS value`);
      const before = String(row?.value ?? "");
      const literal = /^[\d.]+$/.test(before) ? before : `'${before}'`;
      onTestFinished(async () => void (await admin.run(`SET GLOBAL ${variable} = ${literal}`)));
      await admin.run(`SET GLOBAL ${variable} = ${value}`);
    }
  }

  const ofFlavour = ALONE.filter(([, , only = flavour]) => only === flavour);
  const alone = ofFlavour.map(([variable, value]): [string, string] => [variable, value]);
  test.each(alone)("%s = %s changes nothing for Rowlock", async (variable, value) => {
    const { url } = await fresh();
    await setGlobals([variable, value]);
    await everythingWorks(url);
  });

  test("many other unusual settings change nothing, either", async () => {
    const { url } = await fresh();
    await setGlobals(...TOGETHER);
    await everythingWorks(url);
  });

  test("a setting that this user may not change is named, with the statement that corrects it", async () => {
    const { url } = await fresh();
    await setGlobals(["binlog_format", "'STATEMENT'"]);
    const error = await refusal(migrateUp(url));
    expect(error).toMatchObject({ kind: "unavailable", reason: "session_settings" });
    expect(error.message).toMatch(/setting of binlog_format .* run `SET GLOBAL binlog_format = ROW`/);
    expect((await refusal(openStore(url))).message).toMatch(/run `SET GLOBAL binlog_format = ROW`/);
    const { code, err } = await ranInProcess(["doctor", "--database-url", url]);
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining("SET GLOBAL binlog_format = ROW"),
    });
  });

  test("what is written at once is divided by what the server takes at once", async () => {
    const { url } = await fresh();
    await setGlobals(["max_allowed_packet", "1048576"]);
    await migrateUp(url);
    const store = await openStore(url);
    onTestFinished(() => store.close());
    const id = await lockId(store, "a");
    const keys = Array.from({ length: 16 }, (_, at) => `${at}`.padEnd(63, "k"));
    const labels = Object.fromEntries(keys.map((key) => [key, "x".repeat(255)]));
    const claims = await addClaims(store, id, ...Array.from({ length: 250 }, () => ({ labels })));
    const seen = await load(store, { locks: planned(id), claims });
    expect(seen.claims.length).toBe(250);
    expect(seen.claims[249]?.labels).toEqual(labels);
    // Many first holders in one statement, too.
    const names = Array.from({ length: 120 }, (_, at) => `many/${at}`);
    const ids = [...(await store.resolve(names)).values()].sort((a, b) => Number(a - b));
    await addClaimsTo(store, ids, { labels, state: "held" });
    expect((await store.views(ids, 1)).map(({ holders }) => holders[0]?.labels)).toEqual(
      ids.map(() => labels),
    );
    // Nobody decided about the claims that wait here.
    expect(await store.checkInvariants(10)).toMatchObject([{ check: "not_granted" }]);
  });

  test("a server that takes too little at once is refused in a sentence", async () => {
    const { url } = await fresh();
    await setGlobals(["max_allowed_packet", "65536"]);
    const error = await refusal(migrateUp(url));
    expect(error).toMatchObject({ kind: "unavailable", reason: "session_settings" });
    expect(error.message).toContain("SET GLOBAL max_allowed_packet = 16777216");
  });

  test("an init_connect that fails is named", async () => {
    const { url } = await fresh();
    await setGlobals(["init_connect", "'SELECT 1 FROM nowhere.nothing'"]);
    expect((await refusal(migrateUp(url))).message).toContain("init_connect");
    expect((await refusal(openStore(url))).message).toContain("init_connect");
  });
});

async function everythingWorks(url: string): Promise<void> {
  expect((await migrateUp(url)).length).toBeGreaterThan(0);
  expect(await migrateUp(url)).toEqual([]);
  expect(await migrationStatus(url)).toMatchObject({ pending: [], unknown: [] });
  await works(url);
  expect(await ranInProcess(["doctor", "--database-url", url])).toMatchObject({ code: 0, err: "" });
}

/** A server on the database does what servers do. */
async function works(databaseUrl: string): Promise<void> {
  const loaded = loadConfig({
    argvFlags: {},
    env: {
      ROWLOCK_DATABASE_URL: databaseUrl,
      ROWLOCK_LISTEN: "127.0.0.1:0",
      ROWLOCK_METRICS_LISTEN: "127.0.0.1:0",
      ROWLOCK_MIGRATE: "false",
      ROWLOCK_POOL_SIZE: "4",
      ROWLOCK_DRAIN_TIMEOUT: "100ms",
    },
    readFile: (path) => {
      throw new Error(`no ${path} here`);
    },
    parseDatabaseUrl,
  });
  if (!("config" in loaded)) throw new Error(loaded.faults.join("; "));
  const lines: string[] = [];
  const app: App = await startApp(loaded.config, {
    log: createLog({ level: "warn", write: (line) => void lines.push(line) }),
    version: "1.2.3",
    nodeVersion: "26.0.0",
    memoryMax: Number.POSITIVE_INFINITY,
  });
  const client = new TestCalls(app.grpcAddress);
  try {
    await client.call("updateRecord", {
      name: "task/b",
      status: "new",
      newAttemptsLeft: { case: "attemptsLeft", value: 3 },
    });
    await client.call("setLimit", {
      target: { case: "pattern", value: "etl/*" },
      newLimit: { case: "limit", value: 3 },
      reason: "é ' \\ \"",
    });
    const lease = await client.lease({ name: "etl/é'\\\"", terms: { owner: "'; \\ ü", labels: { a: "ß" } } });
    const ticket = await client.ticket({ name: "etl/é'\\\"", permits: 3 });
    await client.call("renew", { leaseId: lease.leaseId });
    const [captured] = (
      await client.call("capture", {
        from: { case: "prefix", value: "task/" },
        maxLeases: 1,
        terms: { ifStatus: ["new"] },
      })
    ).leases;
    expect(captured).toBeDefined();
    await client.call("release", { leaseId: lease.leaseId });
    await client.call("renew", { leaseId: ticket.ticketId });
    const locks = (await client.call("listLocks", { prefix: "" })).locks.map(({ name }) => name);
    expect(locks).toEqual(["etl/é'\\\"", "task/b"]);
    const { claims } = await client.call("listClaims", { locks: { case: "prefix", value: "" } });
    expect(claims.length).toBe(3);
    const { locks: long } = await client.call("listLocks", { prefix: "task/", pageSize: 1 });
    expect(long.length).toBe(1);
  } finally {
    client.close();
    await app.stop();
  }
  expect(lines.filter((line) => !/server_id|doublewrite|everybody/.test(line))).toEqual([]);
}
