// Moves to another database server: planned ones, by a dump and by a replica, which lose nothing; the promotion of an
// asynchronous replica whose source has died; and a new database that is given nothing.

import { setTimeout as sleep } from "node:timers/promises";
import { TTL_S } from "./clients.ts";
import { dumped } from "./dumps.ts";
import { type DatabaseServer, type Stage, until } from "./stage.ts";
import { ALL, expectFound, expectHealthy, started, type Trial } from "./trial.ts";

/** How long a replica is held up before its source dies, so that it has lost something. */
const LAG_MS = 500;

export const MOVES: readonly Trial[] = [
  {
    name: "moved-by-dump",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      const { source, clients } = await started(stage);
      await clients.between();
      await clients.after();
      const target = await stage.database();
      const stoppedMs = performance.now();
      await stage.stopServing();
      await target.tool("", [], { input: await dumped(stage, source) });
      await stage.rowlock(target.url, "restored", "--pause", "0s");
      await stage.serve(target.url);
      const found = await clients.found();
      expectFound(found, ALL);
      const pauseS = await clients.pauseUntilGrants(stoppedMs);
      await expectHealthy(stage, target.url);
      return { found, pauseS };
    },
  },
  {
    name: "moved-by-replica",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      const { source, clients } = await started(stage);
      const replica = await replicaOf(stage, source);
      await clients.between();
      await clients.after();
      await untilCaughtUp(source, replica);
      const stoppedMs = performance.now();
      await stage.stopServing();
      await source.query("SET GLOBAL read_only = ON");
      await untilCaughtUp(source, replica);
      await promote(stage, replica);
      await stage.rowlock(replica.url, "restored", "--pause", "0s");
      await stage.serve(replica.url);
      const found = await clients.found();
      expectFound(found, ALL);
      const pauseS = await clients.pauseUntilGrants(stoppedMs);
      await expectHealthy(stage, replica.url);
      return { found, pauseS };
    },
  },
  {
    name: "source-lost",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      const { source, clients } = await started(stage);
      const replica = await replicaOf(stage, source);
      await clients.between();
      await untilCaughtUp(source, replica);
      await replica.query(stage.flavour === "mysql" ? "STOP REPLICA" : "STOP SLAVE");
      await clients.after();
      await sleep(LAG_MS);
      const killedMs = performance.now();
      await source.kill();
      await stage.stopServing();
      await promote(stage, replica);
      const server = await stage.serve(replica.url);
      const found = await clients.found();
      expectFound(found, {
        ...ALL,
        leaseAfter: false,
        heldAgain: true,
        limit: 3,
        status: "before",
        placeBefore: found.placeBefore,
      });
      await server.logged(/the database has failed over or was restored/);
      const pauseS = await clients.pauseUntilGrants(killedMs);
      await expectHealthy(stage, replica.url);
      return { found, pauseS, note: "noticed without a command" };
    },
  },
  {
    name: "sqlite-to-empty-database",
    databases: ["mariadb", "mysql"],
    async run(stage) {
      await stage.serve(`sqlite:${stage.file("rowlock.db")}`);
      const clients = stage.clients();
      await clients.before();
      await clients.between();
      await clients.after();
      const target = await stage.database();
      await target.query("CREATE DATABASE rowlock");
      const stoppedMs = performance.now();
      await stage.stopServing();
      await stage.rowlock(target.url, "migrate", "up");
      await stage.rowlock(target.url, "restored", "--pause", `${TTL_S}s`);
      await stage.serve(target.url);
      const found = await clients.found();
      expectFound(found, {
        leaseBefore: false,
        leaseBetween: false,
        leaseAfter: false,
        heldAgain: false,
        placeBefore: false,
        limit: 1,
        status: "",
      });
      return { found, pauseS: await clients.pauseUntilGrants(stoppedMs) };
    },
  },
];

/** Starts an asynchronous replica with all that the source has. */
async function replicaOf(stage: Stage, source: DatabaseServer): Promise<DatabaseServer> {
  const replica = await stage.database();
  const { port, username, password } = new URL(source.url);
  if (stage.flavour === "mysql") {
    await source.query(
      "CREATE USER replica@'%' IDENTIFIED BY 'replica'; GRANT REPLICATION SLAVE ON *.* TO replica@'%'",
    );
    await source.tool(
      "dump",
      ["--single-transaction", "--source-data=2", "--set-gtid-purged=ON", "--databases", "rowlock"],
      {
        output: stage.file("replica.sql"),
      },
    );
    await replica.query("RESET BINARY LOGS AND GTIDS");
    await replica.tool("", [], { input: stage.file("replica.sql") });
    await replica.query(`CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = ${port},
      SOURCE_USER = 'replica', SOURCE_PASSWORD = 'replica', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1,
      SOURCE_CONNECT_RETRY = 1; START REPLICA`);
  } else {
    await source.tool(
      "dump",
      ["--single-transaction", "--master-data=1", "--gtid", "--databases", "rowlock"],
      {
        output: stage.file("replica.sql"),
      },
    );
    await replica.query("RESET MASTER");
    await replica.tool("", [], { input: stage.file("replica.sql") });
    await replica.query(`CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${port}, MASTER_USER = '${username}',
      MASTER_PASSWORD = '${password}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1; START SLAVE`);
  }
  await replica.query("SET GLOBAL read_only = ON");
  await untilCaughtUp(source, replica);
  return replica;
}

/** Waits until the replica has what the source has now. */
async function untilCaughtUp(source: DatabaseServer, replica: DatabaseServer): Promise<void> {
  const [version] = await source.query("SELECT VERSION() AS version");
  if (!String(version?.version).includes("MariaDB")) {
    const [at] = await source.query("SELECT @@global.gtid_executed AS gtids");
    await until("the replica has caught up", async () => {
      const [row] = await replica.query(
        `SELECT GTID_SUBSET('${at?.gtids}', @@global.gtid_executed) AS isThere`,
      );
      return row?.isThere === 1;
    });
    return;
  }
  const [at] = await source.query("SELECT @@global.gtid_binlog_pos AS gtids");
  await until("the replica has caught up", async () => {
    const [row] = await replica.query(`SELECT MASTER_GTID_WAIT('${at?.gtids}', 1) AS waited`);
    return Number(row?.waited) === 0;
  });
}

async function promote(stage: Stage, replica: DatabaseServer): Promise<void> {
  await replica.query(
    stage.flavour === "mysql"
      ? "STOP REPLICA; RESET REPLICA ALL; SET GLOBAL read_only = OFF"
      : "STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = OFF",
  );
}
