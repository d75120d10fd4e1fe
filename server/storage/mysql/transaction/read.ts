// What a decision uses, from either source: `load` reads it with the guard rows locked; `LockCache` returns what this
// server itself last wrote, which the transaction must then prove to be current.

import type { Claim, ClaimKey } from "../../../core/claim.ts";
import type { Lock } from "../../../core/lock.ts";
import type { Loaded } from "../../store.ts";

export interface Read {
  readonly loaded: Loaded;
  readonly before: Before;
  /** What must be true for the decision to be valid; null: the guard rows are locked, so everything is. */
  readonly assumptions: Assumptions | null;
}

/** The original rows. The decision changes the loaded ones, so a comparison with these shows what to write. */
export interface Before {
  lock(id: bigint): Lock | undefined;
  /** Undefined: the claim was not read. */
  claim(key: ClaimKey): Claim | undefined;
}

/** Assumptions in addition to what was read: the revisions of the guard rows, the values of rowlock_meta, the clock. */
export interface Assumptions {
  /** No claims with these request ids exist. */
  readonly newRequestIds: readonly string[];
  /** The identity of the server that the rows belong to. */
  readonly serverIdentity: string;
}
