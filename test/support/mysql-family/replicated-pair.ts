// Two private servers, of which one replicates the other: asynchronously, or so that a commit waits until the replica
// has it, however long that takes. Each can be killed, frozen, demoted and promoted.

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { RowDataPacket } from "mysql2/promise";
import type { Flavour } from "./found-server.ts";
import { type PrivateServer, runAt, startPrivateServer } from "./private-server.ts";

const POLL_EVERY_MS = 20;
/** For the replica to have what the source has. */
const CAUGHT_UP_MS_MAX = 60_000;
/** A replica that is gone is waited for: weeks, in milliseconds. */
const FOR_EVER_MS = 2_000_000_000;

export interface PairNode extends PrivateServer {
  readonly url: string;
  /** Runs statements as the administrator; returns the rows of the last one. */
  run(...statements: string[]): Promise<RowDataPacket[]>;
}

export interface ReplicatedPair {
  readonly source: PairNode;
  readonly replica: PairNode;
  /** Lets this one replicate the other one, and waits until it has all that the other one has. Makes it read-only. */
  follow(follower: PairNode, source: PairNode): Promise<void>;
  /** Waits until the replica has all that the source has now. */
  caughtUp(): Promise<void>;
  /** Lets a follower get nothing more from its source. Returns when it has all that the source had at the call. */
  stopFollowing(follower: PairNode, source: PairNode): Promise<void>;
  /** Makes a node the source: waits until it has applied what it has received, and lets it be written. */
  promote(node: PairNode): Promise<void>;
  /** Can be called twice. */
  stop(): Promise<void>;
}

/** Both have one user with one password, as replicas do. `isSemiSync`: commits wait for the replica. */
export async function startReplicatedPair(
  binary: string,
  flavour: Flavour,
  { isSemiSync = false } = {},
): Promise<ReplicatedPair> {
  const dialect = DIALECTS[flavour as keyof typeof DIALECTS];
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const each of stops.splice(0)) await each();
  };
  try {
    const password = randomBytes(12).toString("hex");
    const start = async () => {
      const server = await startPrivateServer(binary, flavour, {
        password,
        flags: [...dialect.flags, ...(isSemiSync ? dialect.semiSync : [])],
      });
      stops.push(server.stop);
      return nodeOf(server);
    };
    const [source, replica] = [await start(), await start()];
    for (const node of [source, replica]) await node.run(...dialect.forget);
    const pair: ReplicatedPair = {
      source,
      replica,
      async follow(follower, leader) {
        await follower.run(
          "SET GLOBAL read_only = ON",
          ...dialect.stop,
          ...dialect.follow(new URL(leader.url)),
        );
        await caughtUp(follower, leader, dialect);
      },
      caughtUp: () => caughtUp(replica, source, dialect),
      async stopFollowing(follower, leader) {
        await caughtUp(follower, leader, dialect);
        await follower.run(dialect.pause);
      },
      async promote(node) {
        await until(async () => dialect.hasApplied((await node.run(dialect.status))[0] ?? {}));
        await node.run(...dialect.stop, ...dialect.writable);
      },
      stop,
    };
    await pair.follow(replica, source);
    if (isSemiSync) {
      await source.run(dialect.waitForReplicas);
      await until(async () => (await source.run(dialect.replicasThere))[0]?.Value === "1");
    }
    return pair;
  } catch (error) {
    await stop();
    throw error;
  }
}

function nodeOf(server: PrivateServer): PairNode {
  const { url } = server.server;
  return { ...server, url, run: (...statements) => runAt(url, ...statements) };
}

type Dialect = (typeof DIALECTS)[keyof typeof DIALECTS];

async function caughtUp(follower: PairNode, leader: PairNode, dialect: Dialect): Promise<void> {
  const [wanted] = await leader.run(dialect.position);
  const [row] = await follower.run(dialect.waitFor(String(wanted?.position), CAUGHT_UP_MS_MAX / 1_000));
  if (row?.result !== 0) throw new Error("The replica did not catch up in time.");
}

async function until(ask: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + CAUGHT_UP_MS_MAX;
  while (!(await ask())) {
    if (performance.now() > untilMs) throw new Error("The replica did not catch up in time.");
    await sleep(POLL_EVERY_MS);
  }
}

const DIALECTS = {
  mariadb: {
    flags: ["--log-bin=binlog", "--log-slave-updates=ON", "--binlog-format=ROW"],
    semiSync: [
      "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
      `--rpl-semi-sync-master-timeout=${FOR_EVER_MS}`,
      "--rpl-semi-sync-slave-enabled=ON",
    ],
    forget: ["RESET MASTER"],
    follow: ({ port, username, password }: URL) => [
      `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${port}, MASTER_USER = '${username}',
       MASTER_PASSWORD = '${password}', MASTER_USE_GTID = current_pos, MASTER_CONNECT_RETRY = 1`,
      "START SLAVE",
    ],
    pause: "STOP SLAVE IO_THREAD",
    stop: ["STOP SLAVE", "RESET SLAVE ALL"],
    writable: ["SET GLOBAL read_only = OFF"],
    position: "SELECT @@gtid_current_pos AS position",
    waitFor: (position: string, s: number) => `SELECT MASTER_GTID_WAIT('${position}', ${s}) AS result`,
    status: "SHOW SLAVE STATUS",
    hasApplied: (row: Partial<RowDataPacket>) =>
      row.Master_Log_File === row.Relay_Master_Log_File &&
      row.Read_Master_Log_Pos === row.Exec_Master_Log_Pos,
    waitForReplicas: "SET GLOBAL rpl_semi_sync_master_enabled = ON",
    replicasThere: "SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'",
  },
  mysql: {
    flags: ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"],
    semiSync: [
      "--plugin-load-add=semisync_source.so",
      "--plugin-load-add=semisync_replica.so",
      `--loose-rpl-semi-sync-source-timeout=${FOR_EVER_MS}`,
      "--loose-rpl-semi-sync-replica-enabled=ON",
    ],
    forget: ["RESET BINARY LOGS AND GTIDS"],
    follow: ({ port, username, password }: URL) => [
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = ${port}, SOURCE_USER = '${username}',
       SOURCE_PASSWORD = '${password}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1`,
      "START REPLICA",
    ],
    pause: "STOP REPLICA IO_THREAD",
    stop: ["STOP REPLICA", "RESET REPLICA ALL"],
    writable: ["SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"],
    position: "SELECT @@global.gtid_executed AS position",
    waitFor: (set: string, s: number) => `SELECT WAIT_FOR_EXECUTED_GTID_SET('${set}', ${s}) AS result`,
    status: "SHOW REPLICA STATUS",
    hasApplied: (row: Partial<RowDataPacket>) =>
      row.Source_Log_File === row.Relay_Source_Log_File &&
      row.Read_Source_Log_Pos === row.Exec_Source_Log_Pos,
    waitForReplicas: "SET GLOBAL rpl_semi_sync_source_enabled = ON",
    replicasThere: "SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'",
  },
} as const;
