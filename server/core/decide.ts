// The decision about one command for a lock that has been brought up to the present time.

import { acquire, returning } from "./acquire.ts";
import { grantWaiters } from "./advance.ts";
import type { Claim, ClaimRef } from "./claim.ts";
import { sameSecret } from "./claim.ts";
import type {
  Attach,
  Command,
  Detach,
  ForceRelease,
  Outcome,
  OutcomeOf,
  Release,
  Renew,
  SetLimit,
} from "./command.ts";
import type { Draft } from "./draft.ts";
import { snapshot } from "./draft.ts";
import { effectiveLimit } from "./limit.ts";
import { end, prolong, startGrace } from "./transitions.ts";
import { deleteLock, updateLock } from "./update-lock.ts";

/**
 * Applies one command and grants what it has made room for.
 *
 * @param known for an acquire or a withdrawal: the claim with its request id, on any lock, if there is one. If it is
 * on this lock, it is the draft's own object.
 */
export function decide(draft: Draft, command: Command, known?: Claim): Outcome {
  const outcome = apply(draft, command, known);
  grantWaiters(draft);
  return outcome;
}

function apply(draft: Draft, command: Command, known: Claim | undefined): Outcome {
  switch (command.verb) {
    case "acquire":
      return acquire(draft, command, known);
    case "attach":
      return attach(draft, command);
    case "detach":
      return detach(draft, command);
    case "renew":
      return renew(draft, command);
    case "release":
      return release(draft, command);
    case "withdraw":
      return withdraw(draft, known);
    case "set_limit":
      return setLimit(draft, command);
    case "force_release":
      return forceRelease(draft, command);
    case "update_lock":
      return updateLock(draft, command);
    case "delete_lock":
      return deleteLock(draft, command);
    case "advance":
      return { kind: "done" };
  }
}

function attach(draft: Draft, command: Attach): OutcomeOf<"attach"> {
  const claim = find(draft, command.ref);
  return claim ? returning(draft, claim, command.replica) : { kind: "unknown_claim" };
}

function detach(draft: Draft, command: Detach): OutcomeOf<"detach"> {
  const claim = find(draft, command.ref);
  // The waiter may hang on another replica by now. Then the loss of this replica's stream means nothing.
  if (claim?.state === "waiting" && claim.replica === command.replica) startGrace(draft, claim);
  return { kind: "done" };
}

function renew(draft: Draft, command: Renew): OutcomeOf<"renew"> {
  const claim = find(draft, command.ref);
  if (!claim) return { kind: "unknown_claim" };
  if (claim.state === "held") {
    prolong(draft, claim, command.ttlUs === undefined ? claim.ttlUs : command.ttlUs);
    return { kind: "held", claim: snapshot(claim) };
  }
  if (claim.state === "waiting") return { kind: "waiting", claim: snapshot(claim), place: null };
  return { kind: "ended", claim: snapshot(claim) };
}

function release(draft: Draft, command: Release): OutcomeOf<"release"> {
  const claim = find(draft, command.ref);
  if (!claim) return { kind: "unknown_claim" };
  if (claim.state === "ended") {
    const ownDoing = claim.endReason === "released" || claim.endReason === "cancelled";
    return { kind: "released", byThisCall: command.repeated && ownDoing };
  }
  if (claim.state === "held") end(draft, claim, "released", "", command.result ?? null);
  // A waiter has had no run, and the result that its caller reports must not get lost in silence.
  else if (command.result) return { kind: "waiting", claim: snapshot(claim), place: null };
  else end(draft, claim, "cancelled");
  return { kind: "released", byThisCall: true };
}

function withdraw(draft: Draft, known: Claim | undefined): OutcomeOf<"withdraw"> {
  if (known?.lockId === draft.lock.id && known.state !== "ended") end(draft, known, "cancelled");
  return { kind: "done" };
}

function setLimit(draft: Draft, command: SetLimit): OutcomeOf<"set_limit"> {
  const { lock } = draft;
  const { expectedVersion = lock.limitVersion } = command;
  if (expectedVersion !== lock.limitVersion) return { kind: "version_mismatch", version: lock.limitVersion };
  const from = lock.limit;
  lock.limit = command.limit;
  lock.limitVersion += 1n;
  lock.limitReason = command.reason;
  draft.limit = effectiveLimit(lock, draft.limitRules);
  draft.events.push({ kind: "limit_set", lock: { ...lock }, from });
  return { kind: "limit", lock, limit: draft.limit, version: lock.limitVersion };
}

function forceRelease(draft: Draft, command: ForceRelease): OutcomeOf<"force_release"> {
  const chosen: Claim[] = [];
  for (const claim of draft.claims.values()) {
    if (command.chosen?.ticketNumbers.has(claim.ticketNumber) === false) continue;
    const meant =
      command.ticketNumber === null
        ? claim.state === "held"
        : claim.ticketNumber === command.ticketNumber && claim.state !== "ended";
    if (meant) chosen.push(claim);
  }
  chosen.sort((a, b) => (a.ticketNumber < b.ticketNumber ? -1 : 1));
  const before = chosen.map(snapshot);
  for (const claim of chosen) end(draft, claim, "force_released", command.reason);
  return { kind: "forced", ended: before, holdersLeft: command.chosen?.holdersLeft ?? draft.lock.holders };
}

function find(draft: Draft, ref: ClaimRef): Claim | undefined {
  const claim = draft.claims.get(ref.ticketNumber);
  return claim && sameSecret(claim.secret, ref.secret) ? claim : undefined;
}
