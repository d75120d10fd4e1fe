// What a decision goes by, wherever it comes from: `load` reads it with the guard rows locked, `LockCache` gives what this
// server has written last itself, which the transaction then has to prove.

import type { Claim, ClaimKey } from "../../../core/claim.ts";
import type { Lock } from "../../../core/lock.ts";
import type { Loaded } from "../../store.ts";

export interface Read {
  readonly loaded: Loaded;
  readonly before: Before;
  /** What has to be true for it; null: the guard rows are locked, and all of it is. */
  readonly assumptions: Assumptions | null;
}

/** The rows as they were. The decision changes those that were loaded, so these tell the writing what has changed. */
export interface Before {
  lock(id: bigint): Lock | undefined;
  /** Undefined: it was not read. */
  claim(key: ClaimKey): Claim | undefined;
}

/** In addition to what was read: the guard rows at their revisions, the facts, the clock. */
export interface Assumptions {
  /** Claims with these request ids are not there. */
  readonly newRequestIds: readonly string[];
  /** Of the server that the rows belong to. */
  readonly serverIdentity: string;
}
