// The example of a store that refuses old tokens, and of one that checks the lease itself, on each server of the
// MySQL family.

import { createConnection } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { fencedWrite, guardedWrite } from "../../../clients/typescript/examples/fenced-store.ts";
import type { Lock } from "../../../clients/typescript/src/index.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../../support/database.ts";
import { until } from "../../support/harness.ts";
import { afterwards, client, start } from "./stage.ts";

reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("on $flavour $version", (database) => {
  async function store() {
    const { url, drop } = await freshDatabase(database);
    afterwards(drop);
    const server = await start({ url });
    const connection = await createConnection(url);
    afterwards(() => connection.end());
    await connection.query(
      "CREATE TABLE account (k VARCHAR(64) PRIMARY KEY, value TEXT, fence BIGINT UNSIGNED NOT NULL DEFAULT 0)",
    );
    await connection.query("INSERT INTO account (k, value) VALUES ('a', 'none')");
    const value = async () => {
      const [[row]] = (await connection.query("SELECT value FROM account WHERE k = 'a'")) as unknown as [
        { value: string }[],
      ];
      return row?.value;
    };
    const rowlock = client(server.address);
    const guarded = (lock: Lock, text: string) =>
      guardedWrite(connection, lock.name, lock.token, "account", "a", text);
    const fenced = (token: bigint, text: string) => fencedWrite(connection, "account", "a", text, token);
    return { connection, rowlock, value, guarded, fenced };
  }

  test("a token lower than one that has written is refused", async () => {
    const { rowlock, fenced, value } = await store();
    const first = await rowlock.lock("account/a");
    expect(await fenced(first.token, "first")).toBe(true);
    expect(await fenced(first.token, "first")).toBe(true);
    await first.release();
    const second = await rowlock.lock("account/a");
    expect(await fenced(second.token, "second")).toBe(true);
    expect(await fenced(first.token, "late")).toBe(false);
    expect(await value()).toBe("second");
  });

  test("tokens are compared to their last bit", async () => {
    const { fenced, value } = await store();
    const large = 2n ** 53n;
    expect(await fenced(large + 1n, "higher")).toBe(true);
    expect(await fenced(large, "lower by one")).toBe(false);
    expect(await value()).toBe("higher");
  });

  test("if it checks the lease, only the holder of the lock writes", async () => {
    const { rowlock, guarded, value } = await store();
    const first = await rowlock.lock("account/ä");
    expect(await guarded(first, "first")).toBe(true);
    const second = rowlock.lock("account/ä");
    await until(async () => (await rowlock.getLock("account/ä")).waiterCount === 1);
    await first.release();
    expect(await guarded(first, "late")).toBe(false);
    expect(await guarded(await second, "second")).toBe(true);
    expect(await value()).toBe("second");
  });

  test("a failed write leaves no transaction behind", async () => {
    const { connection, rowlock, guarded } = await store();
    const lock = await rowlock.lock("account/a");
    await connection.query("RENAME TABLE account TO elsewhere");
    await expect(guarded(lock, "nowhere")).rejects.toMatchObject({ errno: 1146 });
    // The release would wait for rows that the failed write had locked.
    expect(await lock.release()).toBe(true);
  });
});
