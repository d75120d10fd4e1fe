// Waiters that come back to their places. A sign of life counts from its arrival, not from the decision about it: a
// waiter that was in time must not lose its place because another transaction held the lock's rows.

import type { Claim } from "./claim.ts";
import { sameSecret } from "./claim.ts";
import type { Acquire, Attach, Command } from "./command.ts";
import type { Draft } from "./draft.ts";
import { keepAlive } from "./transitions.ts";

/** Whether the command comes back to exactly this claim, by its id or by its request id. */
export function comesBackTo(command: Command, claim: Claim): command is Acquire | Attach {
  if (command.verb === "attach") {
    const { lockId, ticketNumber, secret } = command.ref;
    return claim.lockId === lockId && claim.ticketNumber === ticketNumber && sameSecret(claim.secret, secret);
  }
  if (command.verb !== "acquire") return false;
  return (
    claim.requestId === command.requestId && claim.mode === command.mode && claim.permits === command.permits
  );
}

/** Whether the claim waits, and its place had not run out `agoUs` ago. */
export function wasKept(claim: Claim, nowUs: number, agoUs: number): boolean {
  return claim.state === "waiting" && claim.deadlineUs !== null && claim.deadlineUs > nowUs - agoUs;
}

/**
 * Keeps a place that has run out since the command arrived. To be called for each command that may come back to a
 * claim, before ending what is due. Does not prolong a wait that is over. Ignores leases: an expired one is never
 * revived.
 *
 * @param known the claim that the command names, on any lock. If it is on this lock, it is the draft's own object.
 * @param ageUs time since the command arrived.
 */
export function keepInTime(draft: Draft, command: Command, known: Claim, ageUs: number): void {
  const { nowUs, lock } = draft;
  if (known.lockId !== lock.id || !wasKept(known, nowUs, ageUs) || wasKept(known, nowUs, 0)) return;
  if (comesBackTo(command, known)) keepAlive(draft, known, command.replica);
}
