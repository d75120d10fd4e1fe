// The rights, and the verbs that each of them allows. A verb names its right in the table of verbs; a rule may name a
// right, or a verb by itself.

import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";

/** In the order from harmless to dangerous, as pages show them. No right contains another. */
export const RIGHTS = ["read", "use", "supersede", "head_start", "operate", "admin"] as const;

export type Right = (typeof RIGHTS)[number];

/** The verbs that a rule may name, as in the contract. */
export const VERB_NAMES: readonly string[] = LockService.methods
  .filter((method) => method !== LockService.method.session)
  .map(({ name }) => name);

/** What a verb needs: its right, or a rule that names the verb itself. */
export interface Needed {
  /** As in the contract: `Acquire`. */
  readonly verb: string;
  readonly right: Right;
}
