// Makes the ids of requests for which the caller has chosen none: UUIDs of version 7, so that later ids sort after
// earlier ones. The database then writes neighbouring pages. Nothing may rely on the order, as clocks differ.

import { randomUUID } from "node:crypto";

/** Returns a new id: its first 48 bits are the Unix time in milliseconds, and 74 bits are random. */
export function newRequestId(unixMs = Date.now()): string {
  const time = unixMs.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
