// Two private servers, of which one replicates the other: asynchronously, or so that a commit waits until the replica
// has it, however long that takes. Each can be killed, frozen, demoted and promoted.

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
  /** Waits until the replica has all that the source has. */
  caughtUp(): Promise<void>;
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
    const start = async () => {
      const server = await startPrivateServer(binary, flavour, {
        flags: [...dialect.flags, ...(isSemiSync ? dialect.semiSync : [])],
      });
      stops.push(server.stop);
      return nodeOf(server);
    };
    const [source, made] = [await start(), await start()];
    const { username, password } = new URL(source.url);
    // Not replicated: the two have different passwords now, and must have one.
    await made.run(
      dialect.unlogged,
      `ALTER USER '${username}'@'%' IDENTIFIED BY '${password}'`,
      ...dialect.forget,
    );
    await source.run(...dialect.forget);
    const replica = nodeOf(made, Object.assign(new URL(made.url), { password }).href);
    const pair: ReplicatedPair = {
      source,
      replica,
      async follow(follower, leader) {
        await follower.run(
          "SET GLOBAL read_only = ON",
          ...dialect.stop,
          ...dialect.follow(new URL(leader.url)),
        );
        await caughtUp(follower, leader, dialect.position);
      },
      caughtUp: () => caughtUp(replica, source, dialect.position),
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

function nodeOf(server: PrivateServer, url = server.server.url): PairNode {
  return {
    ...server,
    server: { ...server.server, url },
    url,
    run: (...statements) => runAt(url, ...statements),
  };
}

async function caughtUp(follower: PairNode, leader: PairNode, position: string): Promise<void> {
  const [wanted] = await leader.run(position);
  await until(async () => (await follower.run(position))[0]?.position === wanted?.position);
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
    unlogged: "SET sql_log_bin = 0",
    forget: ["RESET MASTER"],
    follow: ({ port, username, password }: URL) => [
      `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${port}, MASTER_USER = '${username}',
       MASTER_PASSWORD = '${password}', MASTER_USE_GTID = current_pos, MASTER_CONNECT_RETRY = 1`,
      "START SLAVE",
    ],
    stop: ["STOP SLAVE", "RESET SLAVE ALL"],
    writable: ["SET GLOBAL read_only = OFF"],
    position: "SELECT @@gtid_current_pos AS position",
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
    unlogged: "SET sql_log_bin = 0",
    forget: ["RESET BINARY LOGS AND GTIDS"],
    follow: ({ port, username, password }: URL) => [
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = ${port}, SOURCE_USER = '${username}',
       SOURCE_PASSWORD = '${password}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1`,
      "START REPLICA",
    ],
    stop: ["STOP REPLICA", "RESET REPLICA ALL"],
    writable: ["SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"],
    position: "SELECT @@global.gtid_executed AS position",
    status: "SHOW REPLICA STATUS",
    hasApplied: (row: Partial<RowDataPacket>) =>
      row.Source_Log_File === row.Relay_Source_Log_File &&
      row.Read_Source_Log_Pos === row.Exec_Source_Log_Pos,
    waitForReplicas: "SET GLOBAL rpl_semi_sync_source_enabled = ON",
    replicasThere: "SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'",
  },
} as const;
