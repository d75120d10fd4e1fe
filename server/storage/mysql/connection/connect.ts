// Opens connections and sets them up. A connection from here leads to a server that is fit to decide on, counts time
// in UTC, waits for row locks for a bounded time, and is ended by the server soon after this process stops.

import type { Socket } from "node:net";
import { connect } from "node:net";
import { createConnection } from "mysql2";
import type { MysqlAddress } from "../../database-url.ts";
import { CONNECT_MS_MAX, LOCK_WAIT_S, TCP_KEEPALIVE_MS } from "../../storage-bounds.ts";
import type { StoreObserver } from "../../store.ts";
import { StoreError } from "../../store.ts";
import { classify, deadlineError } from "./errors.ts";
import type { Row } from "./session.ts";
import { Session } from "./session.ts";
import { askStanding, mustStandWell } from "./standing.ts";
import { Trip } from "./trip.ts";

// READ COMMITTED, so that a read after a row lock sees what was committed before it. The server ends a session that
// says nothing for 8 s, so a replica that was stopped in the middle of a transaction blocks others no longer than that.
// Our statements name their indexes, so the server need not look into several for each key of a list. MariaDB would
// turn long lists of keys into joins, which lock what they look at in an order of their own.
const SET_UP = `SET SESSION time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',
  autocommit = 1, wait_timeout = 8, innodb_lock_wait_timeout = ${LOCK_WAIT_S}, eq_range_index_dive_limit = 1
  /*!80000 , max_execution_time = 5000 */
  /*M!100304 , max_statement_time = 5, in_predicate_conversion_threshold = 0 */`;

// SHOW answers nothing for a variable that this server does not have, where @@name would fail.
const FACTS = "SHOW VARIABLES WHERE Variable_name IN ('version', 'server_uuid', 'server_id', 'wsrep_on')";

export const UNOBSERVED: StoreObserver = { statement() {}, transaction() {}, connection() {} };

export interface Server {
  /** `MariaDB 10.11.19`. */
  readonly product: string;
  /**
   * What tells this database from any other: the uuid of the server or, while it is a member in good standing, that of
   * its Galera cluster or replication group, whose members do not lose what they have acknowledged. Of MariaDB the
   * `server_id`, which tells it from its replicas (its `server_uid` changes with each move to another address). null
   * for TiDB, where each connection may be to another of its servers.
   */
  readonly identity: string | null;
  /** Whether it is a node of such a cluster or group. */
  readonly isCluster: boolean;
  /** Of this end of the connection. */
  readonly localHost: string | null;
}

/** A connection that is ready for work. Throws a StoreError: why there is none, or what `mustStandWell` throws. */
export async function openSession(
  address: MysqlAddress,
  observer: StoreObserver,
): Promise<{ session: Session; server: Server }> {
  const socket = connect({
    host: address.host,
    port: address.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEPALIVE_MS,
  });
  const patience = setTimeout(() => socket.destroy(deadlineError()), CONNECT_MS_MAX);
  try {
    const session = await handshake(address, socket, observer);
    observer.connection("opened");
    try {
      const { server, version, mayLag } = await setUp(session, socket);
      session.serverIdentity = server.identity;
      session.setsPatience = version.includes("MariaDB");
      session.skipsLocked = skipsLocked(version);
      session.mayLag = mayLag;
      return { session, server };
    } catch (error) {
      session.destroy(error);
      throw error;
    }
  } catch (error) {
    socket.destroy();
    throw away(error instanceof StoreError ? error : classify(error).error);
  } finally {
    clearTimeout(patience);
  }
}

function handshake(address: MysqlAddress, socket: Socket, observer: StoreObserver): Promise<Session> {
  const { host, port, user, password, database } = address;
  const connection = createConnection({
    stream: () => socket,
    host,
    port,
    user,
    password,
    database,
    connectTimeout: CONNECT_MS_MAX,
    // A transaction takes two round trips because its statements are sent together. Values are never text.
    multipleStatements: true,
    // BIGINT as decimal text: exact, and turned into bigint or number by whoever knows which it is.
    supportBigNumbers: true,
    bigNumberStrings: true,
    flags: ["-LOCAL_FILES"],
  });
  return new Promise((resolve, reject) => {
    // Stays, as an error that nobody listens for would end the process.
    connection.on("error", reject);
    connection.connect((error) => {
      if (error) reject(error);
      else resolve(new Session(connection, socket, observer));
    });
  });
}

async function setUp(
  session: Session,
  socket: Socket,
): Promise<{ server: Server; version: string; mayLag: boolean }> {
  const trip = new Trip("set_up");
  trip.add("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
  trip.add(SET_UP);
  const factsAt = trip.add(FACTS);
  const standingAt = askStanding(trip);
  const results = await session.run(trip);
  const cluster = await mustStandWell(session, results, standingAt);
  const facts = new Map((results[factsAt] as Row[]).map(([name, value]) => [name, String(value)]));
  const version = facts.get("version") ?? "";
  const server = facts.get("server_uuid") || `server_id ${facts.get("server_id")}`;
  const identity = version.includes("TiDB") ? null : (cluster ?? server);
  const localHost = socket.localAddress ?? null;
  const mayLag = facts.get("wsrep_on") === "ON";
  const isCluster = cluster !== null;
  return { server: { product: productOf(version), identity, isCluster, localHost }, version, mayLag };
}

function productOf(version: string): string {
  const number = /^[0-9.]+/.exec(version)?.[0] ?? version;
  return `${version.includes("MariaDB") ? "MariaDB" : "MySQL"} ${number}`;
}

/** MySQL 8, and MariaDB since 10.6; TiDB understands it and does not do it. */
function skipsLocked(version: string): boolean {
  if (version.includes("TiDB")) return false;
  const [major = 0, minor = 0] = version.split(".").map(Number.parseFloat);
  return version.includes("MariaDB") ? major > 10 || minor >= 6 : major >= 8;
}

/** Nothing had begun, so a connection that is lost here is a server that is away. */
function away(error: StoreError): StoreError {
  if (error.kind !== "transient") return error;
  return new StoreError("unavailable", error.reason, error.message, { cause: error.cause });
}
