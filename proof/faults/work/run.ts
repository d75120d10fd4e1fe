// What all work of a run shares.

import type { Client } from "../clients/client.ts";
import type { History } from "../history/history.ts";

/** All leases of a run have it. */
export const TTL_MS = 2_000;

export interface Run {
  readonly history: History;
  readonly clients: readonly Client[];
  /** A number from 0 to 1, from the seed of the run. */
  readonly chance: () => number;
  readonly isOver: () => boolean;
}

export function oneOf<One>(choice: readonly One[], chance: () => number): One {
  return choice[Math.floor(chance() * choice.length)] as One;
}
