// The line that a crash writes. Made by hand, so that a command that starts and ends at once need not load the log.

import { inspect } from "node:util";
import { strikeSecrets } from "./strike-secrets.ts";

/** As the log would write it. */
export function crashLine(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const time = new Date().toISOString();
  // With the causes and what else there is.
  const err = { type: name, message, stack: inspect(error) };
  return `${strikeSecrets(JSON.stringify({ level: "fatal", time, err, msg: "crashed" }))}\n`;
}
