// What the server knows of each connection: whether a caller was identified on it, how often that failed, by which
// certificates its client was let in, and how old it is. Ends in good order one on which calls fail again and again, or
// that has reached an age: an honest client opens another one, and goes on. grpc-js's own option for the age would cut
// sessions off in mid-stream. Looks at no call itself.

import { constants, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type Certified, chainOf, hasRevoked } from "../config/revoked-certificates.ts";
import { Allowance } from "../core/allowance.ts";
import * as bounds from "./grpc-bounds.ts";

export function peerOf(socket: Pick<Socket, "remoteAddress" | "remotePort"> | undefined): string {
  return `${socket?.remoteAddress}:${socket?.remotePort}`;
}

const LAST_STREAM_ID = 2 ** 31 - 1;

/** Hears whether callers were identified, by their peers as in `getPeer`. */
export interface Callers {
  known(peer: string): void;
  failed(peer: string): void;
}

export interface StandingOptions {
  readonly openMax: number;
  readonly ageMsMax?: number | null;
  readonly finishMs?: number | undefined;
  /** Lists of revoked certificates; null or unset: there are none. */
  readonly crls?: () => readonly string[] | null | undefined;
  /** A connection with known callers is ended: what does not end by itself on it is to go on over another one. */
  readonly onLeaving?: (peer: string) => void;
  readonly onEnded?: (peer: string) => void;
}

interface Connection {
  readonly session: ServerHttp2Session;
  readonly peer: string;
  readonly address: string | undefined;
  readonly chain: readonly Certified[];
  readonly failures: Allowance;
  isKnown: boolean;
  isEnding: boolean;
}

export class Standing implements Callers {
  readonly #options: StandingOptions;
  readonly #byPeer = new Map<string, Connection>();
  readonly #bySession = new WeakMap<object, Connection>();

  constructor(options: StandingOptions) {
    this.#options = options;
  }

  readonly opened = (session: ServerHttp2Session): void => {
    const { crls, ageMsMax = null } = this.#options;
    const lists = crls?.();
    // Its handshake may have begun before the list that names it was in force.
    const chain = lists && !session.destroyed ? shownChain(session) : [];
    if (!chain || hasRevoked(chain, lists ?? [])) {
      session.destroy();
      return;
    }
    const peer = peerOf(session.socket);
    const connection = {
      ...{ session, peer, address: session.socket.remoteAddress, chain, failures: new Allowance() },
      ...{ isKnown: false, isEnding: false },
    };
    this.#byPeer.set(peer, connection);
    this.#bySession.set(session, connection);
    if (ageMsMax !== null) this.#endWhenOld(connection, ageMsMax);
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

  knownOn(session: object): void {
    const connection = this.#bySession.get(session);
    if (connection) this.known(connection.peer);
  }

  /** Whether nobody was identified on the connection, or its calls come to nothing. */
  isPoor(session: object): boolean {
    const connection = this.#bySession.get(session);
    if (!connection?.isKnown) return true;
    return connection.failures.taken(performance.now()) > bounds.FAILED_LATELY;
  }

  peerOf(session: object): string | undefined {
    return this.#bySession.get(session)?.peer;
  }

  addressOf(session: object): string | undefined {
    return this.#bySession.get(session)?.address;
  }

  failed(peer: string): void {
    this.#failed(this.#byPeer.get(peer));
  }

  /** A call has failed, or has come to nothing, on a connection. */
  failedOn(session: object): void {
    this.#failed(this.#bySession.get(session));
  }

  isKnown(session: object): boolean {
    return this.#bySession.get(session)?.isKnown ?? false;
  }

  isEnding(session: object): boolean {
    return this.#bySession.get(session)?.isEnding ?? false;
  }

  /** Ends the connection of a stranger at once: whatever else was read of it is not looked at. */
  cutOff(session: object): void {
    const connection = this.#bySession.get(session);
    if (!connection || connection.session.destroyed) return;
    connection.isEnding = true;
    connection.session.destroy();
    this.#ended(connection);
  }

  /** Ends the connections whose clients these lists name; their answers leave first. Returns their peers. */
  endRevoked(crls: readonly string[]): readonly string[] {
    const revoked = [...this.#byPeer.values()].filter(
      ({ session, chain }) => !session.destroyed && hasRevoked(chain, crls),
    );
    for (const { session } of revoked) {
      session.close();
      destroyIn(session, bounds.ANSWER_LEAVES_MS);
    }
    return revoked.map(({ peer }) => peer);
  }

  #endWhenOld({ session, peer }: Connection, ageMsMax: number): void {
    const { finishMs = bounds.FINISH_MS, onLeaving } = this.#options;
    // Clients that came together, as after a restart, must not come again together.
    const ageMs = ageMsMax * (1 + bounds.AGE_JITTER * (Math.random() * 2 - 1));
    const timer = setTimeout(() => {
      // `close` has not been reported yet.
      if (session.destroyed || session.closed) return;
      session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID, Buffer.from("max_age"));
      // From now on the transport refuses new calls in a way that makes clients repeat them elsewhere.
      session.close();
      destroyIn(session, finishMs);
      onLeaving?.(peer);
    }, ageMs).unref();
    session.once("close", () => clearTimeout(timer));
  }

  #ended({ peer, isKnown }: Connection): void {
    const { onLeaving, onEnded } = this.#options;
    if (isKnown) onLeaving?.(peer);
    else onEnded?.(peer);
  }

  #failed(connection: Connection | undefined): void {
    if (!connection) return;
    const rate = connection.isKnown ? bounds.FAILED_CALLS.known : bounds.FAILED_CALLS.unknown;
    if (connection.isEnding || connection.failures.take(1, rate, performance.now()) === 1) return;
    connection.isEnding = true;
    const { session } = connection;
    if (session.destroyed || session.closed) return;
    // Not closed yet: the transport would refuse new calls by itself, and read as many of them as come.
    session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID, Buffer.from("calls_fail"));
    destroyIn(session, connection.isKnown ? bounds.LEAVES_MS.known : bounds.LEAVES_MS.unknown);
    this.#ended(connection);
  }
}

export function streamsAtFirst(openMax: number): number {
  return Math.min(openMax, bounds.UNKNOWN_STREAMS_MAX);
}

function destroyIn(session: ServerHttp2Session, ms: number): void {
  const timer = setTimeout(() => session.destroy(), ms).unref();
  session.once("close", () => clearTimeout(timer));
}

/** The certificates by which the client was let in; null: those that it has shown do not belong together. */
function shownChain(session: ServerHttp2Session): readonly Certified[] | null {
  const raws: Buffer[] = [];
  // With the authorities that only the server has. The last one may be its own issuer.
  let shown = (session.socket as TLSSocket).getPeerCertificate?.(true);
  while (shown?.raw && !raws.at(-1)?.equals(shown.raw)) {
    raws.push(shown.raw);
    shown = shown.issuerCertificate;
  }
  return chainOf(raws);
}
