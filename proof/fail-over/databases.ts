// The databases that are played with: how each starts, and the faults that can happen to it.

import { setTimeout as sleep } from "node:timers/promises";
import { BACK_AFTER_MS } from "../../server/storage/storage-bounds.ts";
import { startGaleraCluster } from "../../test/support/mysql-family/galera-cluster.ts";
import { startReplicatedPair } from "../../test/support/mysql-family/replicated-pair.ts";
import { type GroupNode, startReplicationGroup } from "../../test/support/mysql-family/replication-group.ts";

export interface PlayedDatabase {
  /** Of the servers, in the order in which the addresses are written; without a database's name. */
  readonly urls: readonly string[];
  /** Flags of the Rowlock servers. */
  readonly flags: readonly string[];
  /** The servers that can take over by themselves; none if somebody promotes them. */
  readonly successors: readonly Pick<GroupNode, "run">[];
  /** What happens to the server that is in use, and how that ends: null if it stays as it is. */
  readonly faults: Readonly<Record<string, () => Promise<(() => void | Promise<void>) | null>>>;
  stop(): Promise<void>;
}

export const SEMI_SYNC_FAULTS = ["kill", "freeze", "switch", "both-writable"];
export const GROUP_FAULTS = ["kill", "freeze", "switch", "leave"];
export const GALERA_FAULTS = ["kill", "freeze", "cut", "back"];

const LEFT_MS = 2_000;
/** For a node that comes back to join its cluster again. */
const REJOIN_MS = 15_000;
/** The replica has each transaction before it is acknowledged, so none is lost and no pause is needed. */
const NO_PAUSE = ["--fail-over-pause", "0s"];

/** A source and a semi-synchronous replica that is promoted at once, as by an operator who was waiting for it. */
export async function semiSync(binary: string, flavour: "mariadb" | "mysql"): Promise<PlayedDatabase> {
  const { source, replica, promote, stop } = await startReplicatedPair(binary, flavour, { isSemiSync: true });
  return {
    urls: [source.url, Object.assign(new URL(source.url), { host: new URL(replica.url).host }).href],
    flags: NO_PAUSE,
    successors: [],
    faults: {
      async kill() {
        await source.kill();
        await promote(replica);
        return () => source.startAgain();
      },
      async freeze() {
        await source.freeze();
        await promote(replica);
        return () => source.thaw();
      },
      async switch() {
        await source.run("SET GLOBAL read_only = ON");
        await promote(replica);
        return null;
      },
      // The source stays writable, but nobody acknowledges what it commits.
      async "both-writable"() {
        await promote(replica);
        return null;
      },
    },
    stop,
  };
}

export async function group(binary: string): Promise<PlayedDatabase> {
  const { nodes, stop } = await startReplicationGroup(binary, GROUP_SETTINGS);
  const [primary, next, last] = nodes as [GroupNode, GroupNode, GroupNode];
  return {
    urls: nodes.map(({ url }) => url),
    flags: [],
    successors: [next, last],
    faults: {
      async kill() {
        await primary.kill();
        return null;
      },
      async freeze() {
        await primary.freeze();
        return () => primary.thaw();
      },
      async switch() {
        const [row] = await next.run("SELECT @@server_uuid AS id");
        await primary.run(`SELECT group_replication_set_as_primary('${row?.id}')`);
        return null;
      },
      // It leaves the group, and somebody makes it writable a little later.
      async leave() {
        await primary.run("STOP GROUP_REPLICATION");
        await sleep(LEFT_MS);
        await primary.run("SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF");
        return null;
      },
    },
    stop,
  };
}

/** Beside the shortest time-out to expel a silent member, which the starter sets. */
const GROUP_SETTINGS = ["--loose-group-replication-consistency=BEFORE_ON_PRIMARY_FAILOVER"];

export async function galera(): Promise<PlayedDatabase> {
  const { nodes, stop } = await startGaleraCluster({ size: 3, isPatient: false, isFast: true });
  const [first, ...successors] = nodes;
  return {
    urls: nodes.map(({ url }) => url),
    flags: [],
    successors,
    faults: {
      async kill() {
        await first.kill();
        return null;
      },
      async freeze() {
        await first.freeze();
        return () => first.thaw();
      },
      // It joins again, and is preferred again after a while.
      async back() {
        await first.freeze();
        return async () => {
          first.thaw();
          await sleep(BACK_AFTER_MS + REJOIN_MS);
        };
      },
      // It keeps its clients, and loses the other nodes.
      async cut() {
        await first.run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'");
        return async () => {
          await first.run("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'");
        };
      },
    },
    stop,
  };
}
