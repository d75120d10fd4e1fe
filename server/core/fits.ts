// Decides which claims may hold a lock at the same time.

import type { Claim } from "./claim.ts";
import type { Lock } from "./lock.ts";

type Asked = Pick<Claim, "mode" | "permits">;
type Held = Pick<Lock, "heldPermits" | "sharedHolders" | "exclusiveHolders" | "holders">;

/** Whether the request fits beside the present holders. A limit of 0 pauses every mode. */
export function fits(lock: Held, limit: number, asked: Asked): boolean {
  if (limit === 0 || lock.exclusiveHolders > 0) return false;
  switch (asked.mode) {
    case "exclusive":
      return lock.holders === 0;
    case "shared":
      return lock.heldPermits === 0;
    case "permit":
      return lock.sharedHolders === 0 && lock.heldPermits + asked.permits <= limit;
  }
}

/** Whether the request would not fit even alone. False for a paused lock: its limit will be set again. */
export function neverFits(limit: number, asked: Asked): boolean {
  return limit > 0 && asked.mode === "permit" && asked.permits > limit;
}
