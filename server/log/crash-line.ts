// The line that a crash writes. It is made by hand, so that a short-lived command need not load the log.

import { inspect } from "node:util";
import { strikeSecrets } from "./strike-secrets.ts";

/** In the log's own format. */
export function crashLine(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const time = new Date().toISOString();
  // `inspect` includes the causes and all other properties.
  const err = { type: name, message, stack: inspect(error) };
  return `${strikeSecrets(JSON.stringify({ level: "fatal", time, err, msg: "crashed" }))}\n`;
}
