// Transport limits for which grpc-js has no option: what one connection may do, and the answer to a message that is
// too large.

import type * as http2 from "node:http2";
import {
  type Server,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from "@grpc/grpc-js";
import { endRequest } from "./arriving-requests.ts";
import type { FrontDoor } from "./front-door.ts";
import { HANDSHAKE_MS, REFUSED_IN_A_ROW_MAX, RESETS_BURST_SHARE, RESETS_PER_SECOND } from "./grpc-bounds.ts";
import { messageTooLarge } from "./messages/call-error.ts";
import { failureOf } from "./messages/status.ts";
import { type Standing, streamsAtFirst } from "./standing.ts";

export interface ConnectionLimits {
  readonly openMax: number;
  readonly connectionsMax: number;
  readonly handshakeMs?: number | undefined;
  readonly door: Pick<FrontDoor, "take">;
  readonly standing: Pick<Standing, "opened">;
  readonly onListener?: (listener: Listener) => void;
}

export type Listener = http2.Http2Server | http2.Http2SecureServer;

/**
 * Bounds the number of connections, how long each may stay silent before it speaks HTTP/2, and how much it may do before
 * Node ends it with all its calls. Call it before the server listens. grpc-js has no options for this, so this changes two
 * private members of it: the options object that it gives to Node, and the method that makes its listeners. If a later
 * version keeps them elsewhere, this throws, and no server is made.
 */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const { openMax, connectionsMax, handshakeMs = HANDSHAKE_MS, onListener } = limits;
  const inner = server as unknown as {
    readonly commonServerOptions: http2.SecureServerOptions;
    createHttp2Server(credentials: unknown): Listener;
  };
  const { settings } = inner.commonServerOptions;
  Object.assign(inner.commonServerOptions, {
    settings: { ...settings, maxConcurrentStreams: streamsAtFirst(openMax) },
    streamResetBurst: RESETS_BURST_SHARE * openMax,
    streamResetRate: RESETS_PER_SECOND,
    maxSessionRejectedStreams: REFUSED_IN_A_ROW_MAX,
    // For the TLS handshake, and for a connection that speaks TLS and then no known protocol.
    handshakeTimeout: handshakeMs,
    unknownProtocolTimeout: handshakeMs,
  } satisfies http2.SecureServerOptions);
  const create = inner.createHttp2Server.bind(server);
  inner.createHttp2Server = (credentials) => {
    const listener = create(credentials);
    if (Number.isFinite(connectionsMax)) listener.maxConnections = connectionsMax;
    listener.on("session", (session) => {
      limits.standing.opened(session);
      endIfSilent(session, handshakeMs);
    });
    onListener?.(listener);
    guard(listener, limits);
    return listener;
  };
}

/** grpc-js adds its own listener for calls, so this stands between it and the connections. */
function guard(listener: Listener, { door }: ConnectionLimits): void {
  const emit = listener.emit.bind(listener) as (...args: unknown[]) => boolean;
  listener.emit = ((...args: unknown[]) => {
    if (args[0] !== "stream") return emit(...args);
    const [, stream, headers, , raw] = args as [
      string,
      http2.ServerHttp2Stream,
      http2.IncomingHttpHeaders,
      number,
      string[],
    ];
    door.take(stream, headers, raw, () => void emit(...args));
    return true;
  }) as typeof listener.emit;
}

/**
 * Ends a connection whose settings have not arrived, or that has not acknowledged those of the server: every HTTP/2
 * client does both at once. Before that, the bounds in the settings do not hold.
 */
function endIfSilent(session: http2.ServerHttp2Session, afterMs: number): void {
  let isHeard = false;
  const awaited = new Set(["remoteSettings", "localSettings"]);
  // setImmediate: first reads what arrived while this server itself was held up.
  const timer = setTimeout(() => setImmediate(() => isHeard || session.destroy()), afterMs);
  timer.unref();
  for (const event of awaited) {
    session.once(event, () => {
      awaited.delete(event);
      if (awaited.size > 0) return;
      isHeard = true;
      clearTimeout(timer);
    });
  }
  session.once("close", () => clearTimeout(timer));
}

/**
 * Adds the reason that the contract promises to grpc-js's own answer to a message over the receive limit. grpc-js sends
 * that from inside the call, past all interceptors, so this wraps the call's sendStatus; if a later version does not go
 * through it, only the details are missing. Must be the first interceptor: later ones may get a call that is already
 * wrapped.
 */
export function explainReceiveLimit(receiveBytesMax: number): ServerInterceptor {
  return (_method, call) => {
    const send: ServerInterceptingCallInterface["sendStatus"] = call.sendStatus.bind(call);
    call.sendStatus = (sent) => {
      // This server's own answers carry their details.
      const isBare = sent.code === status.RESOURCE_EXHAUSTED && !sent.metadata;
      if (!isBare) return send(sent);
      send(failureOf(messageTooLarge(receiveBytesMax)).status);
      endRequest(call);
    };
    // An interceptor may return the call that it was given; only the type asks for the class that wraps it.
    return call as ReturnType<ServerInterceptor>;
  };
}
