// An HTTP/2 proxy that asks who calls, as a Rowlock server with tokens does: it refuses calls without a token that it
// knows, and ends open sessions when their token is taken away. It passes all other calls on to a server.

import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { ErrorInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { StatusSchema } from "#proto/google/rpc/status_pb.js";

type Reason = "CREDENTIALS_MISSING" | "CREDENTIALS_WRONG" | "CREDENTIALS_EXPIRED" | "RIGHT_MISSING";

export interface AskingProxy {
  readonly address: string;
  /** The methods and tokens of all received calls, in order. */
  readonly asked: readonly { readonly method: string; readonly token: string | undefined }[];
  /** From now on refuses this token, and ends the open calls that came with it. */
  forget(token: string, reason?: Reason): void;
  /** From now on accepts this token. */
  know(token: string): void;
  /** Ends the open sessions with this reason, and accepts their next ones. */
  endSessions(reason: Reason): void;
  close(): Promise<void>;
}

/** Refuses every method in `deniedMethods` with RIGHT_MISSING. */
export async function startAskingProxy(
  to: string,
  tokens: readonly string[],
  deniedMethods: readonly string[] = [],
): Promise<AskingProxy> {
  const known = new Set(tokens);
  const reasons = new Map<string, Reason>();
  const asked: { method: string; token: string | undefined }[] = [];
  const open = new Map<ServerHttp2Stream, { method: string; token: string; end: (reason: Reason) => void }>();
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
      const token = /^Bearer (.*)$/.exec(headers.authorization ?? "")?.[1];
      asked.push({ method, token });
      stream.on("error", () => {});
      if (token === undefined) refuse(stream, "CREDENTIALS_MISSING");
      else if (!known.has(token)) refuse(stream, reasons.get(token) ?? "CREDENTIALS_WRONG");
      else if (deniedMethods.includes(method)) refuse(stream, "RIGHT_MISSING");
      else {
        open.set(stream, { method, token, end: passOn(stream, headers, far) });
        stream.on("close", () => open.delete(stream));
      }
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    asked,
    forget(token, reason = "CREDENTIALS_WRONG") {
      known.delete(token);
      reasons.set(token, reason);
      for (const one of [...open.values()]) if (one.token === token) one.end(reason);
    },
    know(token) {
      known.add(token);
    },
    endSessions(reason) {
      for (const { method, end } of [...open.values()]) if (method === "Session") end(reason);
    },
    async close() {
      const closed = once(proxy, "close");
      proxy.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

/** The trailers of a call that ends so. */
function trailersOf(reason: Reason): Record<string, string> {
  const code = reason === "RIGHT_MISSING" ? status.PERMISSION_DENIED : status.UNAUTHENTICATED;
  const metadata = reason === "RIGHT_MISSING" ? { right: "use", principal: "worker" } : {};
  const info = create(ErrorInfoSchema, { reason, domain: "rowlock", metadata });
  const message = `refused: ${reason}`;
  const details = toBinary(
    StatusSchema,
    create(StatusSchema, { code, message, details: [anyPack(ErrorInfoSchema, info)] }),
  );
  return {
    "grpc-status": String(code),
    "grpc-message": message,
    "grpc-status-details-bin": Buffer.from(details).toString("base64"),
  };
}

function refuse(stream: ServerHttp2Stream, reason: Reason): void {
  const head = { ":status": 200, "content-type": "application/grpc" };
  stream.respond({ ...head, ...trailersOf(reason) }, { endStream: true });
  stream.resume();
}

/** Returns a function that ends the call with a reason. */
function passOn(
  near: ServerHttp2Stream,
  headers: Parameters<ClientHttp2Session["request"]>[0],
  to: ClientHttp2Session,
): (reason: Reason) => void {
  const far = to.request(headers);
  let trailers: object = {};
  far.on("error", () => near.destroy());
  near.on("close", () => far.close());
  far.on("response", (answer, flags) => {
    if (near.destroyed) return;
    const isAll = (flags & 1) !== 0;
    near.respond(answer, { endStream: isAll, waitForTrailers: !isAll });
    if (!isAll) far.pipe(near);
  });
  far.on("trailers", (given) => {
    trailers = given;
  });
  near.on("wantTrailers", () => near.sendTrailers({ ...trailers }));
  near.pipe(far);
  return (reason) => {
    far.unpipe(near);
    trailers = trailersOf(reason);
    if (near.headersSent) near.end();
    else refuse(near, reason);
  };
}
