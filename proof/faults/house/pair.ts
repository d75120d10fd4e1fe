// A source and an asynchronous copy of it, which can be promoted although it lags. Then the old source becomes the copy.

import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run, toolOf } from "../../../bench/care/stage.ts";
import { ownBinaries } from "../../../test/support/mysql-family/own-binaries.ts";
import { type PairNode, startReplicatedPair } from "../../../test/support/mysql-family/replicated-pair.ts";
import { monotonicMs } from "../history/clock.ts";
import { TTL_MS } from "../work/run.ts";
import { type Daemon, daemonAt, urlOf } from "./daemon.ts";
import type { Database, LostTail } from "./database.ts";

/** How long the copy gets nothing before it is promoted. */
const LAG_MS = 500;
/** Until the old source comes back: by then all Rowlock servers have found the new one. */
const AWAY_MS = 5_000;
/** How long it is there as it was. */
const BACK_MS = 3_000;

export async function openPair(): Promise<Database> {
  const binary = (await ownBinaries()).get("mariadb");
  if (!binary) throw new Error("A pair needs MariaDB's server on this machine.");
  const pair = await startReplicatedPair(binary, "mariadb");
  const files = `${join(tmpdir(), "rowlock-pair-")}${process.pid}`;
  const tool = (name: "" | "dump", node: PairNode, args: readonly string[], ends: object) => {
    const { username, password, port } = new URL(node.url);
    const login = [`--user=${username}`, "--host=127.0.0.1", `--port=${port}`, "--protocol=tcp"];
    return run(toolOf(binary, "mariadb", name), [...login, ...args], ends, { MYSQL_PWD: password });
  };
  let [source, copy] = [pair.source, pair.replica];
  await source.run("CREATE DATABASE rowlock");
  await pair.caughtUp();
  const follow = async (follower: PairNode, leader: PairNode) => {
    const dump = `${files}-copy.sql`;
    const position = ["--gtid", "--master-data=1"];
    await tool("dump", leader, ["--single-transaction", ...position, "--databases", "rowlock"], {
      output: dump,
    });
    // What it has from when it was the source is not a part of the new history.
    await follower.run(
      "RESET MASTER",
      "SET GLOBAL gtid_slave_pos = ''",
      "SET sql_log_bin = 0",
      "DROP DATABASE rowlock",
    );
    await tool("", follower, ["--init-command=SET sql_log_bin = 0"], { input: dump });
    await pair.follow(follower, leader);
  };
  const daemonOf = (node: PairNode): Daemon =>
    daemonAt(node.url, {
      ...node,
      async comeBack() {
        if (node.hasEnded()) await node.startAgain(...(node === source ? [] : READ_ONLY));
      },
    });
  return {
    label: `a source and its copy, MariaDB ${source.server.version}`,
    servers: 3,
    daemons: [daemonOf(source), daemonOf(copy)],
    urlAt: (ports) => urlOf(source.url, ports),
    // The longest ttl that any client asks for; by itself Rowlock takes at least the default one of 60 s.
    serverFlags: ["--fail-over-pause", `${TTL_MS / 1e3}s`],
    acts: {
      async promote(isBack): Promise<LostTail> {
        const fromMs = monotonicMs();
        await pair.stopFollowing(copy, source);
        await sleep(LAG_MS);
        await source.kill();
        await pair.promote(copy);
        [source, copy] = [copy, source];
        const toMs = monotonicMs();
        await sleep(AWAY_MS);
        if (isBack) {
          await copy.startAgain();
          await sleep(BACK_MS);
          await copy.kill();
        }
        await copy.startAgain(...READ_ONLY);
        await follow(copy, source);
        return { fromMs, toMs };
      },
      async dump() {
        const dump = `${files}.sql`;
        await tool("dump", source, ["--single-transaction", "--databases", "rowlock"], { output: dump });
        return () => tool("", source, [], { input: dump });
      },
    },
    async stop() {
      await pair.stop();
      for (const file of [`${files}.sql`, `${files}-copy.sql`]) await rm(file, { force: true });
    },
  };
}

const READ_ONLY = ["--read-only=ON"];
