// What a decision uses, from either source: `load` reads it with the guard rows locked; `LockCache` returns what this
// server itself last wrote, which the transaction must then prove to be current.

import type { Before } from "../../known-locks/live-claims.ts";
import type { Loaded } from "../../store.ts";

export interface Read {
  readonly loaded: Loaded;
  readonly before: Before;
  /** What must be true for the decision to be valid; null: the guard rows are locked, so everything is. */
  readonly assumptions: Assumptions | null;
}

/** Assumptions in addition to what was read: the revisions of the guard rows, the values of rowlock_meta, the clock. */
export interface Assumptions {
  /** No claims with these request ids exist. */
  readonly newRequestIds: readonly string[];
  /** The identity of the server that the rows belong to. */
  readonly serverIdentity: string;
}
