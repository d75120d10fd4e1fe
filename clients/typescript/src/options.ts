// The options of `connect` and of a lock, with their defaults. All times are milliseconds.

import { isIP } from "node:net";
import { hostname } from "node:os";
import type { WantedLock } from "./also.ts";
import type { WaitCause } from "./history.ts";
import { hostOf } from "./machine.ts";
import type { Mode } from "./mode.ts";
import type { OpenTelemetryApi } from "./open-telemetry.ts";
import type { RecordOptions } from "./records.ts";
import { checkToken, refuseTokenInPlaintext, type TokenSource } from "./token-source.ts";

/** Without end. */
export type Forever = "forever";

/** Text in PEM, or a file that contains it, which the client reads again for each new connection. */
export type Pem = string | Buffer | { readonly file: string };

export interface TlsOptions {
  /** Certificates of the authorities to trust; unset: those that Node trusts. */
  readonly ca?: Pem;
  /** The client's own certificate, if the server asks for one; it needs `key`. */
  readonly cert?: Pem;
  readonly key?: Pem;
  /** The name in the server's certificate, if it differs from the address; not an IP address. */
  readonly serverName?: string;
}

/** Headers of all calls of a connection, by name: gRPC metadata. */
export type Headers = Readonly<Record<string, string>>;

/** A connection that opened or ended, for a log. */
export type ConnectionEvent =
  | {
      readonly kind: "connected";
      readonly address: string;
      /** session: all calls over one stream; unary: a call of its own for each, as sessions are refused. */
      readonly via: "session" | "unary";
      /** The server's name in its own log; empty if not known. */
      readonly replica: string;
    }
  | { readonly kind: "disconnected"; readonly address: string; readonly error: Error };

export type LogLevel = "debug" | "info" | "warn" | "error";

/** What a line of the log is about, for programs. It contains no id of a lease and no token. */
export interface LogFields {
  /** The name of the lock. */
  readonly lock?: string;
  /** The fencing token of the lease: a string above 2^53, as after a fail-over of the database. */
  readonly fencingToken?: number | string;
  /** The reason of the error, such as SHUTTING_DOWN, or how the lease ended, such as `expired`. */
  readonly reason?: string;
  readonly address?: string;
  readonly via?: "session" | "unary";
  readonly replica?: string;
}

/** The options of `connect`. All times are milliseconds, above 0 and at most 24 days, or Infinity. */
export interface ConnectOptions {
  /** `host:port` of each server, in the order in which the client tries them. */
  readonly addresses: string | readonly string[];
  /** Shown to people who look at a lock; `hostname:pid` by default. */
  readonly owner?: string;
  /** Labels of all claims, also for people who look at a lock. */
  readonly labels?: Readonly<Record<string, string>>;
  /** true: trust the authorities that Node trusts. Unset: plain text. */
  readonly tls?: boolean | TlsOptions;
  /** By which a server knows who calls: sent as `authorization: Bearer TOKEN`. It needs `tls`, except within a machine. */
  readonly token?: TokenSource;
  /** true: send the token without `tls`, as something else protects the connection, such as a proxy on this machine. */
  readonly allowTokenInPlaintext?: boolean;
  /** Sent with each new connection, for a proxy or an authenticator before the server; a function is called for each. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
  /**
   * How long to wait for `headers` and `token`, and then for a server's first answer, before the client tries the next address;
   * 3,000 by default.
   */
  readonly connectTimeout?: number;
  /** How long a call may have no answer of any server before it fails; 30,000 by default. */
  readonly giveUpAfter?: number;
  /** How long the client keeps a connection open that it does not need; 300,000 by default. */
  readonly idleAfter?: number;
  /** Called with each connection that opens or ends. */
  readonly onConnection?: (event: ConnectionEvent) => void;
  /**
   * Called with what an operator of the program should know, such as a lost lock. By default warnings, errors and long
   * waits go to `console.warn`.
   */
  readonly log?: (level: LogLevel, message: string, fields: LogFields) => void;
  /** After how long a wait in a queue is explained: in the log, and to `onWaiting`; 10,000 by default. */
  readonly explainAfter?: number;
  /**
   * true: at SIGTERM and SIGINT close the client, which releases its locks, and then end the process by that signal,
   * unless the program listens for it itself.
   */
  readonly releaseOnExit?: boolean;
  /**
   * The package `@opentelemetry/api`, for spans and metrics; `false`: none. Unset: the package that the program has, if
   * the program has set up OpenTelemetry with it.
   */
  readonly openTelemetry?: OpenTelemetryApi | false;
}

/** A place in the queue. */
export interface Place {
  /** The id of this place, for `explainWait`: a secret, as whoever knows it can give the place up. */
  readonly ticketId: string;
  /** Waiters before this one, at the same pool if it waits at one. */
  readonly ahead: number;
  /** Permits that the waiters before this one ask for. */
  readonly permitsAhead: number;
  /** Waiters in the whole queue, or at the pool, this one included. */
  readonly queueLength: number;
  /** How long this one has waited. */
  readonly waitedMs: number;
  /** How long the lock's rate alone keeps it waiting; unset: the lock has no rate, or the server does not say. */
  readonly rateWaitMs?: number;
  /** The pattern of the pool at which it waits, as it has its own lock; unset: it waits at none that the caller may see. */
  readonly pool?: string;
  /** Of a request for several locks: the one at which most waiters are before it. The numbers are of this lock. */
  readonly waitsFor?: string;
}

/** A wait that takes long, or that only this client itself can end. */
export interface Waiting {
  /** The name of the lock; of several, the first. */
  readonly name: string;
  readonly waitedMs: number;
  readonly place: Place;
  /** Why it waits, in one line for people. Its wording may change. */
  readonly summary: string;
  /** The same for programs; empty if the server does not say. */
  readonly causes: readonly WaitCause[];
  /** Whether this client itself holds the lock, or one of several. Locks are not reentrant. */
  readonly heldByYou: boolean;
}

/** The options of a lock. All times are milliseconds. */
export interface LockOptions extends RecordOptions {
  /** The longest wait; 0: do not wait. "forever" by default. */
  readonly wait?: number | Forever;
  /** Time to live of the lease; 30,000 by default. The client renews the lease after each third of it. */
  readonly ttl?: number | Forever;
  /** How many permits to take, all or none; 1 by default. */
  readonly permits?: number;
  /** How to hold the lock; "permit" by default. */
  readonly mode?: Mode;
  /**
   * Up to 7 further locks of the same claim, which gets all or none: one lease, one release, and a fencing token for each.
   * While it waits for one of them it holds none, but nobody passes it where it is first: bound `wait`.
   */
  readonly also?: readonly WantedLock[];
  /**
   * Queued as if it had come so much earlier, as far as the lock's queue rules allow it; takes the right `head_start`. 0 by default.
   * Not together with `also`.
   */
  readonly headStart?: number;
  /** Cancels the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each new place in the queue. An exception that it throws ends the wait, which rejects with it. */
  readonly onPosition?: (place: Place) => void;
  /** The shortest time between two calls of `onPosition`; 1,000 by default. */
  readonly positionInterval?: number;
  /**
   * Called when the wait has taken `explainAfter`, and then once a minute; and at once if the work that asks runs under
   * this lock itself, in \`withLock\`. An exception that it throws ends the wait, which rejects with it.
   */
  readonly onWaiting?: (waiting: Waiting) => void;
  /** The owner of this claim; by default that of the client. */
  readonly owner?: string;
  /** Labels of this claim, in addition to those of the client. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * The same id always means the same claim: a call that repeats it gets the same lease or place, so a retry is safe.
   * Default: a new id for each call.
   */
  readonly requestId?: string;
  /**
   * How long before the lease may end the client counts it as lost: the time that the work has to stop. By default a
   * tenth of the ttl, at most 2,000. It must be less than half of the ttl.
   */
  readonly margin?: number;
}

export const TTL_MS = 30_000;
/** The longest time of a Node timer. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const MARGIN_SHARE = 1 / 10;
const MARGIN_MS_MAX = 2_000;

export interface Settings extends Omit<ConnectOptions, "addresses"> {
  readonly addresses: readonly string[];
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly connectTimeout: number;
  readonly giveUpAfter: number;
  readonly idleAfter: number;
  readonly explainAfter: number;
}

/** Returns the settings of options that `checkOptions` has taken; throws a RangeError if some do not fit together. */
export function settingsOf(options: ConnectOptions): Settings {
  const addresses = [options.addresses].flat().map((address) => address.trim());
  const { tls } = options;
  // Node does not accept an IP address as the name of a TLS server.
  const unnamed = addresses.find((address) => isIP(hostOf(address)) !== 0);
  if (tls && unnamed !== undefined && (tls === true || tls.serverName === undefined))
    throw new RangeError(
      `addresses: with TLS, use the name in the certificate instead of ${unnamed}, or set tls.serverName`,
    );
  if (typeof tls === "object" && isIP(tls.serverName ?? "") !== 0)
    throw new RangeError(`tls.serverName: use the name in the certificate instead of ${tls.serverName}`);
  const { token, allowTokenInPlaintext, headers } = options;
  if (token !== undefined && !tls && !allowTokenInPlaintext) refuseTokenInPlaintext(addresses);
  if (typeof token === "string") checkToken(token);
  if (token !== undefined && typeof headers === "object" && hasAuthorization(headers))
    throw new RangeError("headers: leave authorization out, as the token is sent in it");
  const {
    connectTimeout = 3_000,
    giveUpAfter = 30_000,
    idleAfter = 300_000,
    explainAfter = 10_000,
  } = options;
  checkMs("connectTimeout", connectTimeout);
  checkMs("giveUpAfter", giveUpAfter);
  checkMs("idleAfter", idleAfter);
  checkMs("explainAfter", explainAfter);
  const { owner = `${hostname()}:${process.pid}`, labels = {} } = options;
  return { ...options, addresses, owner, labels, connectTimeout, giveUpAfter, idleAfter, explainAfter };
}

/** Returns the margin in milliseconds; throws a RangeError if it cannot work. */
export function marginOf({ ttl = TTL_MS, margin }: Pick<LockOptions, "ttl" | "margin">): number {
  if (ttl === "forever") return 0;
  if (margin === undefined) return Math.min(ttl * MARGIN_SHARE, MARGIN_MS_MAX);
  if (!(margin >= 0 && margin < ttl / 2))
    throw new RangeError(`margin: ${margin} ms must be less than half of the ttl of ${ttl} ms`);
  return margin;
}

function hasAuthorization(headers: Headers): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}

function checkMs(name: string, ms: number): void {
  if (!(ms > 0 && (ms <= TIMER_MS_MAX || ms === Number.POSITIVE_INFINITY)))
    throw new RangeError(
      `${name}: ${ms} must be a number of milliseconds above 0, at most 24 days, or Infinity`,
    );
}
