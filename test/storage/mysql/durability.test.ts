// Which server settings are reported because they can lose acknowledged writes, and that the checks leave no trace.

import { describe, expect, test } from "vitest";
import { checks } from "../../../server/storage/mysql/checks.ts";
import { CHECK_MS_MAX } from "../../../server/storage/storage-bounds.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { ScriptedPool } from "./scripted-pool.ts";

/** Settings of a MySQL server that keeps every acknowledged write. */
const SOUND = {
  innodb_flush_log_at_trx_commit: "1",
  sync_binlog: "1",
  log_bin: "ON",
  innodb_doublewrite: "ON",
  version: "8.4.0",
  server_id: "1",
};

const MARIADB = { version: "11.4.2-MariaDB" };

async function reported(
  settings: Readonly<Record<string, string>>,
  pool: { isCluster?: boolean; serverChanges?: number } = {},
): Promise<string[]> {
  const scripted = new ScriptedPool((sql) => (sql.startsWith("SHOW") ? Object.entries(settings) : undefined));
  Object.assign(scripted, pool);
  const findings = await checks(scripted.pool).checkDurability();
  for (const { check } of findings) expect(check).toBe("durability");
  return findings.map(({ severity, message }) => `${severity}: ${message}`);
}

describe("a server", () => {
  test.each<[string, Record<string, string>]>([
    ["a MySQL server", {}],
    ["another way of repairing pages", { innodb_doublewrite: "DETECT_AND_RECOVER" }],
    ["no binary log", { log_bin: "OFF", sync_binlog: "0" }],
    ["a MariaDB server with its own number", { ...MARIADB, server_id: "7" }],
    ["a node that waits for what others have committed", { wsrep_on: "ON", wsrep_sync_wait: "1" }],
    ["Galera that is off", { wsrep_on: "OFF", wsrep_sync_wait: "0" }],
  ])("that keeps what it has acknowledged is not reported: %s", async (_, settings) => {
    expect(await reported({ ...SOUND, ...settings })).toEqual([]);
  });

  test.each<[string, Record<string, string>, RegExp]>([
    ["writes its log late", { innodb_flush_log_at_trx_commit: "0" }, /^error: innodb_flush_.* is 0/],
    ["flushes its log late", { innodb_flush_log_at_trx_commit: "2" }, /^error: innodb_flush_.* is 2/],
    ["has a binary log (ON) that it writes late", { sync_binlog: "0" }, /^error: .*sync_binlog is 0/],
    ["has one (1)", { log_bin: "1", sync_binlog: "0" }, /^error: .*sync_binlog is 0/],
    ["has one (on)", { log_bin: "on", sync_binlog: "0" }, /^error: .*sync_binlog is 0/],
    ["cannot repair half a page", { innodb_doublewrite: "OFF" }, /^warning: innodb_doublewrite is off/],
    ["cannot (0)", { innodb_doublewrite: "0" }, /^warning: innodb_doublewrite is off/],
    ["cannot (off)", { innodb_doublewrite: "off" }, /^warning: innodb_doublewrite is off/],
    ["reads late", { wsrep_on: "ON", wsrep_sync_wait: "0" }, /^warning: .*wsrep_sync_wait = 0/],
    ["cannot be distinguished from others", MARIADB, /^warning: server_id is 1/],
  ])("that %s is reported", async (_, settings, finding) => {
    expect(await reported({ ...SOUND, ...settings })).toEqual([expect.stringMatching(finding)]);
  });

  test("is distinguished by its cluster, and its address is a warning with the number of switches", async () => {
    expect(await reported({ ...SOUND, ...MARIADB }, { isCluster: true })).toEqual([]);
    const found = await reported(SOUND, { serverChanges: 2 });
    expect(found).toEqual([expect.stringMatching(/^warning: .* another server 2 times/)]);
  });
});

describe("the check of all rows", () => {
  const scripted = () => new ScriptedPool((sql) => (sql.startsWith("SELECT CAST") ? [["1000"]] : undefined));

  test("reads one snapshot for as long as it takes, and no other work gets its patient connection", async () => {
    const each = scripted();
    expect(await checks(each.pool).checkInvariants(10)).toEqual([]);
    expect(each.loans).toEqual([CHECK_MS_MAX]);
    expect(each.names.slice(0, 3)).toEqual(["check_set_up", "begin_snapshot", "clock"]);
    expect(each.names.at(-1)).toBe("end_snapshot");
    expect(each.destroyed).toHaveLength(1);
  });

  test("that fails leaves no patient connection either", async () => {
    const each = scripted();
    const failure = new Error("away");
    each.failures.set("clock", [failure]);
    await expect(checks(each.pool).checkInvariants(10)).rejects.toBe(failure);
    expect(each.destroyed).toHaveLength(1);
  });

  test("of live claims takes a connection like others, for a bounded time, and gives up if that is not enough", async () => {
    const each = scripted();
    expect(await checks(each.pool).checkLiveClaims(10, 777)).toEqual([]);
    expect(each.loans).toEqual([777]);
    expect(each.names[0]).toBe("begin_snapshot");
    expect(each.sql.join()).not.toContain("rowlock_history");
    expect(each.destroyed).toEqual([]);
    const late = new StoreError("unavailable", "timeout", "The database took too long to answer.");
    const away = new StoreError("transient", "connection_lost", "The connection was lost.");
    each.failures.set("check_counters", [late, away]);
    expect(await checks(each.pool).checkLiveClaims(10, 777)).toBeNull();
    await expect(checks(each.pool).checkLiveClaims(10, 777)).rejects.toBe(away);
  });
});
