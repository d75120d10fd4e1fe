// A database on the same machine, reached through its Unix socket.

import { describe, expect, test } from "vitest";
import { migrateUp } from "../../../../server/storage/migrate/migrate.ts";
import { openStore } from "../../../../server/storage/open.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../../../support/database.ts";
import { openPlainConnection } from "../../../support/mysql-stage.ts";
import { changeLock, lockId } from "../../../support/store-fixture.ts";

reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  test("a URL with a socket leads there, for migrations, too", async () => {
    const { url, drop } = await freshDatabase(server);
    const plain = await openPlainConnection(url);
    try {
      const [found] = await plain.run("SELECT @@socket AS path");
      const local = new URL(url);
      // Nothing listens there.
      local.hostname = "192.0.2.1";
      local.port = "";
      local.searchParams.set("socket", String(found?.path));
      await migrateUp(local.href);
      const store = await openStore(local.href);
      try {
        const id = await lockId(store, "a");
        expect(await changeLock(store, id, () => {})).toMatchObject({ name: "a" });
        expect(store.localHost).toBeNull();
      } finally {
        await store.close();
      }
    } finally {
      plain.close();
      await drop();
    }
  });

  test("a path without a socket is named as the fault", async () => {
    const local = new URL(server.url);
    local.port = "";
    local.pathname = "/rowlock";
    local.searchParams.set("socket", "/nowhere/mysqld.sock");
    await expect(openStore(local.href)).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("there is no socket at this path"),
    });
  });
});
