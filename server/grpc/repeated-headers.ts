// Of headers that must not come twice, Node keeps the first and hides the others. This shows all of them to whoever
// checks credentials: a proxy in front and this server could otherwise each believe another one. Refuses nothing itself.

import type { IncomingHttpHeaders } from "node:http2";

const NAME = "authorization";

/** `raw`: names and values in turn, as they came. Puts all values of `authorization` into `headers` if there are several. */
export function showRepeated(headers: IncomingHttpHeaders, raw: readonly string[] | undefined): void {
  if (!raw || headers[NAME] === undefined) return;
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2) if (raw[at] === NAME) values.push(raw[at + 1] ?? "");
  if (values.length > 1) (headers as Record<string, string | string[]>)[NAME] = values;
}
