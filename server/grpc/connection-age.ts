// Ends connections that have reached an age, in good order: a GOAWAY sends the client's next calls over a new
// connection, the caller ends sessions and waits so that clients continue them there, and calls under way are
// finished. grpc-js's own option would cut sessions off in mid-stream, as they last as long as their clients.

import type { Http2SecureServer, Http2Server, ServerHttp2Session } from "node:http2";
import { constants } from "node:http2";
import { AGE_JITTER } from "./grpc-bounds.ts";
import { peerOf } from "./peer.ts";

export interface ConnectionAge {
  readonly ageMsMax: number;
  /** How long calls may take to finish before the connection is cut off. */
  readonly finishMs: number;
  /** Ends what does not end by itself on the connection, whose peer is named as in `getPeer` of its calls. */
  readonly onOld: (peer: string) => void;
  /** A connection that was too old is closed. */
  readonly onClosed: (peer: string) => void;
}

/** As grpc-js has it: all stream ids are below. */
const LAST_STREAM_ID = 2 ** 31 - 1;

/** Call it once for each listener, before it listens. */
export function endOldConnections(listener: Http2Server | Http2SecureServer, age: ConnectionAge): void {
  listener.on("session", (session) => {
    // Clients that came together, as after a restart, must not come again together.
    const ageMs = age.ageMsMax * (1 + AGE_JITTER * (Math.random() * 2 - 1));
    const timer = setTimeout(() => end(session, age), ageMs).unref();
    session.once("close", () => clearTimeout(timer));
  });
}

function end(session: ServerHttp2Session, { finishMs, onOld, onClosed }: ConnectionAge): void {
  // `close` has not been reported yet.
  if (session.destroyed || session.closed) return;
  const peer = peerOf(session.socket);
  session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM_ID, Buffer.from("max_age"));
  // From now on the transport refuses new calls in a way that makes clients repeat them elsewhere.
  session.close();
  const timer = setTimeout(() => session.destroy(), finishMs).unref();
  session.once("close", () => {
    clearTimeout(timer);
    onClosed(peer);
  });
  onOld(peer);
}
