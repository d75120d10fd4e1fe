// Starts three MySQL servers on loopback as one replication group with one primary, and can remove and restart them one
// by one. No data is transferred: they start with copies of one empty data directory.

import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RowDataPacket } from "mysql2/promise";
import type { FoundServer } from "./found-server.ts";
import { type Guardian, postGuardian } from "./guardian.ts";
import { identify } from "./identify.ts";
import {
  asRoot,
  createDataDirectory,
  fileFlags,
  freePort,
  frozen,
  hasEnded,
  killed,
  runAt,
} from "./private-server.ts";

const NODES = 3;
/** For a server to answer, or for a member to join; both take some seconds on an idle machine. */
const PATIENCE_MS = 60_000;
const POLL_EVERY_MS = 50;
const LOG_TAIL_LINES = 20;

export interface ReplicationGroup {
  /** The first one is the primary at the start. */
  readonly nodes: readonly GroupNode[];
  /** After all nodes have been killed: forms the group anew by the node that is furthest, as an operator does. */
  startAnew(): Promise<void>;
  /** Can be called twice. */
  stop(): Promise<void>;
}

export interface GroupNode extends FoundServer {
  /** Runs statements as the administrator. */
  run(...statements: string[]): Promise<RowDataPacket[]>;
  /** Immediately, without notice to the other members. */
  kill(): Promise<void>;
  /** Stops all of its threads, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Starts it again, outside the group and writable, like a server that is not configured to join on start. */
  startAlone(): Promise<void>;
  hasEnded(): boolean;
  /** Waits until it takes part in the group. Lets it join if it has left, was started alone, or was expelled. */
  untilBack(): Promise<void>;
}

/**
 * Throws with the end of a log if the group does not come up.
 * @param more flags of every node, after the usual ones
 */
export async function startReplicationGroup(
  binary: string,
  more: readonly string[] = [],
): Promise<ReplicationGroup> {
  const directory = await mkdtemp(join(tmpdir(), "rowlock-group-"));
  const password = randomBytes(12).toString("hex");
  const nodes: Node[] = [];
  const stop = async () => {
    // There is no data to keep, and members that leave the group in an orderly way take long.
    await Promise.all(nodes.map((node) => node.kill()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const data = join(directory, "data");
    await createDataDirectory(binary, "mysql", data);
    // This file holds the server's unique id.
    await rm(join(data, "auto.cnf"), { force: true });
    await writeFile(
      join(directory, "init.sql"),
      "SET SESSION sql_log_bin = OFF;\n" +
        `CREATE USER IF NOT EXISTS 'rowlock'@'%' IDENTIFIED BY '${password}';\n` +
        "GRANT ALL ON *.* TO 'rowlock'@'%' WITH GRANT OPTION;\n",
    );
    const group = randomUUID();
    const ports = await Promise.all(Array.from({ length: NODES }, freePort));
    const seeds = ports.map((port) => `127.0.0.1:${port}`).join(",");
    for (const groupPort of ports) {
      const port = await freePort();
      const own = join(directory, `node-${nodes.length}`);
      await cp(data, own, { recursive: true });
      const flags = [...nodeFlags({ directory, data: own, port, groupPort, group, seeds }), ...more];
      nodes.push(new Node(binary, directory, own, flags, `mysql://rowlock:${password}@127.0.0.1:${port}`));
    }
    await Promise.all(nodes.map((node) => node.startAlone()));
    await form(nodes);
    const startAnew = async () => {
      await Promise.all(nodes.map((node) => node.startAlone()));
      const sets = await Promise.all(nodes.map((node) => node.transactions()));
      // Each set is a part of the next one: what a member commits, most of the group has.
      const behind = async (set: string) => {
        const [row] = await (nodes[0] as Node).run(
          `SELECT ${sets.map((other) => `GTID_SUBSET('${other}', '${set}')`).join(" AND ")} AS isFurthest`,
        );
        return Number(row?.isFurthest) === 0;
      };
      for (const [index, node] of nodes.entries()) {
        if (await behind(sets[index] as string)) continue;
        await form([node, ...nodes.filter((other) => other !== node)]);
        return;
      }
      throw new Error(`No member has all transactions: ${sets.join("; ")}`);
    };
    return { nodes, startAnew, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** By the first one; the others join. */
async function form([first, ...others]: readonly Node[]): Promise<void> {
  if (!first) return;
  await first.run("SET GLOBAL group_replication_bootstrap_group = ON");
  await first.join();
  await first.run("SET GLOBAL group_replication_bootstrap_group = OFF");
  await Promise.all(others.map((node) => node.join()));
  await untilOnline(first);
}

class Node implements GroupNode {
  readonly flavour = "mysql";
  readonly url: string;
  version = "";
  readonly #binary: string;
  readonly #directory: string;
  readonly #log: string;
  readonly #flags: readonly string[];
  #child: ChildProcess | undefined;
  #guardian: Guardian | undefined;

  constructor(binary: string, directory: string, data: string, flags: readonly string[], url: string) {
    this.#binary = binary;
    this.#directory = directory;
    this.#log = `${data}.err`;
    this.#flags = [...flags, `--log-error=${this.#log}`];
    this.url = url;
  }

  run(...statements: string[]): Promise<RowDataPacket[]> {
    return runAt(this.url, ...statements);
  }

  async startAlone(): Promise<void> {
    const child = spawn(this.#binary, this.#flags, { detached: true, stdio: "ignore" });
    child.on("error", () => {});
    this.#child = child;
    this.#guardian = postGuardian(this.#directory);
    if (child.pid !== undefined) this.#guardian.watch(child.pid);
    try {
      const { version } = await identify(this.url, PATIENCE_MS, () => {
        if (child.pid === undefined || hasEnded(child))
          throw new Error(`It ended with ${child.exitCode ?? child.signalCode}.`);
      });
      this.version = version;
    } catch (error) {
      const tail = existsSync(this.#log)
        ? readFileSync(this.#log, "utf8").trimEnd().split("\n").slice(-LOG_TAIL_LINES)
        : [];
      const what = `A server of the replication group did not start: ${(error as Error).message}`;
      throw new Error([what, ...tail].join("\n  "), { cause: error });
    }
  }

  async join(): Promise<void> {
    const { password } = new URL(this.url);
    await this.run(`START GROUP_REPLICATION USER = 'rowlock', PASSWORD = '${password}'`);
  }

  /** All that it has, as a set of GTIDs. */
  async transactions(): Promise<string> {
    const [row] = await this.run("SELECT @@global.gtid_executed AS had");
    return String(row?.had).replaceAll("\n", "");
  }

  async untilBack(): Promise<void> {
    const own = `SELECT member_state AS state
      FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid`;
    const deadlineMs = performance.now() + PATIENCE_MS;
    let seen = "";
    for (; performance.now() < deadlineMs; await sleep(POLL_EVERY_MS)) {
      try {
        const [row] = await this.run(own);
        seen = String(row?.state ?? "OFFLINE");
        if (seen === "ONLINE") return;
        if (["OFFLINE", "ERROR"].includes(seen)) {
          await this.run("STOP GROUP_REPLICATION");
          await this.join();
        }
      } catch (error) {
        seen = (error as Error).message;
      }
    }
    throw new Error(`A member did not come back to its group in time: ${seen}`);
  }

  async kill(): Promise<void> {
    if (this.#child) await killed(this.#child);
    this.#guardian?.dismiss();
  }

  hasEnded(): boolean {
    return this.#child === undefined || hasEnded(this.#child);
  }

  async freeze(): Promise<void> {
    await frozen(this.#child as ChildProcess);
  }

  thaw(): void {
    this.#child?.kill("SIGCONT");
  }
}

interface NodeSetting {
  readonly directory: string;
  readonly data: string;
  readonly port: number;
  readonly groupPort: number;
  readonly group: string;
  readonly seeds: string;
}

function nodeFlags({ directory, data, port, groupPort, group, seeds }: NodeSetting): string[] {
  return [
    "--no-defaults",
    ...fileFlags(data),
    `--port=${port}`,
    `--server-id=${port}`,
    "--bind-address=127.0.0.1",
    "--report-host=127.0.0.1",
    `--socket=${data}.sock`,
    `--pid-file=${data}.pid`,
    `--init-file=${join(directory, "init.sql")}`,
    "--skip-name-resolve",
    "--mysqlx=OFF",
    "--innodb-buffer-pool-size=64M",
    "--performance-schema=OFF",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--plugin-load-add=group_replication.so",
    `--loose-group-replication-group-name=${group}`,
    "--loose-group-replication-start-on-boot=OFF",
    `--loose-group-replication-local-address=127.0.0.1:${groupPort}`,
    `--loose-group-replication-group-seeds=${seeds}`,
    "--loose-group-replication-recovery-get-public-key=ON",
    // The remaining members form a group again some seconds after one was lost.
    "--loose-group-replication-member-expel-timeout=0",
    ...asRoot(),
  ];
}

async function untilOnline(node: GroupNode): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const rows = await node.run("SELECT member_state FROM performance_schema.replication_group_members");
    const states = rows.map((row) => String(row.member_state ?? row.MEMBER_STATE));
    if (states.length === NODES && states.every((state) => state === "ONLINE")) return;
    if (performance.now() > deadlineMs) throw new Error(`The replication group did not form: ${states}`);
    await sleep(POLL_EVERY_MS);
  }
}
