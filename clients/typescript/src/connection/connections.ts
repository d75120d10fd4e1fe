// Keeps one connection open while it is needed, and knows nothing of the calls in it. It connects to the first server
// that answers, and to another one when the connection is lost or its server stops. A connection is a session, or one
// of unary calls if sessions are refused.

import { backoffMs } from "../backoff.ts";
import { openChannel } from "../channels.ts";
import type { Clock } from "../clock.ts";
import { type Diagnosis, inWords, OTHER_SERVICE } from "../diagnosis.ts";
import type { ConnectionEvent, Headers, Settings } from "../options.ts";
import { type HttpProxy, proxyFor, wayOf } from "../proxy.ts";
import { RowlockError } from "../rowlock-error.ts";
import { whyNoConnection } from "../tunnel.ts";
import type { Connection, News } from "./connection.ts";
import { mayChange, presentedHeaders } from "./presented.ts";
import { SessionConnection } from "./session-connection.ts";
import { UnaryConnection } from "./unary-connection.ts";

/** Request bytes that any server takes: the least that can be configured. It holds until a server reports its bound. */
const BYTES_MAX_AT_FIRST = 1_024;
/** A connection that ends sooner counts as a failure, so that its successor is not opened at once. */
const LASTED_MS = 1_000;
/** Another server would answer the same. */
const HOPELESS_CODES = ["INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED"];
/**
 * A server without sessions, or a proxy that lets no streams through, refuses a session with one of these codes; gRPC
 * derives some of them from HTTP. A Rowlock server sends them with a reason.
 */
const SESSION_REFUSED_CODES = ["UNIMPLEMENTED", "INTERNAL", "PERMISSION_DENIED", "UNKNOWN"];
/** How long a connection may be away before that is worth a line in a log. */
const TROUBLE_MS = 1_000;
/** How long what was found at the addresses counts. */
const FOUND_MS = 3_000;
/** How long a proxy may take to answer. */
const PROXY_MS_MAX = 3_000;
/** How long closing an idle connection may take. */
const CLOSE_WITHIN_MS = 1_000;

export interface ConnectionsOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Whether a lease is held or a call is open. */
  readonly isNeeded: () => boolean;
  /** A connection has begun: it takes commands, but its server has not answered yet. */
  readonly onBegun: (connection: Connection) => void;
  readonly onNews: (connection: Connection, news: News, basisMs: number) => void;
  /** The current connection is no longer in use: it has ended, or its server stops and answers may still come. */
  readonly onLeaving: (connection: Connection, error: RowlockError) => void;
  /** A connection has ended: no more answers come from it. */
  readonly onEnded: (connection: Connection, error: RowlockError) => void;
  /**
   * Every server would answer with this error; if `mayChange`, only until the source of the credentials returns others.
   */
  readonly onHopeless: (error: RowlockError, mayChange: boolean) => void;
  /** Finds out what is at the addresses. Unset: nobody looks. */
  readonly diagnose?: () => Promise<readonly Diagnosis[]>;
  /** There has been no connection for a while although one is needed; called once until there is one again. */
  readonly onTrouble?: (error: RowlockError) => void;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  /** All connections that have not ended: the current one, and those whose servers stop. */
  readonly #all = new Set<Connection>();
  #current: Connection | undefined;
  #isOpening = false;
  /** The kind of the next connection. */
  #via: Connection["via"] = "session";
  #timer: NodeJS.Timeout | undefined;
  #openTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #wasNeeded = false;
  #address = 0;
  #failures = 0;
  /** How many tries in a row have been refused for what this client presents. */
  #refusals = 0;
  #bytesMax = BYTES_MAX_AT_FIRST;
  #openedMs = 0;
  #isClosed = false;
  #troubleTimer: NodeJS.Timeout | undefined;
  /** Looks at the addresses; the next connection waits for it. */
  #looking: Promise<void> | undefined;
  #foundMs = Number.NEGATIVE_INFINITY;
  /** The addresses whose servers have answered last that they have no such method. */
  readonly #foreign = new Set<string>();
  /** Why the last connection ended, or could not be opened. */
  lastError: RowlockError | undefined;
  /** What was found at the addresses after all of them had failed; empty while there is a connection. */
  diagnoses: readonly Diagnosis[] = [];

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** The current connection, if its server has answered. */
  get open(): Connection | undefined {
    return this.#current?.opened && this.#current;
  }

  /** Opens a connection, unless there is one or one is being opened. */
  need(): void {
    this.#wasNeeded = true;
    if (this.#current || this.#timer || this.#isOpening || this.#isClosed) return;
    void this.#openNext();
  }

  /**
   * Moves to another server, as this one answers but fails the renewals. It stays if there is only one server, or if
   * the connection is still new.
   */
  leave(error: RowlockError): void {
    const connection = this.#current;
    if (!connection || !this.#hasLasted(connection) || this.#options.settings.addresses.length < 2) return;
    connection.destroy();
    this.#ended(connection, error);
  }

  /** Closes all connections gracefully, within `withinMs`. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#openTimer);
    clearTimeout(this.#troubleTimer);
    clearInterval(this.#idleTimer);
    const all = [...this.#all];
    this.#all.clear();
    this.#current = undefined;
    await Promise.all(all.map((one) => (one.opened ? one.close(withinMs) : one.destroy())));
  }

  async #openNext(): Promise<void> {
    const { addresses, tls, token, owner, labels, connectTimeout } = this.#options.settings;
    const address = addresses[this.#address % addresses.length] as string;
    this.#isOpening = true;
    if (this.#looking) await this.#looking;
    if (this.#isClosed) return;
    let headers: Headers;
    const proxy = await proxyFor(address, Boolean(tls));
    const fault = proxy && (await this.#faultOf(proxy, address));
    if (this.#isClosed) return;
    if (fault !== undefined) {
      this.#isOpening = false;
      this.#next(new RowlockError("UNKNOWN", "UNAVAILABLE", `${address}: ${fault}.`), false);
      return;
    }
    const way = wayOf(proxy);
    try {
      headers = await this.#headers();
    } catch (error) {
      this.#isOpening = false;
      this.#failedToOpen(RowlockError.of(error));
      return;
    }
    this.#isOpening = false;
    if (this.#isClosed) return;
    const common = {
      address,
      owner,
      labels,
      clock: this.#options.clock,
      onNews: (news: News, basisMs: number) => this.#heard(connection, news, basisMs),
      onEnded: (error: RowlockError) => this.#ended(connection, error),
    };
    let connection: Connection;
    try {
      connection =
        this.#via === "session"
          ? new SessionConnection({
              ...common,
              channel: openChannel(address, tls, way),
              headers,
              bytesMax: this.#bytesMax,
            })
          : new UnaryConnection({ ...common, tls, headers, token, way });
    } catch (error) {
      this.#failedToOpen(RowlockError.of(error));
      return;
    }
    this.#all.add(connection);
    this.#current = connection;
    this.#ifLate(() => {
      connection.destroy();
      const message = `${address} did not answer within ${connectTimeout} ms.`;
      this.#ended(connection, new RowlockError("UNKNOWN", "UNAVAILABLE", message));
    });
    this.#options.onBegun(connection);
  }

  /** Says why the proxy gives no connection; undefined: it does, or a server has answered through it lately. */
  async #faultOf(proxy: HttpProxy, address: string): Promise<string | undefined> {
    if (this.#failures === 0 && this.#openedMs > 0) return undefined;
    return await whyNoConnection(proxy, address, PROXY_MS_MAX);
  }

  #failedToOpen(error: RowlockError): void {
    this.#next(error, false, false);
    this.#refused(error);
  }

  /** Rejects with a RowlockError; if the headers are only late, with UNAVAILABLE, so that the next try asks again. */
  async #headers(): Promise<Headers> {
    const { settings } = this.#options;
    const { headers, token, connectTimeout } = settings;
    if (typeof headers !== "function" && token === undefined) return headers ?? {};
    const late = Promise.withResolvers<never>();
    this.#ifLate(() => {
      const message = `${typeof headers === "function" ? "The headers function" : "The token's source"} did not return within ${connectTimeout} ms.`;
      late.reject(new RowlockError("UNKNOWN", "UNAVAILABLE", message));
    });
    try {
      return await Promise.race([presentedHeaders(settings), late.promise]);
    } finally {
      clearTimeout(this.#openTimer);
    }
  }

  #ifLate(run: () => void): void {
    const { connectTimeout } = this.#options.settings;
    // A timer would take Infinity as 0.
    if (connectTimeout < Number.POSITIVE_INFINITY) this.#openTimer = setTimeout(run, connectTimeout);
  }

  #heard(connection: Connection, news: News, basisMs: number): void {
    const isCurrent = connection === this.#current;
    if (news.opened && isCurrent) {
      clearTimeout(this.#openTimer);
      this.#outOfTrouble();
      this.#refusals = 0;
      if (connection instanceof SessionConnection) this.#bytesMax = connection.bytesMax;
      this.#openedMs = this.#options.clock.now();
      const { address, via, opened } = connection;
      const { idleAfter } = this.#options.settings;
      if (idleAfter < Number.POSITIVE_INFINITY)
        this.#idleTimer = setInterval(() => this.#closeIfIdle(connection), idleAfter);
      this.#notify({ kind: "connected", address, via, replica: opened?.replica ?? "" });
    }
    if (news.goingAway && isCurrent) {
      const error = RowlockError.stopping(connection.address);
      this.#next(error, this.#hasLasted(connection));
      this.#left(connection, error);
    }
    this.#options.onNews(connection, news, basisMs);
  }

  #ended(connection: Connection, error: RowlockError): void {
    if (!this.#all.delete(connection)) return;
    if (error.code === "UNIMPLEMENTED") this.#foreign.add(connection.address);
    else this.#foreign.delete(connection.address);
    const wasCurrent = connection === this.#current;
    const hasNoSessions = !connection.opened && connection.via === "session" && refusesSessions(error);
    this.#notify({ kind: "disconnected", address: connection.address, error });
    if (wasCurrent) {
      if (hasNoSessions) this.#tryUnary(error);
      else this.#next(error, this.#hasLasted(connection));
      this.#left(connection, error);
    }
    this.#options.onEnded(connection, error);
    if (wasCurrent && !connection.opened && !hasNoSessions) this.#refused(error);
  }

  /**
   * Takes a failed try to connect: reports it if the next try would fail in the same way. Credentials may have changed
   * since they were read, so at their first refusal the next try first reads them again.
   */
  #refused(error: RowlockError): void {
    const { isOfCredentials, code, reason } = error;
    const canChange = isOfCredentials && mayChange(this.#options.settings);
    if (isOfCredentials) this.#refusals += 1;
    if (canChange && this.#refusals === 1) return;
    if (HOPELESS_CODES.includes(code) || reason === "MESSAGE_TOO_LARGE")
      this.#options.onHopeless(error, canChange);
  }

  /** Closes the connection if nobody has needed it since the last check. The next call opens another one. */
  #closeIfIdle(connection: Connection): void {
    const isIdle = !this.#wasNeeded && !this.#options.isNeeded();
    this.#wasNeeded = false;
    if (!isIdle) return;
    const error = new RowlockError("CLOSED", "CANCELLED", "The client closed the idle connection.");
    this.#via = "session";
    this.#left(connection, error);
    this.#notify({ kind: "disconnected", address: connection.address, error });
    void connection.close(CLOSE_WITHIN_MS).then(() => this.#all.delete(connection));
  }

  /** Must follow `#openIn`, if that is called at all, as the listener asks for a connection at once. */
  #left(connection: Connection, error: RowlockError): void {
    this.#current = undefined;
    clearTimeout(this.#openTimer);
    clearInterval(this.#idleTimer);
    this.#options.onLeaving(connection, error);
  }

  /** Tries the next server: at once, or after a pause when all servers have failed in turn. */
  #next(error: RowlockError, hasLasted: boolean, wasTried = true): void {
    const { addresses } = this.#options.settings;
    this.#failures = hasLasted ? 0 : this.#failures + 1;
    this.#address = (this.#address + 1) % addresses.length;
    const rounds = this.#failures / addresses.length;
    const hasGoneRound = this.#failures > 0 && Number.isInteger(rounds);
    if (wasTried && hasGoneRound && error.reason === "UNKNOWN" && !HOPELESS_CODES.includes(error.code))
      this.#looking = this.#look();
    this.#inTrouble();
    this.#openIn(hasGoneRound ? backoffMs(rounds) : 0, "session", error);
  }

  /** Looks at the addresses, unless it has done so just now, and reports it if no waiting helps. */
  async #look(): Promise<void> {
    const { diagnose, clock, onHopeless } = this.#options;
    if (!diagnose) return;
    const isKnown = clock.now() - this.#foundMs < FOUND_MS;
    const found = isKnown ? await this.diagnoses : await diagnose().catch(() => []);
    const diagnoses = found.map((each) =>
      each.kind === "silent" && this.#foreign.has(each.address) ? { ...each, ...OTHER_SERVICE } : each,
    );
    this.#looking = undefined;
    if (this.#isClosed || this.open) return;
    this.diagnoses = diagnoses;
    if (!isKnown) this.#foundMs = clock.now();
    const error = RowlockError.noServer(`No Rowlock server answers.${inWords(diagnoses)}`, diagnoses);
    if (error.isHopeless) onHopeless(error, true);
  }

  #inTrouble(): void {
    const { onTrouble, isNeeded } = this.#options;
    if (this.#troubleTimer || this.#isClosed || !onTrouble) return;
    this.#troubleTimer = setTimeout(() => {
      const why = inWords(this.diagnoses) || ` ${this.lastError?.message}`;
      if (isNeeded())
        onTrouble(RowlockError.noServer(`No server answers; the client tries again.${why}`, this.diagnoses));
      else this.#troubleTimer = undefined;
    }, TROUBLE_MS).unref();
  }

  #outOfTrouble(): void {
    clearTimeout(this.#troubleTimer);
    this.#troubleTimer = undefined;
    this.diagnoses = [];
    this.#foundMs = Number.NEGATIVE_INFINITY;
  }

  /** Tries the same server at once, with unary calls. */
  #tryUnary(error: RowlockError): void {
    this.#openIn(0, "unary", error);
  }

  #openIn(pauseMs: number, via: Connection["via"], error: RowlockError): void {
    this.lastError = error;
    this.#via = via;
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#options.isNeeded()) this.need();
    }, pauseMs);
  }

  #hasLasted({ opened }: Connection): boolean {
    return opened !== undefined && this.#options.clock.now() - this.#openedMs >= LASTED_MS;
  }

  #notify(event: ConnectionEvent): void {
    this.#options.settings.onConnection?.(event);
  }
}

function refusesSessions({ reason, code }: RowlockError): boolean {
  return reason === "UNKNOWN" && SESSION_REFUSED_CODES.includes(code);
}
