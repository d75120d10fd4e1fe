// Starts a Galera cluster of two MariaDB servers on loopback, both to be written. No state transfer is needed: the
// second server begins with a copy of the first one's data, and a script in the place of a transfer method says so.

import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import type { FoundServer } from "./found-server.ts";
import { postGuardian } from "./guardian.ts";
import { identify } from "./identify.ts";
import { localBinaries } from "./local-binaries.ts";
import { asRoot, createDataDirectory, flavourOf, freePort, stopProcess } from "./private-server.ts";

const LIBRARIES = ["/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so"];
const PATIENCE_MS = 30_000;
const LOG_TAIL_LINES = 20;

// Only what was committed since the copy has to travel, which the servers do by themselves.
const TRANSFER = `#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    --role) role=$2; shift ;;
    --address) address=$2; shift ;;
    --gtid) position=$2; shift ;;
    --datadir) data=$2; shift ;;
  esac
  shift
done
if [ "$role" = donor ]; then
  echo "$position" > "/\${address#*/}"
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
  readonly nodes: readonly [FoundServer, FoundServer];
  /** Can be called twice. */
  stop(): Promise<void>;
}

/** Throws when MariaDB or the library is not there, or with the end of a log when a node does not come up. */
export async function startGaleraCluster(): Promise<GaleraCluster> {
  const library = LIBRARIES.find((path) => existsSync(path));
  if (library === undefined) throw new Error("The tests on Galera need its library: install galera-4.");
  const binary = await mariadbBinary();
  const directory = await mkdtemp(join(tmpdir(), "rowlock-galera-"));
  const guardians = [postGuardian(directory), postGuardian(directory)];
  const children: ChildProcess[] = [];
  const stop = async () => {
    // Backwards, so that the first one is always part of a cluster that can decide.
    for (const child of children.splice(0).reverse()) await stopProcess(child);
    await rm(directory, { recursive: true, force: true });
    for (const guardian of guardians) guardian.dismiss();
  };

  const password = randomBytes(12).toString("hex");
  const start = async (node: 0 | 1, ports: Ports, clusterAddress: string): Promise<FoundServer> => {
    const log = join(directory, `log-${node}.err`);
    const flags = nodeFlags(directory, node, log, library, ports, clusterAddress);
    const child = spawn(binary, flags, {
      detached: true,
      stdio: "ignore",
      env: { ...process.env, PATH: `${directory}${delimiter}${process.env.PATH}` },
    });
    children.push(child);
    if (child.pid !== undefined) guardians[node]?.watch(child.pid);
    const url = `mysql://rowlock:${password}@127.0.0.1:${ports.sql}`;
    try {
      const server = await identify(url, PATIENCE_MS, () => {
        if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}.`);
      });
      await untilSynced(url);
      return server;
    } catch (error) {
      const tail = existsSync(log) ? readFileSync(log, "utf8").split("\n").slice(-LOG_TAIL_LINES) : [];
      throw new Error(["A node of Galera did not start.", ...tail].join("\n  "), { cause: error });
    }
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
    const [first, second] = [await freePorts(), await freePorts()];
    // Once by itself, so that the copy knows which cluster it belongs to and how far it has come.
    await start(0, first, "gcomm://");
    for (const child of children.splice(0)) await stopProcess(child);
    await cp(join(directory, "0"), join(directory, "1"), { recursive: true });
    for (const own of ["gvwstate.dat", "galera.cache"]) await rm(join(directory, "1", own), { force: true });
    const nodes = [
      await start(0, first, "gcomm://"),
      await start(1, second, `gcomm://127.0.0.1:${first.group}`),
    ] as const;
    return { nodes, stop };
  } catch (error) {
    await stop();
    throw error;
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

function nodeFlags(
  directory: string,
  node: 0 | 1,
  log: string,
  library: string,
  { sql, group, transfer }: Ports,
  clusterAddress: string,
): string[] {
  const provider = [
    `gmcast.listen_addr=tcp://127.0.0.1:${group}`,
    `ist.recv_addr=127.0.0.1:${transfer}`,
    "gcache.size=16M",
  ];
  return [
    "--no-defaults",
    `--datadir=${join(directory, String(node))}`,
    `--port=${sql}`,
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
    "--wsrep-on=ON",
    `--wsrep-provider=${library}`,
    `--wsrep-provider-options=${provider.join(";")}`,
    "--wsrep-cluster-name=rowlock",
    `--wsrep-cluster-address=${clusterAddress}`,
    "--wsrep-node-address=127.0.0.1",
    "--wsrep-sst-method=copied",
    "--wsrep-slave-threads=2",
    ...asRoot(),
  ];
}

async function untilSynced(url: string): Promise<void> {
  const connection = await createConnection(url);
  try {
    for (
      const deadlineMs = performance.now() + PATIENCE_MS;
      performance.now() < deadlineMs;
      await sleep(50)
    ) {
      const [rows] = await connection.query<RowDataPacket[]>("SHOW STATUS LIKE 'wsrep_local_state_comment'");
      if (rows[0]?.Value === "Synced") return;
    }
    throw new Error("The node was not synced in time.");
  } finally {
    connection.destroy();
  }
}
