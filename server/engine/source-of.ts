// Whose call it is, for bounds that are to be fair: that of one session, or of one connection.

import type { Caller } from "../core/command.ts";

export function sourceOf(caller: Caller | undefined): unknown {
  return caller?.source ?? caller?.getPeer();
}
