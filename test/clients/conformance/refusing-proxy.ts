// An HTTP/2 proxy that lets no streams through: it answers the calls that stream by itself, as a proxy does that knows only
// calls with one answer, and passes all others on.

import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";

const STREAMS = ["/rowlock.v1.LockService/Session", "/rowlock.v1.LockService/WaitInQueue"];
const UNIMPLEMENTED = "12";
/** Of one connection, and not to be passed on. */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host"];

export interface RefusingProxy {
  readonly address: string;
  /** How many calls that stream it has refused, and how many others it has passed on. */
  readonly counts: { readonly refused: number; readonly passed: number };
  close(): Promise<void>;
}

/** @param refusal the gRPC code by its name, or a status of HTTP. */
export async function startRefusingProxy(
  to: string,
  refusal: "UNIMPLEMENTED" | "403" | "405",
): Promise<RefusingProxy> {
  const counts = { refused: 0, passed: 0 };
  const sessions = new Set<ServerHttp2Session>();
  const upstream: ClientHttp2Session = connect(`http://${to}`);
  upstream.on("error", () => {});
  const proxy = createServer();
  proxy.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  proxy.on("stream", (stream: ServerHttp2Stream, headers) => {
    stream.on("error", () => {});
    if (STREAMS.includes(String(headers[":path"]))) {
      counts.refused += 1;
      refuse(stream, refusal);
    } else {
      counts.passed += 1;
      pass(stream, headers, upstream);
    }
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
      upstream.destroy();
      await closed;
    },
  };
}

function refuse(stream: ServerHttp2Stream, refusal: string): void {
  const answer =
    refusal === "UNIMPLEMENTED"
      ? { ":status": 200, "content-type": "application/grpc", "grpc-status": UNIMPLEMENTED }
      : { ":status": Number(refusal), "content-type": "text/plain" };
  stream.respond(answer, { endStream: true });
}

function pass(stream: ServerHttp2Stream, asked: IncomingHttpHeaders, upstream: ClientHttp2Session): void {
  const headers = Object.entries(asked).filter(([name]) => !HOP_BY_HOP.includes(name));
  const call = upstream.request(Object.fromEntries(headers));
  call.on("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  stream.on("aborted", () => call.close(constants.NGHTTP2_CANCEL));
  let trailers: IncomingHttpHeaders = {};
  call.on("trailers", (last) => {
    trailers = last;
  });
  call.on("response", (answer, flags) => {
    // An answer without a body has its status in the headers.
    const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (stream.destroyed) return;
    stream.respond(answer, isWhole ? { endStream: true } : { waitForTrailers: true });
    if (isWhole) return;
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    call.pipe(stream);
  });
  stream.pipe(call);
}
