// Opens connections and sets them up. Each connection leads to a usable server, uses UTC, and waits
// for row locks for a bounded time. The server ends it soon after this process stops.

import type { Socket } from "node:net";
import type { ConnectionOptions } from "mysql2";
import type { MysqlAddress } from "../../database-url.ts";
import { CONNECT_MS_MAX } from "../../storage-bounds.ts";
import { StoreError, type StoreObserver } from "../../store.ts";
import { Connection, query, type Row, Trip } from "./connection.ts";
import { classify, deadlineError } from "./errors.ts";
import { connectTo, logIn, withPassword } from "./login.ts";
import { correctSession, endedAtOnce, firstStatements, SERVING, SESSION_VARIABLES } from "./session.ts";
import { askWhetherUsable, type Usability, usabilityOf } from "./usable-server.ts";

// SHOW returns no row for a variable that this server lacks, whereas @@name would fail.
const VARIABLES = `SHOW VARIABLES WHERE Variable_name IN
  ('version', 'server_uuid', 'server_id', 'wsrep_on', '${SESSION_VARIABLES.join("', '")}')`;

/** An observer that records nothing. */
export const UNOBSERVED: StoreObserver = { statement() {}, transaction() {}, connection() {} };

export interface Server {
  /** Product and version: `MariaDB 10.11.19`. */
  readonly product: string;
  /**
   * Identifies this database: by the uuid of the server or, while it is a usable member of a Galera cluster or a
   * replication group, the id of that, whose members do not lose what they have acknowledged. MariaDB: the `server_id`,
   * which differs between a server and its replicas (its `server_uid` changes whenever it moves to another address).
   * TiDB: null, because each connection may lead to another of its servers.
   */
  readonly identity: string | null;
  readonly isCluster: boolean;
  /** The local address of the connection; null: a Unix socket has none. */
  readonly localHost: string | null;
}

export interface Opened {
  readonly connection: Connection;
  readonly server: Server;
}

export interface Reached extends Opened {
  readonly usability: Usability;
}

/**
 * Opens a connection that is ready for work, within CONNECT_MS_MAX, or twice that if the password has changed. Throws a
 * StoreError: why none could be opened, or the refusal of a server that cannot be used.
 */
export async function openConnection(address: MysqlAddress, observer: StoreObserver): Promise<Opened> {
  const reached = await reach(address, observer, CONNECT_MS_MAX);
  const { refusal } = reached.usability;
  if (refusal === null) return reached;
  reached.connection.destroy(refusal);
  throw refusal;
}

/** The same within `withinMs`, also to a server that cannot be used: it must not be written. */
export function reach(address: MysqlAddress, observer: StoreObserver, withinMs: number): Promise<Reached> {
  return withPassword(address, (present) => attempt(present, observer, withinMs));
}

async function attempt(address: MysqlAddress, observer: StoreObserver, withinMs: number): Promise<Reached> {
  const socket = connectTo(address);
  const patience = setTimeout(() => socket.destroy(deadlineError()), withinMs);
  try {
    const connection = new Connection(await logIn(address, socket, DRIVER_OPTIONS), socket, observer);
    observer.connection("opened");
    try {
      return await setUp(connection, socket);
    } catch (error) {
      connection.destroy(error);
      throw error;
    }
  } catch (error) {
    socket.destroy();
    throw away(error instanceof StoreError ? error : classify(error).error);
  } finally {
    clearTimeout(patience);
  }
}

const DRIVER_OPTIONS: ConnectionOptions = {
  connectTimeout: CONNECT_MS_MAX,
  // A transaction takes two round trips because each sends several statements together.
  multipleStatements: true,
  // Trips contain their values already; the driver would search the text for places to put some.
  queryFormat: (sql: string) => sql,
  // BIGINT as decimal text: exact. The code that reads a column converts it to bigint or number.
  supportBigNumbers: true,
  bigNumberStrings: true,
  flags: ["-LOCAL_FILES"],
};

async function setUp(connection: Connection, socket: Socket): Promise<Reached> {
  const trip = new Trip("set_up");
  for (const statement of firstStatements(SERVING)) trip.add(statement);
  const variablesAt = trip.add(VARIABLES);
  const usableAt = askWhetherUsable(trip);
  const results = await connection.run(trip).catch((error: unknown) => {
    const isLost = error instanceof StoreError && error.reason === "connection_lost";
    throw isLost ? endedAtOnce(error.cause) : error;
  });
  const usability = await usabilityOf(connection, results, usableAt);
  const { cluster } = usability;
  const variables = new Map(
    (results[variablesAt] as Row[]).map(([name, value]) => [String(name), String(value)]),
  );
  // A server that cannot be written is only looked at.
  if (usability.refusal === null)
    connection.packetMax = await correctSession(variables, SERVING, (sql) =>
      query(connection, "set_up", sql),
    );
  const version = variables.get("version") ?? "";
  const server = variables.get("server_uuid") || `server_id ${variables.get("server_id")}`;
  const identity = version.includes("TiDB") ? null : (cluster ?? server);
  connection.serverIdentity = identity;
  connection.setsPatience = version.includes("MariaDB");
  connection.skipsLocked = skipsLocked(version);
  connection.mayLag = variables.get("wsrep_on") === "ON";
  const localHost = socket.localAddress ?? null;
  return {
    connection,
    server: { product: productOf(version), identity, isCluster: cluster !== null, localHost },
    usability,
  };
}

function productOf(version: string): string {
  const number = /^[0-9.]+/.exec(version)?.[0] ?? version;
  return `${version.includes("MariaDB") ? "MariaDB" : "MySQL"} ${number}`;
}

/** Whether the server supports SKIP LOCKED: MySQL 8, and MariaDB since 10.6. TiDB parses it without effect. */
function skipsLocked(version: string): boolean {
  if (version.includes("TiDB")) return false;
  const [major = 0, minor = 0] = version.split(".").map(Number.parseFloat);
  return version.includes("MariaDB") ? major > 10 || minor >= 6 : major >= 8;
}

/** No work had begun, so a connection that is lost here means that the server is away. */
function away(error: StoreError): StoreError {
  const { kind, reason, message, cause } = error;
  return kind === "transient" ? new StoreError("unavailable", reason, message, { cause }) : error;
}
