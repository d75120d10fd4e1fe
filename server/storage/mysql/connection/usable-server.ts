// Decides whether a server is usable: it can be written and, if it is configured as part of a cluster, it belongs to the
// majority. A node that fell out of its cluster can still be written, under the same name, but does not know the others'
// decisions. Asked when a connection is set up, and with each registration of a replica.

import { StoreError } from "../../store.ts";
import { type Connection, query, type Row, type Trip } from "./connection.ts";
import { ACCESS_DENIED, reworded } from "./errors.ts";

const READ_ONLY = ["read_only", "super_read_only", "innodb_read_only"];
// SHOW returns no row for a variable that this server lacks, whereas @@name would fail. read_only is checked as a
// setting, because a user with many privileges can write even when it is on.
const SETTINGS = `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('${READ_ONLY.join("', '")}',
  'server_uuid', 'group_replication_group_name', 'wsrep_on', 'wsrep_provider')`;
const GALERA = `SHOW GLOBAL STATUS WHERE Variable_name IN
  ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_cluster_state_uuid', 'wsrep_local_state_comment')`;
// Only this table gives a reliable answer: the status variables that remain differ between versions.
const MEMBERS_TABLE = "performance_schema.replication_group_members";
const MEMBERS = `SELECT member_id, member_state, member_role FROM ${MEMBERS_TABLE}`;

/** States of members that take part in the group's decisions, or are about to. */
const REACHABLE = ["ONLINE", "RECOVERING"];

export type Member = Readonly<Record<"id" | "state" | "role", string>>;

type Variables = ReadonlyMap<string, string>;

/** Adds the queries to a trip; returns the index of the first result, for `mustBeUsable`. */
export function askWhetherUsable(trip: Trip): number {
  const at = trip.add(SETTINGS);
  trip.add(GALERA);
  return at;
}

export interface Usability {
  /** The id of the server's cluster or group; null: it is not part of one, or cannot be used. */
  readonly cluster: string | null;
  /** Whether it has applied what its cluster has committed; a node of Galera that is a donor may lag far behind. */
  readonly isSynced: boolean;
  /** Says why it must not be used and what to do: `read_only` or `cluster_not_ready`; null: it can be used. */
  readonly refusal: StoreError | null;
}

/**
 * Throws a StoreError if that cannot be found out: `access_denied` if the user may not read the members of the group. Needs
 * one more round trip if there is a group.
 */
export async function usabilityOf(
  connection: Connection,
  results: readonly unknown[],
  at: number,
): Promise<Usability> {
  const settings = variablesOf(results[at]);
  for (const name of READ_ONLY)
    if (!["OFF", "0"].includes(settings.get(name) ?? "OFF")) return unusable(readOnly(name));
  const group = settings.get("group_replication_group_name");
  if (group) {
    const why = whyNotToWrite(await readMembers(connection, group), settings.get("server_uuid") ?? "");
    if (why !== null) return unusable(notReady(`is set up for the replication group ${group}, and ${why}`));
    return { cluster: group, isSynced: true, refusal: null };
  }
  if ((settings.get("wsrep_provider") || "none") === "none")
    return { cluster: null, isSynced: true, refusal: null };
  const state = variablesOf(results[at + 1]);
  const why = whyNotInGalera(settings, state);
  if (why !== null) return unusable(notReady(`is set up as a node of Galera, and ${why}`));
  const isSynced = state.get("wsrep_local_state_comment") === "Synced";
  return { cluster: state.get("wsrep_cluster_state_uuid") || null, isSynced, refusal: null };
}

function unusable(refusal: StoreError): Usability {
  return { cluster: null, isSynced: false, refusal };
}

/** Returns the id of its cluster or group; null: it has none. Throws its refusal, and what `usabilityOf` throws. */
export async function mustBeUsable(
  connection: Connection,
  results: readonly unknown[],
  at: number,
): Promise<string | null> {
  const { cluster, refusal } = await usabilityOf(connection, results, at);
  if (refusal !== null) throw refusal;
  return cluster;
}

/** Whether the error means that the server is no longer usable, although connections to it are open. */
export function isUnusable(error: unknown): boolean {
  return error instanceof StoreError && ["read_only", "cluster_not_ready"].includes(error.reason);
}

/** Returns why the member with this id must not be written; null: it may be, as each of several primaries may. */
export function whyNotToWrite(members: readonly Member[], ownId: string): string | null {
  const own = members.find(({ id }) => id === ownId);
  if (own?.state !== "ONLINE") {
    return (
      `its state there is ${own?.state || "OFFLINE"}: its data may differ from the group's. Let it join ` +
      "the group (START GROUP_REPLICATION) or connect to the primary. To use it alone, remove " +
      "group_replication_group_name from its settings and restart it."
    );
  }
  const reachable = members.filter(({ state }) => REACHABLE.includes(state)).length;
  if (reachable * 2 <= members.length) {
    return (
      `it reaches only ${reachable} of ${members.length} members, not a majority. Restart the other members, or connect to ` +
      "the primary of the majority."
    );
  }
  return own.role === "PRIMARY" ? null : "it is not the primary. Connect to the primary.";
}

/** A node that is a donor or lags behind for a while is acceptable: the cluster certifies its writes. */
function whyNotInGalera(settings: Variables, state: Variables): string | null {
  if (settings.get("wsrep_on") !== "ON") {
    return "wsrep_on is OFF. Turn it on. To use the server alone, remove wsrep_provider from its settings and restart it.";
  }
  const [status, ready] = ["wsrep_cluster_status", "wsrep_ready"].map((name) => state.get(name));
  if (status === "Primary" && ready === "ON") return null;
  return (
    `its wsrep_cluster_status is ${status} and wsrep_ready is ${ready}. Restart the nodes that it cannot reach, or ` +
    "connect to a node of the majority."
  );
}

async function readMembers(connection: Connection, group: string): Promise<Member[]> {
  try {
    const rows = await query(connection, "group_members", MEMBERS);
    return rows.map(([id, state, role]) => ({ id: String(id), state: String(state), role: String(role) }));
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== ACCESS_DENIED) throw error;
    const message =
      `The database server is set up for the replication group ${group}, and this user may not read whether it is a member: ` +
      `GRANT SELECT ON ${MEMBERS_TABLE} to the user of ROWLOCK_DATABASE_URL.`;
    throw reworded(error, message);
  }
}

function variablesOf(rows: unknown): Variables {
  return new Map((rows as Row[]).map(([name, value]) => [String(name), String(value)]));
}

function readOnly(variable: string): StoreError {
  const message = `The database server is read-only (${variable} is on): it is a replica, or a switch-over is in progress.`;
  return new StoreError("unavailable", "read_only", message);
}

function notReady(why: string): StoreError {
  return new StoreError("unavailable", "cluster_not_ready", `The database server ${why}`);
}
