// Looks at a proxy: asks it for a connection to an address, as gRPC does, and says what is wrong if there is none. Runs
// only while no server has answered, so that a client that is served pays nothing for it.

import { type ClientRequest, request } from "node:http";
import type { Socket } from "node:net";
import type { Diagnosis } from "./diagnosis.ts";
import type { HttpProxy } from "./proxy.ts";

const OK = 200;
/** From here on an answer says that the proxy itself, or what is behind it, does not work at present. */
const SERVER_ERROR = 500;
const WITHOUT = "name the server in NO_PROXY if it needs no proxy";

export type Answered = { readonly socket: Socket } | { readonly found: Pick<Diagnosis, "kind" | "sentence"> };

/** How sentences name a proxy: never with its login. */
export function named({ host, port, variable }: HttpProxy): string {
  return `the proxy ${host.includes(":") ? `[${host}]` : host}:${port}, which ${variable} names`;
}

/** Resolves with a connection, whose owner must close it, or with what is wrong. Does not reject. */
export function connectThrough(proxy: HttpProxy, address: string, withinMs: number): Promise<Answered> {
  const asked = connectRequest(proxy, address);
  return new Promise((resolve) => {
    const failed = (kind: Diagnosis["kind"], what: string) => {
      asked.destroy();
      resolve({ found: { kind, sentence: `${named(proxy)}, ${what}` } });
    };
    const timer = setTimeout(
      () => failed("unreachable", `does not answer: check it, or ${WITHOUT}`),
      withinMs,
    );
    asked.on("connect", ({ statusCode = 0, statusMessage = "" }, socket: Socket) => {
      clearTimeout(timer);
      socket.on("error", () => {});
      if (statusCode === OK) return resolve({ socket });
      socket.destroy();
      const kind = statusCode >= SERVER_ERROR ? "unreachable" : "other_protocol";
      failed(
        kind,
        `does not connect to it (${`${statusCode} ${statusMessage}`.trim()}): have it allowed there, or ${WITHOUT}`,
      );
    });
    asked.on("error", ({ code = "" }: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (code.startsWith("HPE_"))
        return failed("other_protocol", "does not answer like a proxy: correct the variable");
      failed("unreachable", `cannot be reached (${code}): check it, or ${WITHOUT}`);
    });
    asked.end();
  });
}

/**
 * Resolves with what is wrong; undefined: the proxy connects. gRPC would try, too, but write a line to the standard
 * error for each try.
 */
export async function whyNoConnection(
  proxy: HttpProxy,
  address: string,
  withinMs: number,
): Promise<string | undefined> {
  const answered = await connectThrough(proxy, address, withinMs);
  if ("found" in answered) return answered.found.sentence;
  answered.socket.destroy();
  return undefined;
}

function connectRequest({ host, port, login }: HttpProxy, address: string): ClientRequest {
  const headers = {
    host: address,
    ...(login !== undefined && {
      "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}`,
    }),
  };
  // An agent of its own, as Node's own may use a proxy, too.
  return request({ host, port, method: "CONNECT", path: address, headers, agent: false });
}
