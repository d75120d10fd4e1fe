// What the server knows of each connection: whether a caller was identified on it, and how often that failed. Until
// then, a connection may have few calls open. One on which calls fail again and again is ended in good order: an honest
// client opens another one, and goes on. Looks at no call itself.

import { constants, type ServerHttp2Session } from "node:http2";
import { Allowance } from "../core/allowance.ts";
import { FAILED_CALLS, FAILED_LATELY, LEAVES_MS, UNKNOWN_STREAMS_MAX } from "./grpc-bounds.ts";
import { peerOf } from "./peer.ts";

/** As grpc-js has it: all stream ids are below. */
const LAST_STREAM_ID = 2 ** 31 - 1;

/** Hears how calls turned out, by their peers as in `getPeer`. */
export interface Callers {
  /** A caller was identified. */
  known(peer: string): void;
  /** A call failed for who its caller is. */
  failed(peer: string): void;
}

export interface StandingOptions {
  /** Open calls on a connection whose caller is known, at most. */
  readonly openMax: number;
  /** A connection is ended because its calls fail. */
  readonly onEnded?: (peer: string, isKnown: boolean) => void;
  readonly nowMs?: () => number;
}

interface Connection {
  readonly session: ServerHttp2Session;
  readonly peer: string;
  readonly address: string | undefined;
  readonly failures: Allowance;
  isKnown: boolean;
  isEnding: boolean;
}

export class Standing implements Callers {
  readonly #options: StandingOptions;
  readonly #nowMs: () => number;
  readonly #byPeer = new Map<string, Connection>();
  readonly #bySession = new WeakMap<object, Connection>();

  constructor(options: StandingOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /** Hears of each connection when it speaks HTTP/2. */
  readonly opened = (session: ServerHttp2Session): void => {
    const peer = peerOf(session.socket);
    const connection = {
      ...{ session, peer, address: session.socket.remoteAddress, failures: new Allowance() },
      ...{ isKnown: false, isEnding: false },
    };
    this.#byPeer.set(peer, connection);
    this.#bySession.set(session, connection);
  };

  /** Hears of each connection that is closed. Returns whether it was good for something. */
  readonly closed = (peer: string): boolean => {
    const connection = this.#byPeer.get(peer);
    this.#byPeer.delete(peer);
    return connection?.isKnown === true && !connection.isEnding;
  };

  known(peer: string): void {
    const connection = this.#byPeer.get(peer);
    if (!connection || connection.isKnown) return;
    connection.isKnown = true;
    const { session } = connection;
    if (!session.destroyed && !session.closed)
      session.settings({ maxConcurrentStreams: this.#options.openMax });
  }

  /** As `known`, by the connection. */
  knownOn(session: object): void {
    const connection = this.#bySession.get(session);
    if (connection && !connection.isKnown) this.known(connection.peer);
  }

  /** Whether nobody was identified on the connection, or its calls come to nothing. */
  isPoor(session: object): boolean {
    const connection = this.#bySession.get(session);
    if (!connection?.isKnown) return true;
    return connection.failures.taken(this.#nowMs()) > FAILED_LATELY;
  }

  /** As in `getPeer`. */
  peerOf(session: object): string | undefined {
    return this.#bySession.get(session)?.peer;
  }

  addressOf(session: object): string | undefined {
    return this.#bySession.get(session)?.address;
  }

  failed(peer: string): void {
    const connection = this.#byPeer.get(peer);
    if (connection) this.#count(connection);
  }

  /** A call has failed, or has come to nothing, on a connection. */
  failedOn(session: object): void {
    const connection = this.#bySession.get(session);
    if (connection) this.#count(connection);
  }

  /** Whether a caller was identified on the connection. */
  isKnown(session: object): boolean {
    return this.#bySession.get(session)?.isKnown ?? false;
  }

  /** Whether the connection is being ended: nothing more is done for it. */
  isEnding(session: object): boolean {
    return this.#bySession.get(session)?.isEnding ?? false;
  }

  /** Ends the connection of a stranger at once: whatever else was read of it is not looked at. */
  cutOff(session: object): void {
    const connection = this.#bySession.get(session);
    if (!connection || connection.session.destroyed) return;
    connection.isEnding = true;
    connection.session.destroy();
    this.#options.onEnded?.(connection.peer, connection.isKnown);
  }

  #count(connection: Connection): void {
    const rate = connection.isKnown ? FAILED_CALLS.known : FAILED_CALLS.unknown;
    if (connection.isEnding || connection.failures.take(1, rate, this.#nowMs()) === 1) return;
    connection.isEnding = true;
    const { session } = connection;
    if (session.destroyed || session.closed) return;
    // Not closed yet: the transport would refuse new calls by itself, and read as many of them as come.
    session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID, Buffer.from("calls_fail"));
    const timer = setTimeout(
      () => session.destroy(),
      connection.isKnown ? LEAVES_MS.known : LEAVES_MS.unknown,
    );
    timer.unref();
    session.once("close", () => clearTimeout(timer));
    this.#options.onEnded?.(connection.peer, connection.isKnown);
  }
}

/** What a connection may have open before a caller was identified on it. */
export function streamsAtFirst(openMax: number): number {
  return Math.min(openMax, UNKNOWN_STREAMS_MAX);
}
