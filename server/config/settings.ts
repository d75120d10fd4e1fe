// Every setting of the server, in one table: default, bound, description. Names follow from keys: `queueMax` is
// ROWLOCK_QUEUE_MAX. The flags of `rowlock serve`, its help and the table in docs/settings.md are made from the table. Reads
// nothing: config.ts reads the values.

import { CERTIFICATE_NAMES } from "../access/certificate.ts";
import { JWT_ALGORITHMS } from "../access/jwt.ts";
import { LABEL_KEY_BYTES_MAX, NAME_BYTES_MAX, WAITING_MAX_MAX } from "../core/bounds.ts";
import { listenAddress, networks, origins } from "./addresses.ts";
import {
  count,
  duration,
  file,
  flag,
  type Kind,
  labelKey,
  listOf,
  namePatterns,
  nameTimes,
  oneOf,
  or,
  patternTimes,
  text,
} from "./setting-kinds.ts";

export const PREFIX = "ROWLOCK_";
/** Names the file with settings; only the environment and a flag can set it. */
export const CONFIG_NAME = "ROWLOCK_CONFIG";
/** The class of the names that no pattern of ROWLOCK_METRICS_CLASSES matches. */
export const CLASS_OTHER = "other";

const METRICS_CLASSES_MAX = 50;
const METRICS_JOBS_MAX = 50;
const HISTORY_CLASSES_MAX = 50;
const NETWORKS_MAX = 100;
const ORIGINS_MAX = 20;

export interface Setting<Value> {
  /** Written as a person would write it; absent: what is usual for its kind. */
  readonly default?: string;
  readonly kind: Kind<Value>;
  readonly about: string;
  /** The value is never shown, neither in logs nor in faults, and a file can hold it: see FILE_FORMS. */
  readonly secret?: true;
}

/** The keys are those of Config, where the names of durations end in Ms. */
export const SETTINGS = {
  databaseUrl: {
    default: "sqlite:./rowlock.db",
    kind: text(
      "<url>",
      "sqlite:path or mysql://user:password@host:port/database, or several host:port with commas",
    ),
    about:
      "The database with all state: MySQL or MariaDB, or an SQLite file for a single server. If the database server " +
      "runs on the same machine, ?socket=/path after the database's name connects through its Unix socket. With several " +
      "servers, host1:port,host2:port, Rowlock follows the one that can be written: see docs/databases.md.",
    secret: true,
  },
  databaseCa: {
    kind: file("a PEM file, or system"),
    about:
      "The certificates of the authorities that may sign the certificate of the MySQL or MariaDB server; Rowlock then " +
      "connects to it over TLS only. system: the authorities that this machine and Node trust.",
  },
  databaseCert: {
    kind: file("a PEM file"),
    about: "The certificate that this server shows to the database server, with its chain.",
  },
  databaseKey: {
    kind: file("a PEM file"),
    about: "The private key of that certificate, without a passphrase.",
  },
  databaseVerifyName: {
    default: "true",
    kind: flag,
    about:
      "Check that the certificate of the database server names the host of ROWLOCK_DATABASE_URL; false accepts every " +
      "certificate that an authority of ROWLOCK_DATABASE_CA has signed.",
  },
  databasePasswordFile: {
    kind: file("a file"),
    about:
      "The file with the password of the database user, which replaces the password in ROWLOCK_DATABASE_URL. It is " +
      "read at start, and again when the database refuses the login.",
  },
  listen: {
    default: "127.0.0.1:50051",
    kind: listenAddress,
    about: "The address for gRPC.",
  },
  advertise: {
    kind: or("auto", listenAddress),
    about:
      "The address at which other servers over the database reach this one to report grants. auto: the " +
      "port of ROWLOCK_LISTEN at its host, or, if that is 0.0.0.0 or [::], at the address from which " +
      "this server connects to the database.",
  },
  httpListen: {
    default: "off",
    kind: or("off", listenAddress),
    about:
      "The address for calls over HTTP: the verbs in JSON and binary by the Connect protocol and gRPC-Web, over TLS if the gRPC " +
      "listener has it. The page's port has them, too, for whoever may use the page.",
  },
  httpOrigins: {
    default: "",
    kind: origins(ORIGINS_MAX),
    about:
      "Web sites whose pages may call at ROWLOCK_HTTP_LISTEN from a browser, separated by commas, such as https://app.example. Others " +
      "are refused.",
  },
  metricsListen: {
    default: "127.0.0.1:9464",
    kind: or("off", listenAddress),
    about:
      "The address for /metrics, /healthz, /readyz and the page: plain HTTP, open to everyone who can reach it, unless " +
      "ROWLOCK_METRICS_TLS and ROWLOCK_METRICS_TOKEN_FILE are set.",
  },
  page: {
    default: "true",
    kind: flag,
    about:
      "Serve the page for people at / of ROWLOCK_METRICS_LISTEN: it shows locks, holders and queues, and operators who " +
      "sign in change them. See docs/security.md for who may.",
  },
  metricsTls: {
    kind: flag,
    about: "Serve these pages over TLS, with the certificate of ROWLOCK_TLS_CERT; clients need none.",
  },
  metricsTokenFile: {
    kind: file("a file of tokens, one a line"),
    about: "/metrics needs one of these tokens, as `authorization: Bearer`; /healthz and /readyz stay open.",
  },
  tlsCert: {
    kind: file("a PEM file"),
    about: "The certificate of the gRPC listener, with its chain; enables TLS.",
  },
  tlsKey: {
    kind: file("a PEM file"),
    about: "The private key of that certificate, without a passphrase.",
  },
  tlsClientCa: {
    kind: file("a PEM file"),
    about: "The certificates of the authorities whose clients may connect; enables mutual TLS.",
  },
  tlsClientCrl: {
    kind: file("a PEM file"),
    about:
      "Lists of revoked certificates (CRLs), one of each of these authorities; read again. Connections whose certificate " +
      "is revoked are refused, and open ones end.",
  },
  allowPlaintext: {
    kind: flag,
    about: "Serve gRPC without TLS beyond this machine; only for a trusted network.",
  },
  tokensFile: {
    kind: file("a file of lines that `rowlock token new` makes"),
    about: "Whose bearer tokens are known, as hashes. The server then wants to know who calls.",
  },
  jwtIssuer: {
    kind: text("<url>", "as in the claim iss"),
    about: "Whose JWTs are accepted as bearer tokens; needs ROWLOCK_JWT_AUDIENCE and ROWLOCK_JWT_KEYS.",
  },
  jwtAudience: {
    kind: text("<name>", "as in the claim aud"),
    about: "For whom a JWT must be made: the name that the issuer knows this service by.",
  },
  jwtKeys: {
    kind: text("<file or url>", "a JWKS file, or an https URL"),
    about: "The issuer's public keys. A URL is read every five minutes, and when a JWT names an unknown key.",
  },
  jwtAlgorithms: {
    default: "RS256,ES256",
    kind: listOf(JWT_ALGORITHMS),
    about: "The algorithms by which a JWT may be signed.",
  },
  jwtNameClaim: {
    default: "sub",
    kind: text("<claim>", "such as sub or email"),
    about: "The claim of a JWT that names the caller.",
  },
  jwtClockSkewMs: {
    default: "30s",
    kind: duration("0s", "10m"),
    about: "How far the clocks of the issuer and of this server may differ.",
  },
  certificateNames: {
    kind: or("off", oneOf(CERTIFICATE_NAMES)),
    about:
      "What of a client's certificate names the caller: its SPIFFE URI, its first DNS name or its common name. off: " +
      "certificates open the connection only.",
  },
  policyFile: {
    kind: file("a YAML file"),
    about:
      "Who may do what on which locks; what it does not allow is denied. Without it, known callers may do all.",
  },
  allowPlaintextTokens: {
    kind: flag,
    about: "Take bearer tokens without TLS beyond this machine, where whoever listens can use them.",
  },
  migrate: {
    default: "true",
    kind: flag,
    about: "Migrate the database's schema at start; false leaves that to `rowlock migrate up`.",
  },
  weakDurability: {
    kind: flag,
    about: "Run on a database whose settings can lose acknowledged commits; a lock can then be held twice.",
  },
  startupTimeoutMs: {
    default: "30s",
    kind: duration("0s", "1h"),
    about: "How long to retry at start if the database is away.",
  },
  drainTimeoutMs: {
    // Docker kills a container that has not stopped after 10 s, and the connections to the database close last.
    default: "8s",
    kind: duration("100ms", "10m"),
    about: "How long running calls may take to finish when the server stops.",
  },
  graceMs: {
    default: "10s",
    kind: duration("1s", "10m"),
    about: "How long a waiter that lost its connection keeps its place.",
  },
  pollIntervalMs: {
    default: "100ms",
    kind: duration("10ms", "1m"),
    about: "How often a server asks the database what other servers did for its waiters.",
  },
  retentionMs: {
    default: "1h",
    kind: duration("1m", "30d"),
    about:
      "How long the request id of an ended claim is kept, so that a late retry gets the old answer; every ended claim is " +
      "kept for so long at least.",
  },
  history: {
    kind: patternTimes(HISTORY_CLASSES_MAX, NAME_BYTES_MAX, "3650d"),
    about:
      "Names and patterns whose ended claims are kept for another time than 7 days, such as etl/*=30d,web/*=2h; the " +
      "longest match counts.",
  },
  historyRowsMax: {
    default: "1000000",
    kind: count(1_000, 1_000_000_000),
    about:
      "The most ended claims that are kept, about; beyond it those that ended first are deleted early, but none " +
      "before ROWLOCK_RETENTION.",
  },
  changesRetentionMs: {
    default: "90d",
    kind: duration("1h", "3650d"),
    about:
      "How long changes of limits, records and policies, and forced releases, are kept; at most about 1,000,000 of them.",
  },
  idleLockRetentionMs: {
    default: "7d",
    kind: duration("1m", "3650d"),
    about:
      "How long the rows of an unused lock are kept. Locks with a record or with a limit of their own " +
      "are not deleted.",
  },
  doctorIntervalMs: {
    default: "10m",
    kind: or("off", duration("1s", "7d")),
    about:
      "How often one of the servers checks the rows of live claims, as `rowlock doctor` does; what it finds is logged, and " +
      "counted in rowlock_invariant_findings.",
  },
  failOverPauseMs: {
    kind: or("auto", duration("0s", "24d")),
    about:
      "How long nothing is granted after a fail-over to another database server or to an older copy. " +
      "auto: as long as a lost lease may last.",
  },
  stateFile: {
    kind: file("a file in a directory that outlives the server"),
    about:
      "Remembers what the server wrote last, so that at its start it notices a database that was " +
      "restored in place. Each server needs its own file.",
  },
  queueMax: {
    default: "10000",
    kind: count(1, WAITING_MAX_MAX),
    about: "The most waiters of one lock; more are refused as QUEUE_FULL.",
  },
  commandsMax: {
    default: "10000",
    kind: count(1, 1_000_000),
    about: "The most commands that wait for the database; more fail at once as RESOURCE_EXHAUSTED.",
  },
  streamsMax: {
    default: "1000",
    kind: count(1, 1_000_000),
    about:
      "The most concurrent waits on one client connection (WaitInQueue and blocked Acquires); more fail " +
      "at once as RESOURCE_EXHAUSTED.",
  },
  sessionWaitsMax: {
    default: "5000",
    kind: count(1, 1_000_000),
    about: "The most concurrent waits in one session; more fail at once as RESOURCE_EXHAUSTED.",
  },
  sessionCommandsMax: {
    default: "5000",
    kind: count(1, 1_000_000),
    about: "The most other concurrent commands in one session; more fail at once as RESOURCE_EXHAUSTED.",
  },
  waitsMax: {
    kind: or("auto", count(1, 10_000_000)),
    about:
      "The most concurrent waits at this server; more fail at once as RESOURCE_EXHAUSTED, while leases " +
      "are still renewed. auto: as many as its memory holds.",
  },
  principalWaitsMax: {
    kind: or("auto", count(1, 10_000_000)),
    about:
      "The most concurrent waits of one caller at this server, over all its connections, if callers are asked who they " +
      "are; more fail at once as RESOURCE_EXHAUSTED. auto: half of ROWLOCK_WAITS_MAX.",
  },
  sessionsMax: {
    kind: or("auto", count(1, 1_000_000)),
    about:
      "The most concurrent sessions at this server; more fail at once as RESOURCE_EXHAUSTED. auto: as " +
      "many as its memory holds.",
  },
  connectionsMax: {
    kind: or("auto", count(1, 1_000_000)),
    about:
      "The most concurrent client connections at this server; it closes more as they open. auto: as " +
      "many as its memory holds.",
  },
  addressConnectionsMax: {
    kind: or("auto", count(1, 1_000_000)),
    about:
      "The most concurrent client connections from one address (of IPv6: one /64 network); more are closed as they " +
      "open. auto: three quarters of ROWLOCK_CONNECTIONS_MAX, since a whole fleet may stand behind one address.",
  },
  addressConnectionsPerSecond: {
    default: "500",
    kind: or("off", count(1, 1_000_000)),
    about:
      "The most new client connections a second from one address, with bursts of ten times as many; more are closed as " +
      "they open. Their clients try again by themselves.",
  },
  proxyAddresses: {
    kind: networks(NETWORKS_MAX),
    about:
      "The addresses or networks of proxies in front of this server, such as 10.0.0.7,10.1.0.0/16. Each connection from " +
      "there must begin with a header of the PROXY protocol, version 1 or 2, whose address then counts as the client's.",
  },
  connectionAgeMaxMs: {
    kind: or("off", duration("10s", "20d")),
    about:
      "How old a client connection may become, give or take a tenth; then its client opens a new one, and continues " +
      "there. It balances load, and ends connections that were made with an old certificate.",
  },
  connectionIdleMaxMs: {
    kind: or("off", duration("10s", "20d")),
    about: "How long a client connection may be without calls before it is closed. A session is a call.",
  },
  namesPerSecond: {
    kind: or("auto", count(1, 10_000_000)),
    about:
      "The most new names of locks that this server creates a second, with bursts of ten times as many; " +
      "more fail at once as RESOURCE_EXHAUSTED. auto: as many as its memory allows.",
  },
  receiveBytesMax: {
    default: "65536",
    kind: count(1_024, 4_194_304),
    about: "The largest request, in bytes; a larger one fails as RESOURCE_EXHAUSTED.",
  },
  headerBytesMax: {
    default: "16384",
    kind: count(4_096, 65_536),
    about:
      "The largest headers of a call, in bytes: each name and value, and 32 for each pair; a call with larger ones fails " +
      "as RESOURCE_EXHAUSTED. Raise it for very large JWTs.",
  },
  poolSize: {
    default: "10",
    kind: count(2, 1_000),
    about: "Connections to MySQL or MariaDB. SQLite has one, and one lane.",
  },
  lanes: {
    kind: or("auto", count(1, 256)),
    about: "Concurrent transactions; fewer make larger batches. Must be below ROWLOCK_POOL_SIZE.",
  },
  metricsClasses: {
    kind: namePatterns(METRICS_CLASSES_MAX, NAME_BYTES_MAX, CLASS_OTHER),
    about:
      "Names and patterns such as etl/*,web/* that metrics are kept apart by; the longest match counts, all other " +
      `names are \`${CLASS_OTHER}\`.`,
  },
  metricsJobs: {
    kind: nameTimes(METRICS_JOBS_MAX, NAME_BYTES_MAX, "3650d"),
    about:
      "Locks whose runs metrics and alerts watch, and how old the last success may be, such as cron/nightly=26h,etl/load=2h. Each " +
      "needs a record.",
  },
  metricsLabel: {
    kind: labelKey(LABEL_KEY_BYTES_MAX),
    about:
      "A label of claims, such as team, by whose values rowlock_holders_by_label and rowlock_waiters_by_label count live " +
      "claims: the 50 values with most claims, the rest as `other`.",
  },
  reflection: {
    kind: or("auto", flag),
    about:
      "Serve gRPC reflection, so that generic clients know the API. auto: unless the server asks who calls and listens " +
      "beyond this machine.",
  },
  auditLog: {
    kind: flag,
    about:
      "Log each grant, each release and each denied call at level info, to show who held which lock, when, and who " +
      "tried what they may not.",
  },
  banner: {
    default: "true",
    kind: flag,
    about:
      "Print for people where the server listens, unless standard output and the log go to one file or pipe: a program that " +
      "reads both reads lines of JSON only.",
  },
  logLevel: {
    default: "info",
    kind: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]),
    about: "The lowest level of log lines. The log is JSON lines on standard error.",
  },
} as const satisfies Record<string, Setting<unknown>>;

export type SettingKey = keyof typeof SETTINGS;

/** The settings that commands need which work on the database and serve nothing. */
export const DATABASE_KEYS = [
  "databaseUrl",
  "databaseCa",
  "databaseCert",
  "databaseKey",
  "databaseVerifyName",
  "databasePasswordFile",
] as const satisfies readonly SettingKey[];

export type SettingValues = {
  readonly [Key in SettingKey]: (typeof SETTINGS)[Key]["kind"] extends Kind<infer Value> ? Value : never;
};

/** Settings without those that have a fault of their own: a check across settings runs only if all of them are there. */
export type Checked = Partial<SettingValues>;

/** The name of a setting by its key: `ROWLOCK_QUEUE_MAX` for `queueMax`, `ROWLOCK_GRACE` for `graceMs`. */
export function nameOf(key: string): string {
  const words = key.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `_${letter}`);
  return PREFIX + words.toUpperCase();
}

/** By the name of each secret setting: the name by which a file holds its value, so that no environment shows it. */
export const FILE_FORMS: ReadonlyMap<string, string> = new Map(
  Object.entries<Setting<unknown>>(SETTINGS).flatMap(([key, { secret }]) =>
    secret ? [[nameOf(key), `${nameOf(key)}_FILE`]] : [],
  ),
);

/** All names under which these settings may be written. */
export function namesOf(keys: readonly string[]): string[] {
  return keys.map(nameOf).flatMap((name) => [name, FILE_FORMS.get(name) ?? []].flat());
}

/** All settings as help and the documents show them; the first one names the file that may hold the others. */
export function describeSettings() {
  const config: Setting<unknown> = {
    kind: file("a file"),
    about: "A file of NAME=value lines with these names; the environment beats it, and a flag beats both.",
  };
  return Object.entries<Setting<unknown>>({ config, ...SETTINGS }).flatMap(([key, setting]) => {
    const name = nameOf(key);
    const fileForm = FILE_FORMS.get(name);
    if (fileForm === undefined) return [described(name, setting)];
    const about = `The file with the value of ${name}, which is then left out. It is read at start.`;
    return [described(name, setting), described(fileForm, { kind: file("a file"), about })];
  });
}

function described(name: string, { kind, default: usual = kind.usual ?? "", about }: Setting<unknown>) {
  const { placeholder, bound } = kind;
  return { name, flag: `--${flagOf(name)}`, placeholder, default: usual, bound, about };
}

/** The flag of a setting, without its dashes: `queue-max` for `ROWLOCK_QUEUE_MAX`. */
export function flagOf(name: string): string {
  return name.slice(PREFIX.length).toLowerCase().replaceAll("_", "-");
}
