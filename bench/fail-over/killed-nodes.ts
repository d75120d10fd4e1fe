// The time from killing a database node until a Rowlock server grants locks again, with a new cluster for each round.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { startGaleraCluster } from "../../test/support/mysql-family/galera-cluster.ts";
import { freePort, startPrivateServer } from "../../test/support/mysql-family/private-server.ts";
import { type GroupNode, startReplicationGroup } from "../../test/support/mysql-family/replication-group.ts";
import { databaseAt, Household, through, untilGranted } from "./household.ts";
import { startSwitchingProxy } from "./switching-proxy.ts";

const POLL_EVERY_MS = 20;
/** The replica acknowledges each transaction, so none is lost and no pause is needed. */
const NO_PAUSE = ["--fail-over-pause", "0s"];

/** In milliseconds: the total, and the part until the database itself can be written through another node. */
export interface Outage {
  readonly totalMs: number;
  readonly databaseMs?: number;
}

const portOf = (url: string) => Number(new URL(url).port);
const since = (startMs: number) => performance.now() - startMs;

/** Three nodes behind HAProxy, which forwards to the first one that answers. */
export async function galera(haproxy: string): Promise<Outage> {
  return await inHousehold(async (house) => {
    const cluster = await startGaleraCluster({ size: 3, isPatient: false });
    house.afterwards(() => cluster.stop());
    const [url] = (await databaseAt(cluster.nodes.map((node) => node.url))) as [string];
    const port = await startHaproxy(
      house,
      haproxy,
      cluster.nodes.map((node) => portOf(node.url)),
    );
    const { client } = await house.serving(through(url, port));
    await untilGranted(client);
    const killedMs = performance.now();
    await cluster.nodes[0].kill();
    await untilGranted(client);
    return { totalMs: since(killedMs) };
  });
}

/** The primary of a replication group; the members are polled for the next primary. */
export async function group(binary: string): Promise<Outage> {
  return await inHousehold(async (house) => {
    const { nodes, stop } = await startReplicationGroup(binary);
    house.afterwards(stop);
    const [primary, ...others] = nodes as [GroupNode, ...GroupNode[]];
    const [url] = (await databaseAt(nodes.map((node) => node.url))) as [string];
    const proxy = await startSwitchingProxy(portOf(primary.url));
    house.afterwards(() => proxy.close());
    const { client } = await house.serving(through(url, proxy.port));
    await untilGranted(client);
    const killedMs = performance.now();
    await primary.kill();
    const granted = untilGranted(client);
    const next = await Promise.race(others.map(untilWritable));
    const databaseMs = since(killedMs);
    proxy.to(portOf(next.url));
    await granted;
    return { totalMs: since(killedMs), databaseMs };
  });
}

async function untilWritable(node: GroupNode): Promise<GroupNode> {
  for (; ; await sleep(POLL_EVERY_MS)) {
    const [row] = await node.run("SELECT @@super_read_only AS closed").catch(() => []);
    if (row?.closed === 0) return node;
  }
}

/** A primary of MariaDB with a replica that acknowledges each transaction and is promoted immediately. */
export async function switched(binary: string): Promise<Outage> {
  return await inHousehold(async (house) => {
    const common = ["--log-bin=binlog", "--log-slave-updates=ON", "--binlog-format=ROW"];
    const primary = await startPrivateServer(binary, "mariadb", {
      flags: [
        ...common,
        "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
        "--rpl-semi-sync-master-timeout=60000",
      ],
    });
    house.afterwards(() => primary.stop());
    const replica = await startPrivateServer(binary, "mariadb", {
      flags: [...common, "--rpl-semi-sync-slave-enabled=ON", "--read-only=ON"],
    });
    house.afterwards(() => replica.stop());
    const from = new URL(primary.server.url);
    const [state] = await run(primary.server.url, "SELECT @@pid_file AS file, @@gtid_binlog_pos AS position");
    // Not from the start: until then no replica is there to acknowledge what the server writes.
    await run(primary.server.url, "SET GLOBAL rpl_semi_sync_master_enabled = ON");
    const there = through(primary.server.url, portOf(replica.server.url));
    await run(
      replica.server.url,
      `SET PASSWORD FOR '${from.username}'@'%' = PASSWORD('${from.password}')`,
      `SET GLOBAL gtid_slave_pos = '${state?.position}'`,
      `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${from.port}, MASTER_USER = '${from.username}',
       MASTER_PASSWORD = '${from.password}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1`,
      "START SLAVE",
    );
    await until(async () => {
      const [row] = await run(primary.server.url, "SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'");
      return row?.Value === "1";
    });
    const [url] = (await databaseAt([primary.server.url])) as [string];
    const proxy = await startSwitchingProxy(portOf(url));
    house.afterwards(() => proxy.close());
    const { client } = await house.serving(through(url, proxy.port), ...NO_PAUSE);
    await untilGranted(client);
    const killedMs = performance.now();
    process.kill(Number(await readFile(String(state?.file), "utf8")), "SIGKILL");
    const granted = untilGranted(client);
    await until(async () => {
      const [row] = await run(there, "SHOW SLAVE STATUS");
      return (
        row?.Slave_IO_Running !== "Yes" &&
        row?.Master_Log_File === row?.Relay_Master_Log_File &&
        row?.Read_Master_Log_Pos === row?.Exec_Master_Log_Pos
      );
    });
    await run(there, "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF");
    const databaseMs = since(killedMs);
    proxy.to(portOf(there));
    await granted;
    return { totalMs: since(killedMs), databaseMs };
  });
}

async function inHousehold<Result>(round: (house: Household) => Promise<Result>): Promise<Result> {
  const house = new Household();
  try {
    return await round(house);
  } finally {
    await house.close();
  }
}

async function run(url: string, ...statements: string[]): Promise<RowDataPacket[]> {
  const connection = await createConnection({ uri: url });
  try {
    let rows: RowDataPacket[] = [];
    for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement);
    return rows;
  } finally {
    connection.destroy();
  }
}

async function until(ask: () => Promise<boolean>): Promise<void> {
  while (!(await ask())) await sleep(POLL_EVERY_MS);
}

/**
 * Starts HAProxy as operators configure it, with the first node that answers and the others as backups; returns its
 * port.
 */
async function startHaproxy(house: Household, binary: string, nodes: readonly number[]): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), "rowlock-haproxy-"));
  house.afterwards(() => rm(directory, { recursive: true, force: true }));
  const port = await freePort();
  const servers = nodes.map((node, index) => {
    const check = "check inter 1s fastinter 500ms fall 3 rise 2 on-marked-down shutdown-sessions";
    return `  server node${index} 127.0.0.1:${node} ${check}${index === 0 ? "" : " backup"}`;
  });
  const lines = [
    "defaults",
    "  mode tcp",
    "  timeout connect 2s",
    "  timeout check 3s",
    "  timeout client 1h",
    "  timeout server 1h",
    "listen nodes",
    `  bind 127.0.0.1:${port}`,
    ...servers,
    "",
  ];
  const file = join(directory, "haproxy.cfg");
  await writeFile(file, lines.join("\n"));
  const child = spawn(binary, ["-db", "-f", file], { stdio: "ignore" });
  house.afterwards(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  });
  await until(async () => {
    const socket = connect(port, "127.0.0.1");
    const answered = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    return answered;
  });
  return port;
}
