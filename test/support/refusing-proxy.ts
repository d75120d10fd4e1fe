// An HTTP/2 proxy that lets no long streams through: it refuses Session and WaitInQueue, or the given methods, in one
// of the ways that proxies do, and passes all other calls on.

import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";

/** An HTTP status, the answer of a gRPC server without such a method, or a reset of the stream. */
export type Refusal = number | "UNIMPLEMENTED" | "RESET";

export interface RefusingProxy {
  readonly address: string;
  /** How many calls were refused, and how many were passed on. */
  readonly counts: { readonly refused: number; readonly passed: number };
  close(): Promise<void>;
}

const STREAMS = ["Session", "WaitInQueue"];
const END_STREAM = 1;
const PROTOCOL_ERROR = 1;
/** The answer of a proxy whose server is down or accepts no new calls. */
const BAD_GATEWAY = 502;

export async function startRefusingProxy(
  to: string,
  how: Refusal,
  refused: readonly string[] = STREAMS,
): Promise<RefusingProxy> {
  const counts = { refused: 0, passed: 0 };
  const sessions = new Set<ServerHttp2Session | ClientHttp2Session>();
  const proxy = createServer();
  proxy.on("session", (near) => {
    const far = connect(`http://${to}`);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sessions.add(one);
      one.on("error", () => {});
      one.on("close", () => {
        sessions.delete(one);
        other.destroy();
      });
    }
    near.on("stream", (stream, headers) => {
      const method = String(headers[":path"]).split("/").at(-1) as string;
      stream.on("error", () => {});
      const isRefused = refused.includes(method);
      counts[isRefused ? "refused" : "passed"] += 1;
      if (isRefused) refuse(stream, how);
      else passOn(stream, headers, far);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    counts,
    async close() {
      const closed = once(proxy, "close");
      proxy.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

function refuse(stream: ServerHttp2Stream, how: Refusal): void {
  if (how === "RESET") {
    stream.close(PROTOCOL_ERROR);
    return;
  }
  const headers =
    how === "UNIMPLEMENTED"
      ? { ":status": 200, "content-type": "application/grpc", "grpc-status": "12", "grpc-message": "no such" }
      : { ":status": how, "content-type": "text/html" };
  stream.respond(headers, { endStream: true });
  stream.resume();
}

function passOn(near: ServerHttp2Stream, headers: IncomingHttpHeaders, to: ClientHttp2Session): void {
  if (to.destroyed || to.closed) {
    refuse(near, BAD_GATEWAY);
    return;
  }
  const far = to.request(headers);
  let trailers: IncomingHttpHeaders = {};
  far.on("error", () => {
    if (near.headersSent || near.destroyed) near.destroy();
    else refuse(near, BAD_GATEWAY);
  });
  near.on("close", () => far.close());
  far.on("response", (answer, flags) => {
    if (near.destroyed) return;
    const isAll = (flags & END_STREAM) !== 0;
    near.respond(answer, { endStream: isAll, waitForTrailers: !isAll });
    if (!isAll) far.pipe(near);
  });
  far.on("trailers", (given) => {
    trailers = given;
  });
  near.on("wantTrailers", () => near.sendTrailers(trailers));
  near.pipe(far);
}
