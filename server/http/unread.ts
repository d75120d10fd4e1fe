// A client that does not read what was written to it would keep that, and its place, for ever.

import type { ServerResponse } from "node:http";
import { UNREAD_CHECK_MS, UNREAD_MS_MAX } from "./http-bounds.ts";

/** Ends the connection when something has been unread for so long. */
export function endIfUnread(response: ServerResponse): void {
  let sinceMs: number | null = null;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    sinceMs = response.writableLength === 0 ? null : (sinceMs ?? nowMs);
    if (sinceMs !== null && nowMs - sinceMs >= UNREAD_MS_MAX) response.destroy();
  }, UNREAD_CHECK_MS);
  timer.unref();
  response.once("close", () => clearInterval(timer));
}
