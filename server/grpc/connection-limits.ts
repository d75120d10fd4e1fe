// What one connection may do before Node ends it, with all calls on it. grpc-js has no option for that, neither an own one
// nor one that it passes on for a listener without TLS: what it gives to Node, with TLS or without, is this one object of
// the server, which is private in its types. Should a later version keep it elsewhere, no server is made at all.

import type { ServerOptions } from "node:http2";
import type { Server } from "@grpc/grpc-js";
import { REFUSED_IN_A_ROW_MAX, RESETS_BURST_SHARE, RESETS_PER_SECOND } from "./grpc-bounds.ts";

/** To be called before the server listens. `openMax`: calls that one connection may have open. */
export function limitConnections(server: Server, openMax: number): void {
  const { commonServerOptions } = server as unknown as { readonly commonServerOptions: ServerOptions };
  Object.assign(commonServerOptions, {
    streamResetBurst: RESETS_BURST_SHARE * openMax,
    streamResetRate: RESETS_PER_SECOND,
    maxSessionRejectedStreams: REFUSED_IN_A_ROW_MAX,
  } satisfies ServerOptions);
}
