// The description of the verbs for tools, at /openapi.json: it is open to all who reach the port, as it has no data.

import type { ServerResponse } from "node:http";

export const DESCRIPTION_PATH = "/openapi.json";

let text: Promise<string> | undefined;

export async function sendDescription(response: ServerResponse): Promise<void> {
  text ??= import("#proto/openapi.json", { with: { type: "json" } }).then((read) =>
    JSON.stringify(read.default),
  );
  const body = await text;
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "access-control-allow-origin": "*",
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}
