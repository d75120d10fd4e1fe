// Parses database URLs and formats them for logs without the password. Opens nothing.

export type DatabaseUrl =
  | { readonly dialect: "sqlite"; readonly path: string }
  | ({ readonly dialect: "mysql" } & MysqlAddress);

export interface ServerPlace {
  readonly host: string;
  readonly port: number;
}

export interface MysqlAddress extends ServerPlace {
  /** The path of a Unix socket, which is used instead of host and port; null: none. */
  readonly socket: string | null;
  /** The further servers of the same database, in the order of preference; absent: it has one address. */
  readonly others?: readonly ServerPlace[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Absent: plain text, and the password above. */
  readonly login?: DatabaseLogin | undefined;
}

/** What proves to a database server who this server is, and the other way round, beyond the URL. */
export interface DatabaseLogin {
  /** null: plain text. */
  readonly tls: DatabaseTls | null;
  /** Replaces the password of the URL; null: nothing does. */
  readonly passwordFile: PasswordFile | null;
}

/** PEM texts. */
export interface DatabaseTls {
  readonly ca: string;
  /** What this server shows of itself; null: nothing. */
  readonly own: { readonly certificate: string; readonly key: string } | null;
  /** Whether the certificate of the database server has to name the host. */
  readonly verifyName: boolean;
}

/** A password that changes while the server runs. */
export interface PasswordFile {
  /** As last read. */
  readonly current: string;
  /** Reads the file again. An Error says in a sentence why it holds no password. */
  renew(): string | Error;
}

/** The path of a database without a file. The data lives as long as the store that opened it. */
export const IN_MEMORY = ":memory:";

const MYSQL_PORT = 3306;
/** A replication group has at most nine members. */
const SERVERS_MAX = 9;
const ACCEPTED =
  "Accepted are mysql://user:password@host:port/database (also for MariaDB; special characters of the password " +
  "percent-encoded; several servers of one database as host1:port,host2:port), " +
  "mysql://user:password@localhost/database?socket=/path/of/mysqld.sock, sqlite:path/to/file.db and sqlite::memory:.";

/** Throws an Error that says to an operator what to fix and that never contains the password. */
export function parseDatabaseUrl(url: string): DatabaseUrl {
  if (url.startsWith("sqlite:")) return sqliteUrl(url.slice("sqlite:".length));
  if (url.startsWith("mysql:") || url.startsWith("mariadb:")) return mysqlUrl(url);
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]{0,20}):/.exec(url)?.[1];
  throw refused(scheme ? `its scheme is "${scheme}"` : "it has no scheme");
}

/** The URL for logs and messages, without the password. */
export function describeDatabaseUrl(url: DatabaseUrl): string {
  if (url.dialect === "sqlite") return `sqlite:${url.path}`;
  const [user, database] = [url.user, url.database].map(encodeURIComponent);
  if (url.socket !== null) {
    const socket = url.socket.split("/").map(encodeURIComponent).join("/");
    return `mysql://${user}@${hostText(url.host)}/${database}?socket=${socket}`;
  }
  return `mysql://${user}@${[url, ...(url.others ?? [])].map(placeText).join(",")}/${database}`;
}

/** As a URL writes it: `db:3306`, `[::1]:3306`. */
export function placeText({ host, port }: ServerPlace): string {
  return `${hostText(host)}:${port}`;
}

/** The addresses of the single servers, in the order of preference. */
export function singleAddresses({ others = [], ...first }: MysqlAddress): MysqlAddress[] {
  return [first, ...others.map((place) => ({ ...first, ...place }))];
}

function hostText(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function sqliteUrl(rest: string): DatabaseUrl {
  const path = rest.startsWith("//") ? rest.slice(2) : rest;
  if (path === "") throw refused("it names no file");
  // SQLite gives such names a special meaning instead of opening a file by that path.
  if ((path.startsWith(":") && path !== IN_MEMORY) || path.startsWith("file:"))
    throw refused(`"${path}" is not a file name`);
  if (path.includes("\0")) throw refused("the file name contains a NUL");
  return { dialect: "sqlite", path };
}

type MysqlUrl = Extract<DatabaseUrl, { dialect: "mysql" }>;

function mysqlUrl(url: string): MysqlUrl {
  const raw = unescapedIn(url);
  if (raw !== null) {
    throw refused(
      `a ${raw} in its user or password has to be percent-encoded, as ${encodeURIComponent(raw)}`,
    );
  }
  if (!url.includes("@"))
    throw refused("it has no @ after user and password (in a settings file, # begins a comment: write %23)");
  const { before, hosts, after } = authorityOf(url);
  const faults: string[] = [];
  const parsed: MysqlUrl[] = [];
  for (const host of hosts) {
    try {
      parsed.push(oneServer(`${before}${host}${after}`, hosts.length > 1 ? `, "${host}"` : ""));
    } catch (error) {
      if (!(error instanceof UrlFault)) throw error;
      if (!faults.includes(error.message)) faults.push(error.message);
    }
  }
  if (hosts.length > 1) faults.push(...faultsOfList(hosts.length, parsed));
  if (faults.length > 0) throw refused(faults.join("; "));
  const [first, ...others] = parsed as [MysqlUrl, ...MysqlUrl[]];
  if (others.length === 0) return first;
  return { ...first, others: others.map(({ host, port }) => ({ host, port })) };
}

function authorityOf(url: string): { before: string; hosts: string[]; after: string } {
  const start = url.indexOf("//") + 2;
  const length = url.slice(start).search(/[/?#]/);
  const end = length < 0 ? url.length : start + length;
  const hostsAt = Math.max(start, url.lastIndexOf("@", end - 1) + 1);
  return { before: url.slice(0, hostsAt), hosts: url.slice(hostsAt, end).split(","), after: url.slice(end) };
}

function faultsOfList(count: number, servers: readonly MysqlUrl[]): string[] {
  const faults: string[] = [];
  const places = servers.map(placeText);
  for (const twice of new Set(places.filter((place, index) => places.indexOf(place) < index)))
    faults.push(`it names ${twice} twice`);
  if (count > SERVERS_MAX) faults.push(`it names ${count} servers, and ${SERVERS_MAX} are the most`);
  if (servers.some(({ socket }) => socket !== null))
    faults.push("a socket leads to one server on this machine, and it names several servers");
  return faults;
}

/** `which`: names the host in messages if there are several. Throws a UrlFault. */
function oneServer(url: string, which: string): MysqlUrl {
  if (which === `, ""`) throw new UrlFault("it names no host beside a comma");
  // Errors of `new URL` quote their input, which includes the password.
  if (!URL.canParse(url)) throw new UrlFault(`it cannot be read as a URL${which}`);
  const parsed = new URL(url);
  const database = decoded(parsed.pathname.slice(1));
  if (parsed.hostname === "") throw new UrlFault("it names no host");
  if (parsed.username === "") throw new UrlFault("it names no user");
  if (database === "" || database.includes("/"))
    throw new UrlFault("it does not name one database after the host");
  const { socket = null, ...others } = Object.fromEntries(parsed.searchParams);
  if (Object.keys(others).length > 0 || parsed.hash !== "")
    throw new UrlFault(
      "nothing but ?socket= may follow the database's name (for TLS to the database, set ROWLOCK_DATABASE_CA)",
    );
  if (socket !== null && !socket.startsWith("/")) throw new UrlFault("its socket is not an absolute path");
  if (socket !== null && parsed.port !== "") throw new UrlFault("it has a port and a socket");
  return {
    dialect: "mysql",
    host: parsed.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: parsed.port === "" ? MYSQL_PORT : Number(parsed.port),
    socket,
    user: decoded(parsed.username),
    password: decoded(parsed.password),
    database,
  };
}

class UrlFault extends Error {}

/** The first character of the user or password that ends the host part unless it is percent-encoded; null: none. */
function unescapedIn(url: string): string | null {
  // An @ in the database's name can only follow the @ that ends the password.
  const found = /^[a-z]+:\/\/(?:[^@]*?(\/)|.*?([#?])).*@/.exec(url);
  return found?.[1] ?? found?.[2] ?? null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // No `cause`, on purpose: it may quote the password.
    throw new UrlFault("it has a % that is not followed by two hexadecimal digits");
  }
}

function refused(why: string): Error {
  return new Error(`This database URL cannot be used: ${why}. ${ACCEPTED}`);
}
