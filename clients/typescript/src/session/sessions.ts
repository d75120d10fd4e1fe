// Keeps one session open while it is needed: through the first server that answers, and through another one when a session is
// lost or its server stops. Knows nothing of what is asked for.

import type { SessionResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { backoffMs } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import type { ConnectionEvent, Headers, Settings } from "../options.ts";
import { RowlockError } from "../rowlock-error.ts";
import { openChannel } from "./channel.ts";
import { SessionStream } from "./session-stream.ts";

/** What any server takes, until one has said more: the least that can be configured. */
const BYTES_MAX_AT_FIRST = 1_024;
/** A session that does not last so long counts as a failure: its successor is not opened at once. */
const LASTED_MS = 1_000;
/** Another server would say the same. */
const HOPELESS_CODES = ["INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED"];

export interface SessionsOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Whether anything is held or asked for. */
  readonly isNeeded: () => boolean;
  /** A session begins; commands can be sent, but nothing was heard of the server yet. */
  readonly onBegun: (stream: SessionStream) => void;
  readonly onResponse: (stream: SessionStream, response: SessionResponse, basisMs: number) => void;
  /** The server stops: nothing is to be sent to it any more, but answers may still come. */
  readonly onLeaving: (stream: SessionStream) => void;
  readonly onEnded: (stream: SessionStream, error: RowlockError) => void;
  /** No server will have this client as it is. */
  readonly onHopeless: (error: RowlockError) => void;
}

export class Sessions {
  readonly #options: SessionsOptions;
  /** All that have not ended: the current one, and those whose servers stop. */
  readonly #streams = new Set<SessionStream>();
  #current: SessionStream | undefined;
  #isOpening = false;
  #timer: NodeJS.Timeout | undefined;
  #openTimer: NodeJS.Timeout | undefined;
  #address = 0;
  #failures = 0;
  #bytesMax = BYTES_MAX_AT_FIRST;
  #openedMs = 0;
  #isClosed = false;
  /** Why the last session has ended, or could not be had. */
  lastError: RowlockError | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Whether there is a session whose server has answered. */
  get isOpen(): boolean {
    return this.#current?.opened !== undefined;
  }

  /** Opens a session unless there is one. */
  need(): void {
    if (this.#current || this.#timer || this.#isOpening || this.#isClosed) return;
    void this.#open();
  }

  /** Tries another server, where there is one and this one had its time: it answers, but cannot do what is asked. */
  leave(error: RowlockError): void {
    const stream = this.#current;
    if (!stream || !this.#hasLasted(stream) || this.#options.settings.addresses.length < 2) return;
    stream.destroy();
    this.#ended(stream, error);
  }

  /** Closes all sessions in good order, within the time. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#openTimer);
    const streams = [...this.#streams];
    this.#streams.clear();
    this.#current = undefined;
    await Promise.all(streams.map((stream) => (stream.opened ? stream.close(withinMs) : stream.destroy())));
  }

  async #open(): Promise<void> {
    const { addresses, tls, metadata, owner, labels, connectTimeout } = this.#options.settings;
    const address = addresses[this.#address % addresses.length] as string;
    this.#isOpening = true;
    let headers: Headers;
    try {
      headers = (typeof metadata === "function" ? await metadata() : metadata) ?? {};
    } catch (error) {
      const message = `The metadata for a session could not be had: ${error}`;
      const failure = new RowlockError("UNKNOWN", "UNAUTHENTICATED", message, { cause: error });
      this.#isOpening = false;
      this.#next(failure, false);
      this.#options.onHopeless(failure);
      return;
    }
    this.#isOpening = false;
    if (this.#isClosed) return;
    const stream: SessionStream = new SessionStream({
      address,
      channel: (failed) => openChannel(address, tls, headers, failed),
      owner,
      labels,
      bytesMax: this.#bytesMax,
      clock: this.#options.clock,
      onResponse: (response, basisMs) => this.#take(stream, response, basisMs),
      onEnded: (error) => this.#ended(stream, error),
    });
    this.#streams.add(stream);
    this.#current = stream;
    this.#openTimer = setTimeout(() => {
      stream.destroy();
      const message = `${address} has not answered within ${connectTimeout} ms.`;
      this.#ended(stream, new RowlockError("UNKNOWN", "UNAVAILABLE", message));
    }, connectTimeout);
    this.#options.onBegun(stream);
  }

  #take(stream: SessionStream, response: SessionResponse, basisMs: number): void {
    if (response.opened && stream === this.#current) {
      clearTimeout(this.#openTimer);
      this.#bytesMax = stream.bytesMax;
      this.#openedMs = this.#options.clock.now();
      this.#tell({ kind: "connected", address: stream.address, replica: response.opened.replica });
    }
    if (response.goingAway && stream === this.#current) {
      this.#current = undefined;
      clearTimeout(this.#openTimer);
      this.#options.onLeaving(stream);
      this.#next(
        new RowlockError("SHUTTING_DOWN", "UNAVAILABLE", `${stream.address} is stopping.`),
        this.#hasLasted(stream),
      );
    }
    this.#options.onResponse(stream, response, basisMs);
  }

  #ended(stream: SessionStream, error: RowlockError): void {
    if (!this.#streams.delete(stream)) return;
    const wasCurrent = stream === this.#current;
    if (wasCurrent) {
      this.#current = undefined;
      clearTimeout(this.#openTimer);
    }
    this.#tell({ kind: "disconnected", address: stream.address, error });
    const isHopeless = HOPELESS_CODES.includes(error.code) || error.reason === "MESSAGE_TOO_LARGE";
    // First of all, as whoever is told asks for a session at once.
    if (wasCurrent) this.#next(error, this.#hasLasted(stream));
    this.#options.onEnded(stream, error);
    if (wasCurrent && isHopeless && !stream.opened) this.#options.onHopeless(error);
  }

  /** At once, unless all servers have failed in turn. */
  #next(error: RowlockError, hasLasted: boolean): void {
    const { settings, isNeeded } = this.#options;
    this.lastError = error;
    this.#failures = hasLasted ? 0 : this.#failures + 1;
    this.#address = (this.#address + 1) % settings.addresses.length;
    const rounds = this.#failures / settings.addresses.length;
    const pauseMs = this.#failures > 0 && Number.isInteger(rounds) ? backoffMs(rounds) : 0;
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (isNeeded()) this.need();
    }, pauseMs);
  }

  #hasLasted({ opened }: SessionStream): boolean {
    return opened !== undefined && this.#options.clock.now() - this.#openedMs >= LASTED_MS;
  }

  #tell(event: ConnectionEvent): void {
    this.#options.settings.onConnection?.(event);
  }
}
