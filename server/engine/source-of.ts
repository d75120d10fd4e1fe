// Identifies the origin of a call, a session or a connection, for bounds that share fairly between clients.

import type { Caller } from "../core/command.ts";

export function sourceOf(caller: Caller | undefined): unknown {
  return caller?.source ?? caller?.getPeer();
}
