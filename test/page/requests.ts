// Requests to a page as its script sends them. Every answer is searched for secrets.

import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { refuseSecrets } from "../support/secrets.ts";
import { withReason } from "./connect-errors.ts";
import type { Json } from "./event-reader.ts";

/** What the page's script sends with each request. */
export const OWN = { "x-rowlock-page": "1" };

export interface Asked {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The loopback address that it comes from. */
  readonly from?: string;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** null: the answer is no JSON. */
  readonly json: Json;
}

/** A request for a verb. */
export function posted(body: object, token?: string): Asked {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(token !== undefined && { token }),
  };
}

/** Sends a request over a connection of its own. Resolves with the head of the answer. */
export async function sent(
  port: number,
  path: string,
  { method = "GET", token, headers = {}, body, from = "127.0.0.1" }: Asked,
  onRequest: (request: ClientRequest) => void = () => {},
): Promise<IncomingMessage> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const all = { ...OWN, ...authorization, ...headers };
  const to = { host: "127.0.0.1", port, localAddress: from, agent: false };
  const asked = request({ ...to, path, method, headers: all });
  onRequest(asked);
  asked.end(body);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return answer;
}

export async function answered(answer: IncomingMessage): Promise<Answered> {
  let text = "";
  for await (const part of answer.setEncoding("utf8")) text += part;
  refuseSecrets(text, "The page");
  const isJson = answer.headers["content-type"]?.startsWith("application/json") ?? false;
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    text,
    json: isJson ? withReason(JSON.parse(text)) : null,
  };
}
