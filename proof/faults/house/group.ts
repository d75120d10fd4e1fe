// A database of three MySQL servers under Group Replication, with one primary.

import { namedBinaries } from "../../../test/support/mysql-family/own-binaries.ts";
import {
  type GroupNode,
  startReplicationGroup,
} from "../../../test/support/mysql-family/replication-group.ts";
import { type Daemon, daemonAt, urlOf } from "./daemon.ts";
import type { Database } from "./database.ts";

/** As docs/databases.md says, beside the time-out for silent members, which the starter sets. */
const SETTINGS = ["--loose-group-replication-consistency=BEFORE_ON_PRIMARY_FAILOVER"];

export async function openGroup(): Promise<Database> {
  const [binary] = namedBinaries();
  if (!binary) throw new Error("A group needs MySQL: name it in ROWLOCK_TEST_MYSQLD.");
  const { nodes, startAnew, stop } = await startReplicationGroup(binary, SETTINGS);
  const first = nodes[0] as GroupNode;
  await first.run("CREATE DATABASE rowlock");
  const daemons = new Map<Daemon, GroupNode>(nodes.map((node) => [daemonOf(node), node]));
  const nodeOf = (daemon: Daemon) => daemons.get(daemon) as GroupNode;
  return {
    label: `three members of a group, MySQL ${first.version}`,
    servers: 3,
    daemons: [...daemons.keys()],
    urlAt: (ports) => urlOf(first.url, ports),
    acts: {
      startAnew,
      async switchTo(daemon) {
        await nodeOf(daemon).run("SELECT group_replication_set_as_primary(@@server_uuid)");
      },
      async leave(daemon) {
        await nodeOf(daemon).run("STOP GROUP_REPLICATION");
      },
    },
    stop,
  };
}

function daemonOf(node: GroupNode): Daemon {
  return daemonAt(node.url, {
    kill: () => node.kill(),
    freeze: () => node.freeze(),
    thaw: () => node.thaw(),
    async comeBack() {
      if (node.hasEnded()) await node.startAlone();
      await node.untilBack();
    },
  });
}
