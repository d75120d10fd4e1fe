// Starts a Galera cluster of two or more MariaDB servers on loopback, all writable. No state transfer is needed: the
// other nodes start with a copy of the first one's data, and a script replaces the transfer method to report that. A
// start that fails or times out is taken down and repeated from the beginning.

import type { ChildProcess } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import type { FoundServer } from "./found-server.ts";
import { type Guardian, postGuardian } from "./guardian.ts";
import { identify } from "./identify.ts";
import { localBinaries } from "./local-binaries.ts";
import {
  asRoot,
  createDataDirectory,
  fileFlags,
  flavourOf,
  freePort,
  frozen,
  hasEnded,
  killed,
  runAt,
  stopProcess,
} from "./private-server.ts";

const LIBRARIES = ["/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so"];
/** For a node to come up, which takes 2 s on an idle machine. */
const NODE_PATIENCE_MS = 40_000;
const QUERY_PATIENCE_MS = 5_000;
const POLL_EVERY_MS = 50;
/** A port may be taken between its choice and its use, and a stalling machine may keep the cluster from forming. */
const STARTS_MAX = 3;
const LOG_TAIL_LINES = 20;
const execute = promisify(execFile);

// Only commits since the copy must be transferred, and the servers do that themselves.
const TRANSFER = `#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    --role) role=$2; shift ;;
    --address) address=$2; shift ;;
    --gtid) position=$2; shift ;;
    --datadir) data=$2; shift ;;
    --bypass) bypass=1 ;;
  esac
  shift
done
if [ "$role" = donor ]; then
  # Without it, the other node lacks more than this one has kept.
  [ -n "$bypass" ] || exit 1
  told="/\${address#*/}"
  echo "$position" > "$told.part" && mv "$told.part" "$told"
  echo "done $position"
else
  told="\${data%/}/told"
  echo "ready 127.0.0.1:1$told"
  tries=0
  until [ -s "$told" ] || [ $tries = 200 ]; do sleep 0.05; tries=$((tries + 1)); done
  cat "$told"
fi
`;

export interface GaleraCluster {
  readonly nodes: readonly [GaleraNode, GaleraNode, ...GaleraNode[]];
  /** After all nodes have been killed: forms the cluster anew by the node that is furthest, as an operator does. */
  startAnew(): Promise<void>;
  /** Can be called twice. */
  stop(): Promise<void>;
}

export interface GaleraNode extends FoundServer {
  /** Runs statements as the administrator; returns the rows of the last one. */
  run(...statements: string[]): Promise<RowDataPacket[]>;
  /** Immediately, without notice to the other nodes. */
  kill(): Promise<void>;
  /** Stops all of its threads, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): void;
  /** After `kill`: on the same data, joins the others. */
  startAgain(): Promise<void>;
  hasEnded(): boolean;
  /** Waits until it takes part in a cluster of all nodes. */
  untilBack(): Promise<void>;
}

export interface GaleraOptions {
  /** Default: 2. */
  readonly size?: number;
  /** Nodes wait longer for a silent node than Galera's defaults, for a busy machine. */
  readonly isPatient?: boolean;
  /** Nodes wait less long for a silent node than Galera's defaults. */
  readonly isFast?: boolean;
  /** How much of the last changes each node keeps for nodes that come back. */
  readonly keeps?: string;
}

/** Throws if MariaDB or the library is missing, or with the end of a log if the nodes do not come up. */
export async function startGaleraCluster(options: GaleraOptions = {}): Promise<GaleraCluster> {
  const library = LIBRARIES.find((path) => existsSync(path));
  if (library === undefined) throw new Error("The tests on Galera need its library: install galera-4.");
  const binary = await mariadbBinary();
  for (let starts = 1; ; starts++) {
    try {
      return await startOnce(binary, library, options);
    } catch (error) {
      if (starts === STARTS_MAX) throw error;
      console.error(`test databases: ${(error as Error).message}\n  It is started anew.`);
    }
  }
}

/** A node that is up, with what it needs to be started again. */
interface Running {
  readonly node: number;
  readonly url: string;
  readonly flags: readonly string[];
  readonly log: string;
  readonly groupPort: number;
  readonly guardian: Guardian;
  child: ChildProcess;
}

async function startOnce(
  binary: string,
  library: string,
  { size = 2, isPatient = true, isFast = false, keeps = "16M" }: GaleraOptions,
): Promise<GaleraCluster> {
  const directory = await mkdtemp(join(tmpdir(), "rowlock-galera-"));
  // The name keeps a node that reaches a port of another cluster from joining that cluster.
  const clusterName = basename(directory);
  const running: Running[] = [];
  const stopNodes = async () => {
    // In reverse order, so that the first one is always part of a cluster that can decide.
    for (const { child, guardian } of running.splice(0).reverse()) {
      await stopProcess(child);
      guardian.dismiss();
    }
  };
  const stop = async () => {
    await stopNodes();
    await rm(directory, { recursive: true, force: true });
  };

  const password = randomBytes(12).toString("hex");
  const start = async (node: number, ports: Ports, others: string): Promise<GaleraNode> => {
    const log = join(directory, `log-${node}.err`);
    const flags = nodeFlags({ directory, node, log, library, ports, clusterName, isPatient, isFast, keeps });
    const one: Running = {
      node,
      url: `mysql://rowlock:${password}@127.0.0.1:${ports.sql}`,
      flags,
      log,
      groupPort: ports.group,
      guardian: postGuardian(directory),
      child: launch([...flags, joining(others)]),
    };
    running.push(one);
    const server = await up(one, running.length);
    return {
      ...server,
      run: (...statements) => runAt(one.url, ...statements),
      kill: () => killed(one.child),
      freeze: () => frozen(one.child),
      thaw: () => void one.child.kill("SIGCONT"),
      async startAgain() {
        await again(
          one,
          await positionOf(one),
          running.filter((other) => other !== one),
        );
      },
      hasEnded: () => hasEnded(one.child),
      untilBack: () => untilSynced(one.url, size, () => mustRun(one)),
    };
  };
  const launch = (flags: readonly string[]) => {
    const child = spawn(binary, flags, {
      detached: true,
      stdio: "ignore",
      env: { ...process.env, PATH: `${directory}${delimiter}${process.env.PATH}` },
    });
    child.on("error", () => {});
    return child;
  };
  /** Waits until it is part of a cluster; of this size, if one is given. */
  const up = async (one: Running, ofSize?: number) => {
    if (one.child.pid !== undefined) one.guardian.watch(one.child.pid);
    try {
      const server = await identify(one.url, NODE_PATIENCE_MS, () => mustRun(one));
      await untilSynced(one.url, ofSize, () => mustRun(one));
      return server;
    } catch (error) {
      const { node, log } = one;
      const tail = existsSync(log)
        ? readFileSync(log, "utf8").trimEnd().split("\n").slice(-LOG_TAIL_LINES)
        : [];
      const what = `Node ${node} of Galera did not start: ${(error as Error).message}`;
      throw new Error([what, ...tail].join("\n  "), { cause: error });
    }
  };
  /** As systemd does for a node of MariaDB: it starts at the position that it recovered. */
  const again = async (one: Running, position: Position, others: readonly Running[]) => {
    const addresses = others.map(({ groupPort }) => `127.0.0.1:${groupPort}`).join(",");
    const start = `--wsrep-start-position=${position.uuid}:${position.last}`;
    one.child = launch([...one.flags, joining(addresses), start]);
    await up(one);
  };
  const positionOf = async ({ node, flags }: Running): Promise<Position> => {
    const log = join(directory, `recovered-${node}.err`);
    await rm(log, { force: true });
    await execute(binary, [...flags, joining(""), "--wsrep-recover", `--log-error=${log}`]);
    const told = /Recovered position: ([0-9a-f-]+):(-?\d+)/.exec(readFileSync(log, "utf8"));
    if (!told) throw new Error(`Node ${node} of Galera has no position that can be recovered.`);
    return { uuid: told[1] as string, last: Number(told[2]) };
  };
  const startAnew = async () => {
    const ends = await Promise.all(running.map(async (one) => ({ one, position: await positionOf(one) })));
    ends.sort((a, b) => b.position.last - a.position.last);
    const [first, ...rest] = ends as [(typeof ends)[number], ...typeof ends];
    for (const { one } of ends) {
      const data = join(directory, String(one.node));
      // It would wait for the cluster that it was part of.
      await rm(join(data, "gvwstate.dat"), { force: true });
      const state = join(data, "grastate.dat");
      const safe = one === first.one ? 1 : 0;
      const text = readFileSync(state, "utf8").replace(/safe_to_bootstrap: \d/, `safe_to_bootstrap: ${safe}`);
      await writeFile(state, text);
    }
    await again(first.one, first.position, []);
    for (const { one, position } of rest) await again(one, position, [first.one]);
  };

  try {
    await mkdir(join(directory, "0"));
    await createDataDirectory(binary, "mariadb", join(directory, "0"));
    await writeFile(join(directory, "wsrep_sst_copied"), TRANSFER, { mode: 0o755 });
    await writeFile(
      join(directory, "init.sql"),
      "SET SESSION wsrep_on = OFF;\n" +
        `CREATE USER IF NOT EXISTS 'rowlock'@'%' IDENTIFIED BY '${password}';\n` +
        "GRANT ALL ON *.* TO 'rowlock'@'%' WITH GRANT OPTION;\n",
    );
    const first = await freePorts();
    // Runs once alone, so that the copy contains the cluster's id and position.
    await start(0, first, "");
    await stopNodes();
    const others = Array.from({ length: size - 1 }, (_, index) => index + 1);
    for (const node of others) {
      await cp(join(directory, "0"), join(directory, String(node)), { recursive: true });
      for (const own of ["gvwstate.dat", "galera.cache"])
        await rm(join(directory, String(node), own), { force: true });
    }
    const nodes = [await start(0, first, "")];
    for (const node of others) nodes.push(await start(node, await freePorts(), `127.0.0.1:${first.group}`));
    // The first node was busy as donor while the others joined.
    for (const { url } of nodes) await untilSynced(url, size);
    return { nodes: nodes as [GaleraNode, GaleraNode, ...GaleraNode[]], startAnew, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Position {
  /** The cluster's. */
  readonly uuid: string;
  /** The number of the last transaction. */
  readonly last: number;
}

/** @param others addresses of nodes to join; empty: forms a new cluster. */
const joining = (others: string) => `--wsrep-cluster-address=gcomm://${others}`;

function mustRun({ child }: Running): void {
  if (child.pid === undefined || hasEnded(child)) {
    throw new Error(`It ended with ${child.exitCode ?? child.signalCode}.`);
  }
}

interface Ports {
  readonly sql: number;
  readonly group: number;
  readonly transfer: number;
}

async function freePorts(): Promise<Ports> {
  return { sql: await freePort(), group: await freePort(), transfer: await freePort() };
}

async function mariadbBinary(): Promise<string> {
  for (const binary of localBinaries()) if ((await flavourOf(binary)) === "mariadb") return binary;
  throw new Error("The tests on Galera need MariaDB's server on this machine.");
}

interface NodeSetting {
  readonly directory: string;
  readonly node: number;
  readonly log: string;
  readonly library: string;
  readonly ports: Ports;
  readonly clusterName: string;
  readonly isPatient: boolean;
  readonly isFast: boolean;
  readonly keeps: string;
}

function nodeFlags(setting: NodeSetting): string[] {
  const { directory, node, log, library, ports, clusterName, isPatient, isFast, keeps } = setting;
  const provider = [
    `gmcast.listen_addr=tcp://127.0.0.1:${ports.group}`,
    `ist.recv_addr=127.0.0.1:${ports.transfer}`,
    `gcache.size=${keeps}`,
    // Two nodes that lose contact with each other both stop; a busy machine must not cause that.
    ...(isPatient ? PATIENT : []),
    ...(isFast ? FAST : []),
  ];
  return [
    "--no-defaults",
    ...fileFlags(join(directory, String(node))),
    `--port=${ports.sql}`,
    "--bind-address=127.0.0.1",
    `--socket=${join(directory, `${node}.sock`)}`,
    `--pid-file=${join(directory, `${node}.pid`)}`,
    `--log-error=${log}`,
    `--init-file=${join(directory, "init.sql")}`,
    "--skip-name-resolve",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=1",
    "--performance-schema=OFF",
    "--binlog-format=ROW",
    "--default-storage-engine=InnoDB",
    "--innodb-autoinc-lock-mode=2",
    // As docs/databases.md advises: how long a node stands still if it has not ended a transaction that is in the way.
    "--innodb-lock-wait-timeout=1",
    "--wsrep-on=ON",
    `--wsrep-provider=${library}`,
    `--wsrep-provider-options=${provider.join(";")}`,
    `--wsrep-cluster-name=${clusterName}`,
    "--wsrep-node-address=127.0.0.1",
    "--wsrep-sst-method=copied",
    "--wsrep-slave-threads=2",
    ...asRoot(),
  ];
}

const PATIENT = [
  "gmcast.peer_timeout=PT20S",
  "evs.suspect_timeout=PT30S",
  "evs.inactive_timeout=PT40S",
  "evs.install_timeout=PT40S",
];

const FAST = [
  "evs.keepalive_period=PT0.5S",
  "evs.suspect_timeout=PT2S",
  "evs.inactive_timeout=PT5S",
  "evs.install_timeout=PT5S",
];

/** Waits until the node takes part in a cluster of `size`, or of any, and has applied all earlier writes. */
async function untilSynced(url: string, size: number | undefined, giveUp?: () => void): Promise<void> {
  const wanted = {
    wsrep_ready: "ON",
    wsrep_cluster_status: "Primary",
    ...(size !== undefined && { wsrep_cluster_size: String(size) }),
    wsrep_local_state_comment: "Synced",
  };
  const deadlineMs = performance.now() + NODE_PATIENCE_MS;
  for (let seen = ""; ; await sleep(POLL_EVERY_MS)) {
    giveUp?.();
    try {
      const state = await stateOf(url);
      seen = JSON.stringify(state);
      if (Object.entries(wanted).every(([name, value]) => state[name] === value)) return;
    } catch (error) {
      seen = (error as Error).message;
    }
    if (performance.now() > deadlineMs) throw new Error(`The node was not synced in time: ${seen}`);
  }
}

async function stateOf(url: string): Promise<Record<string, string>> {
  const connection = await createConnection({ uri: url, connectTimeout: QUERY_PATIENCE_MS });
  try {
    const sql = `SHOW GLOBAL STATUS WHERE Variable_name IN
      ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_cluster_size', 'wsrep_local_state_comment')`;
    const [rows] = await connection.query<RowDataPacket[]>({ sql, timeout: QUERY_PATIENCE_MS });
    return Object.fromEntries(rows.map((row) => [row.Variable_name, row.Value]));
  } finally {
    connection.destroy();
  }
}
