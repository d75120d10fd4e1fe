// Limits of the transport for which grpc-js has no option: what one connection may do, and the answer to a message that is
// too large.

import type { ServerOptions } from "node:http2";
import type { Server, ServerInterceptingCallInterface, ServerInterceptor } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { REFUSED_IN_A_ROW_MAX, RESETS_BURST_SHARE, RESETS_PER_SECOND } from "./grpc-bounds.ts";
import { statusOf } from "./messages/status.ts";

/**
 * Bounds what one connection may do before Node ends it, with all calls on it. To be called before the server listens.
 * grpc-js has no option for that, and passes none on for a listener without TLS. What it gives to Node is one object of
 * the server, which is private in its types. Should a later version keep it elsewhere, no server is made at all.
 *
 * @param openMax calls that one connection may have open.
 */
export function limitConnections(server: Server, openMax: number): void {
  const { commonServerOptions } = server as unknown as { readonly commonServerOptions: ServerOptions };
  Object.assign(commonServerOptions, {
    streamResetBurst: RESETS_BURST_SHARE * openMax,
    streamResetRate: RESETS_PER_SECOND,
    maxSessionRejectedStreams: REFUSED_IN_A_ROW_MAX,
  } satisfies ServerOptions);
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
