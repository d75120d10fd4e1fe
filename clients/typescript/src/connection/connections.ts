// Keeps one connection open while it is needed: through the first server that answers, and through another one when it is lost
// or its server stops. By a session where it can be, and by calls of their own where sessions are refused. Knows nothing of what
// is asked for.

import { backoffMs } from "../backoff.ts";
import { openChannel } from "../channel.ts";
import type { Clock } from "../clock.ts";
import type { ConnectionEvent, Headers, Settings } from "../options.ts";
import { RowlockError } from "../rowlock-error.ts";
import type { Connection, News } from "./connection.ts";
import { SessionConnection } from "./session-connection.ts";
import { UnaryConnection } from "./unary-connection.ts";

/** What any server takes, until one has said more: the least that can be configured. */
const BYTES_MAX_AT_FIRST = 1_024;
/** A connection that does not last so long counts as a failure: its successor is not opened at once. */
const LASTED_MS = 1_000;
/** Another server would say the same. */
const HOPELESS_CODES = ["INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED"];
/**
 * What a server without sessions says to one, or a proxy that lets no streams through, by a status of HTTP for one; from a
 * server of ours these come with a reason.
 */
const NO_SESSIONS_CODES = ["UNIMPLEMENTED", "INTERNAL", "PERMISSION_DENIED", "UNKNOWN"];
/** What closing one that nobody needs any more may take. */
const CLOSE_WITHIN_MS = 1_000;

export interface ConnectionsOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Whether anything is held or asked for. */
  readonly isNeeded: () => boolean;
  /** A connection begins; commands can be given to it, but nothing was heard of the server yet. */
  readonly onBegun: (connection: Connection) => void;
  readonly onNews: (connection: Connection, news: News, basisMs: number) => void;
  /** It was the one in use and is so no more: its server stops, and answers may still come, or it has ended. */
  readonly onLeaving: (connection: Connection, error: RowlockError) => void;
  /** Nothing comes from it any more. */
  readonly onEnded: (connection: Connection, error: RowlockError) => void;
  /** No server will have this client as it is. */
  readonly onHopeless: (error: RowlockError) => void;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  /** All that have not ended: the current one, and those whose servers stop. */
  readonly #all = new Set<Connection>();
  #current: Connection | undefined;
  #isOpening = false;
  /** How the next one is opened. */
  #via: Connection["via"] = "session";
  #timer: NodeJS.Timeout | undefined;
  #openTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #wasNeeded = false;
  #address = 0;
  #failures = 0;
  #bytesMax = BYTES_MAX_AT_FIRST;
  #openedMs = 0;
  #isClosed = false;
  /** Why the last one has ended, or could not be had. */
  lastError: RowlockError | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** The one whose server has answered, if there is one. */
  get open(): Connection | undefined {
    return this.#current?.opened && this.#current;
  }

  /** Opens a connection unless there is one. */
  need(): void {
    this.#wasNeeded = true;
    if (this.#current || this.#timer || this.#isOpening || this.#isClosed) return;
    void this.#openNext();
  }

  /** Tries another server, where there is one and this one had its time: it answers, but cannot do what is asked. */
  leave(error: RowlockError): void {
    const connection = this.#current;
    if (!connection || !this.#hasLasted(connection) || this.#options.settings.addresses.length < 2) return;
    connection.destroy();
    this.#ended(connection, error);
  }

  /** Closes all in good order, within the time. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#openTimer);
    clearInterval(this.#idleTimer);
    const all = [...this.#all];
    this.#all.clear();
    this.#current = undefined;
    await Promise.all(all.map((one) => (one.opened ? one.close(withinMs) : one.destroy())));
  }

  async #openNext(): Promise<void> {
    const { addresses, tls, owner, labels, connectTimeout } = this.#options.settings;
    const address = addresses[this.#address % addresses.length] as string;
    this.#isOpening = true;
    let headers: Headers;
    try {
      headers = await this.#headers();
    } catch (error) {
      this.#isOpening = false;
      const failure = RowlockError.of(error);
      this.#next(failure, false);
      if (HOPELESS_CODES.includes(failure.code)) this.#options.onHopeless(failure);
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
    const connection: Connection =
      this.#via === "session"
        ? new SessionConnection({
            ...common,
            channel: openChannel(address, tls),
            headers,
            bytesMax: this.#bytesMax,
          })
        : new UnaryConnection({ ...common, tls, headers });
    this.#all.add(connection);
    this.#current = connection;
    this.#ifLate(() => {
      connection.destroy();
      const message = `${address} has not answered within ${connectTimeout} ms.`;
      this.#ended(connection, new RowlockError("UNKNOWN", "UNAVAILABLE", message));
    });
    this.#options.onBegun(connection);
  }

  /** Rejects with a RowlockError; one that has not come in time may do so with the next try. */
  async #headers(): Promise<Headers> {
    const { metadata, connectTimeout } = this.#options.settings;
    if (typeof metadata !== "function") return metadata ?? {};
    const late = Promise.withResolvers<never>();
    this.#ifLate(() => {
      const message = `The metadata for a connection has not come within ${connectTimeout} ms.`;
      late.reject(new RowlockError("UNKNOWN", "UNAVAILABLE", message));
    });
    const asked = (async () => await metadata())().catch((error: unknown) => {
      const message = `The metadata for a connection could not be had: ${error}`;
      throw new RowlockError("UNKNOWN", "UNAUTHENTICATED", message, { cause: error });
    });
    try {
      return (await Promise.race([asked, late.promise])) ?? {};
    } finally {
      clearTimeout(this.#openTimer);
    }
  }

  #ifLate(run: () => void): void {
    const { connectTimeout } = this.#options.settings;
    // What a timer takes for no time at all.
    if (connectTimeout < Number.POSITIVE_INFINITY) this.#openTimer = setTimeout(run, connectTimeout);
  }

  #heard(connection: Connection, news: News, basisMs: number): void {
    const isCurrent = connection === this.#current;
    if (news.opened && isCurrent) {
      clearTimeout(this.#openTimer);
      if (connection instanceof SessionConnection) this.#bytesMax = connection.bytesMax;
      this.#openedMs = this.#options.clock.now();
      const { address, via, opened } = connection;
      const { idleAfter } = this.#options.settings;
      if (idleAfter < Number.POSITIVE_INFINITY)
        this.#idleTimer = setInterval(() => this.#closeIfIdle(connection), idleAfter);
      this.#tell({ kind: "connected", address, via, replica: opened?.replica ?? "" });
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
    const wasCurrent = connection === this.#current;
    const hasNoSessions = !connection.opened && connection.via === "session" && refusesSessions(error);
    this.#tell({ kind: "disconnected", address: connection.address, error });
    if (wasCurrent) {
      if (hasNoSessions) this.#tryCalls(error);
      else this.#next(error, this.#hasLasted(connection));
      this.#left(connection, error);
    }
    this.#options.onEnded(connection, error);
    const isHopeless = HOPELESS_CODES.includes(error.code) || error.reason === "MESSAGE_TOO_LARGE";
    if (wasCurrent && isHopeless && !connection.opened && !hasNoSessions) this.#options.onHopeless(error);
  }

  /** If nobody has needed it between two looks. The next call opens another one. */
  #closeIfIdle(connection: Connection): void {
    const isIdle = !this.#wasNeeded && !this.#options.isNeeded();
    this.#wasNeeded = false;
    if (!isIdle) return;
    const error = new RowlockError("CLOSED", "CANCELLED", "It was closed, as nobody needed it.");
    this.#via = "session";
    this.#left(connection, error);
    this.#tell({ kind: "disconnected", address: connection.address, error });
    void connection.close(CLOSE_WITHIN_MS).then(() => this.#all.delete(connection));
  }

  /** After it was said when the next one is opened, as whoever is told asks for a connection at once. */
  #left(connection: Connection, error: RowlockError): void {
    this.#current = undefined;
    clearTimeout(this.#openTimer);
    clearInterval(this.#idleTimer);
    this.#options.onLeaving(connection, error);
  }

  /** At once, unless all servers have failed in turn. */
  #next(error: RowlockError, hasLasted: boolean): void {
    const { addresses } = this.#options.settings;
    this.#failures = hasLasted ? 0 : this.#failures + 1;
    this.#address = (this.#address + 1) % addresses.length;
    const rounds = this.#failures / addresses.length;
    const pauseMs = this.#failures > 0 && Number.isInteger(rounds) ? backoffMs(rounds) : 0;
    this.#openIn(pauseMs, "session", error);
  }

  /** At the same server, at once. */
  #tryCalls(error: RowlockError): void {
    this.#openIn(0, "calls", error);
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

  #tell(event: ConnectionEvent): void {
    this.#options.settings.onConnection?.(event);
  }
}

function refusesSessions({ reason, code }: RowlockError): boolean {
  return reason === "UNKNOWN" && NO_SESSIONS_CODES.includes(code);
}
