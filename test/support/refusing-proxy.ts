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
  /** Methods of all received calls, in order, refused or not. */
  readonly asked: readonly string[];
  /** How many calls were refused, and how many were passed on. */
  readonly counts: { readonly refused: number; readonly passed: number };
  /** Cuts every connection and refuses new ones. */
  leave(): void;
  /** Listens again on the same port. */
  comeBack(): Promise<void>;
  /** From now on answers nothing and passes nothing on. */
  freeze(): void;
  /** From now on refuses all calls with this HTTP status; undefined: stops doing so. */
  refuseAll(status: number | undefined): void;
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
  const asked: string[] = [];
  const counts = { refused: 0, passed: 0 };
  const sessions = new Set<ServerHttp2Session | ClientHttp2Session>();
  let isFrozen = false;
  let refusingAll: number | undefined;
  const listening = async (port: number) => {
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
        asked.push(method);
        stream.on("error", () => {});
        if (isFrozen) return;
        const refusal = refusingAll ?? (refused.includes(method) ? how : undefined);
        counts[refusal ? "refused" : "passed"] += 1;
        if (refusal) refuse(stream, refusal);
        else passOn(stream, headers, far);
      });
    });
    proxy.listen(port, "127.0.0.1");
    await once(proxy, "listening");
    return proxy;
  };
  let proxy = await listening(0);
  const { port } = proxy.address() as AddressInfo;
  const leave = () => {
    proxy.close();
    for (const session of sessions) session.destroy();
  };
  return {
    address: `127.0.0.1:${port}`,
    asked,
    counts,
    leave,
    async comeBack() {
      proxy = await listening(port);
    },
    freeze() {
      isFrozen = true;
    },
    refuseAll(status) {
      refusingAll = status;
    },
    async close() {
      const closed = proxy.listening ? once(proxy, "close") : undefined;
      leave();
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
