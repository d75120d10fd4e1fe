// A database of three nodes of Galera, all of which can be written. They give a silent node up after 2 s.

import { type GaleraNode, startGaleraCluster } from "../../../test/support/mysql-family/galera-cluster.ts";
import { type Daemon, daemonAt, urlOf } from "./daemon.ts";
import type { Database } from "./database.ts";

export async function openGalera(): Promise<Database> {
  const cluster = await startGaleraCluster({ size: 3, isPatient: false, isFast: true, keeps: "128M" });
  const { nodes, startAnew, stop } = cluster;
  const [first] = nodes;
  await first.run("CREATE DATABASE rowlock");
  const daemons = new Map<Daemon, GaleraNode>(
    nodes.map((node) => [daemonAt(node.url, { ...node, comeBack: () => comeBack(node) }), node]),
  );
  return {
    label: `three nodes of Galera, MariaDB ${first.version}`,
    servers: 3,
    daemons: [...daemons.keys()],
    urlAt: (ports) => urlOf(first.url, ports),
    acts: {
      startAnew,
      async cutOff(daemon) {
        const node = daemons.get(daemon) as GaleraNode;
        await node.run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'");
        return async () => void (await node.run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'"));
      },
    },
    stop,
  };
}

async function comeBack(node: GaleraNode): Promise<void> {
  if (node.hasEnded()) await node.startAgain();
  await node.untilBack();
}
