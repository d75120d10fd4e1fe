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
  test("that keeps what it has acknowledged is not reported, whatever it is", async () => {
    expect(await reported(SOUND)).toEqual([]);
    expect(await reported({ ...SOUND, innodb_doublewrite: "DETECT_AND_RECOVER" })).toEqual([]);
    expect(await reported({ ...SOUND, log_bin: "OFF", sync_binlog: "0" })).toEqual([]);
    expect(await reported({ ...SOUND, version: "11.4.2-MariaDB", server_id: "7" })).toEqual([]);
    expect(await reported({ ...SOUND, wsrep_on: "ON", wsrep_sync_wait: "1" })).toEqual([]);
    expect(await reported({ ...SOUND, wsrep_on: "OFF", wsrep_sync_wait: "0" })).toEqual([]);
  });

  test.each(["0", "2"])("that does not write its log on each commit is an error: %s", async (value) => {
    const found = await reported({ ...SOUND, innodb_flush_log_at_trx_commit: value });
    expect(found).toEqual([expect.stringContaining(`error: innodb_flush_log_at_trx_commit is ${value}`)]);
  });

  test.each(["ON", "1", "on"])(
    "with a binary log that it does not write on each commit is an error: %s",
    async (on) => {
      const found = await reported({ ...SOUND, log_bin: on, sync_binlog: "0" });
      expect(found).toEqual([expect.stringContaining("sync_binlog is 0")]);
      expect(found[0]).toMatch(/^error/);
    },
  );

  test.each(["OFF", "0", "off"])("that cannot repair half a page is a warning: %s", async (value) => {
    const found = await reported({ ...SOUND, innodb_doublewrite: value });
    expect(found).toEqual([expect.stringMatching(/^warning: innodb_doublewrite is off/)]);
  });

  test("that reads late what other nodes have committed is a warning", async () => {
    const found = await reported({ ...SOUND, wsrep_on: "ON", wsrep_sync_wait: "0" });
    expect(found).toEqual([expect.stringMatching(/^warning: .*wsrep_sync_wait = 0/)]);
  });

  test("of MariaDB that cannot be distinguished from others is a warning, unless its cluster can", async () => {
    const mariadb = { ...SOUND, version: "11.4.2-MariaDB" };
    expect(await reported(mariadb)).toEqual([expect.stringMatching(/^warning: server_id is 1/)]);
    expect(await reported(mariadb, { isCluster: true })).toEqual([]);
  });

  test("that the address has switched to is a warning with the number of switches", async () => {
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
