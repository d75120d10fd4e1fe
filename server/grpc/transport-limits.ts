// Limits of the transport for which grpc-js has no option: what one connection may do, and the answer to a message that is
// too large.

import type { Http2SecureServer, Http2Server, SecureServerOptions, ServerHttp2Session } from "node:http2";
import type { Server, ServerInterceptingCallInterface, ServerInterceptor } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { HANDSHAKE_MS, REFUSED_IN_A_ROW_MAX, RESETS_BURST_SHARE, RESETS_PER_SECOND } from "./grpc-bounds.ts";
import { statusOf } from "./messages/status.ts";

export interface ConnectionLimits {
  /** Calls that one connection may have open. */
  readonly openMax: number;
  /** Connections at once; others are closed as they come. */
  readonly connectionsMax: number;
  readonly handshakeMs?: number | undefined;
}

type Listener = Http2Server | Http2SecureServer;

/**
 * Bounds how many connections there are, how long each may be silent before it speaks HTTP/2, and what it may do before Node
 * ends it, with all calls on it. To be called before the server listens. grpc-js has no option for that, and passes none on
 * for a listener without TLS. What it gives to Node is one object of the server, and it makes listeners by one method, both
 * of which are private in its types. Should a later version keep them elsewhere, no server is made at all.
 */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const { openMax, connectionsMax, handshakeMs = HANDSHAKE_MS } = limits;
  const inner = server as unknown as {
    readonly commonServerOptions: SecureServerOptions;
    createHttp2Server(credentials: unknown): Listener;
  };
  Object.assign(inner.commonServerOptions, {
    streamResetBurst: RESETS_BURST_SHARE * openMax,
    streamResetRate: RESETS_PER_SECOND,
    maxSessionRejectedStreams: REFUSED_IN_A_ROW_MAX,
    // Of TLS, and of one that speaks TLS and then nothing that is known here.
    handshakeTimeout: handshakeMs,
    unknownProtocolTimeout: handshakeMs,
  } satisfies SecureServerOptions);
  const create = inner.createHttp2Server.bind(server);
  inner.createHttp2Server = (credentials) => {
    const listener = create(credentials);
    if (Number.isFinite(connectionsMax)) listener.maxConnections = connectionsMax;
    listener.on("session", (session) => endIfSilent(session, handshakeMs));
    return listener;
  };
}

/** Ends a connection of which no settings have come, which every client of HTTP/2 sends first. */
function endIfSilent(session: ServerHttp2Session, afterMs: number): void {
  let isHeard = false;
  // What came while this server itself was held up is read first.
  const timer = setTimeout(() => setImmediate(() => isHeard || session.destroy()), afterMs);
  timer.unref();
  session.once("remoteSettings", () => {
    isHeard = true;
    clearTimeout(timer);
  });
  session.once("close", () => clearTimeout(timer));
}

/**
 * Gives grpc-js's own answer to a message over the receive limit the reason that the contract promises. grpc-js sends it
 * from inside the call, past all interceptors, so the call's sendStatus itself is wrapped. Should a later version not go
 * through it, only the details are missing. To be the first interceptor: later ones may see a call that is wrapped already.
 */
export function explainReceiveLimit(receiveBytesMax: number): ServerInterceptor {
  return (_method, call) => {
    const send: ServerInterceptingCallInterface["sendStatus"] = call.sendStatus.bind(call);
    call.sendStatus = (sent) => {
      // Whatever this server itself answers brings its details along.
      const isBare = sent.code === status.RESOURCE_EXHAUSTED && !sent.metadata;
      send(isBare ? tooLarge(receiveBytesMax) : sent);
    };
    // An interceptor may return what it was given; the type asks for the class that wraps it.
    return call as ReturnType<ServerInterceptor>;
  };
}

function tooLarge(receiveBytesMax: number) {
  return statusOf(
    "MESSAGE_TOO_LARGE",
    `The message is larger than the ${receiveBytesMax} bytes that this server accepts.`,
    { metadata: { bytes_max: String(receiveBytesMax) } },
  );
}
