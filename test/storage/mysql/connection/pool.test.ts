// Which caller gets the error of a connection that cannot be opened.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import { MysqlPool } from "../../../../server/storage/mysql/connection/pool.ts";
import { mysqlFamily, reportLeftOut } from "../../../support/database.ts";
import { openStage, until } from "../../../support/mysql-stage.ts";

reportLeftOut(mysqlFamily());

const SILENT = { statement() {}, transaction() {}, connection() {} };

function one(): Trip {
  const trip = new Trip("one");
  trip.add("SELECT 1");
  return trip;
}

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  test("a failed attempt for one caller does not fail another", async () => {
    const stage = await openStage(server);
    const { host, port } = stage.address;
    const arrived: Socket[] = [];
    // The second connection is never answered.
    const proxy = createServer((client) => {
      arrived.push(client);
      client.on("error", () => {});
      if (arrived.length === 2) return;
      const database = connect(port, host);
      database.on("error", () => client.destroy());
      client.pipe(database).pipe(client);
      client.on("close", () => database.destroy());
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const address = { ...stage.address, host: "127.0.0.1", port: (proxy.address() as AddressInfo).port };
    const pool = new MysqlPool(address, 2, SILENT);
    try {
      const first = Promise.withResolvers<void>();
      const holding = pool.use(() => first.promise);
      await until(() => arrived.length === 1);
      const second = pool.use((connection) => connection.run(one()));
      await until(() => arrived.length === 2);
      // The second caller gets the first connection; the attempt to open another one continues without a caller.
      first.resolve();
      await Promise.all([holding, second]);
      const release = Promise.withResolvers<void>();
      const busy = pool.use(() => release.promise);
      const third = pool.use((connection) => connection.run(one()));
      await until(() => pool.state.waiting === 1);
      arrived[1]?.destroy();
      expect(await third).toHaveLength(1);
      release.resolve();
      await busy;
    } finally {
      await pool.close();
      for (const socket of arrived) socket.destroy();
      proxy.close();
      await stage.close();
    }
  });
});
