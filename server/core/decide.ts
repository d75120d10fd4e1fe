// The decision about one command for a lock that has been brought up to the present time.

import { acquire, asItIs, principalOf, returning } from "./acquire.ts";
import { grantWaiters } from "./advance.ts";
import { type Claim, type ClaimRef, isServerMade, sameSecret } from "./claim.ts";
import type {
  Attach,
  Change,
  Command,
  DeleteRecord,
  Detach,
  ForceRelease,
  Outcome,
  OutcomeKinds,
  OutcomeOf,
  Release,
  Renew,
  SetLimit,
  UpdateRecord,
  Withdraw,
} from "./command.ts";
import { claimOf, type Draft, snapshot } from "./draft.ts";
import { effectiveLimit } from "./limit.ts";
import { byOf, limitText, recordText, releasedText } from "./noted-change.ts";
import { type LockRecord, nextRecord, type RecordChange } from "./record.ts";
import { end, isAsGranted, prolong, startGrace } from "./transitions.ts";

/**
 * Applies one command and grants what it has made room for.
 *
 * @param known for an acquire or a withdrawal: the claim with its request id, on any lock, if there is one. If it is
 * on this lock, it is the draft's own object.
 */
export function decide(draft: Draft, command: Command, known?: Claim): Outcome {
  // The type of VERBS ties each verb to its command.
  const verb = VERBS[command.verb] as Verb<Command>;
  const outcome = verb.decide(draft, command, known);
  grantWaiters(draft);
  return outcome;
}

/** What the server has to know of a verb to run its commands. */
interface Verb<Asked extends Command> {
  readonly decide: (draft: Draft, command: Asked, known: Claim | undefined) => OutcomeOf<Asked["verb"]>;
  /**
   * Whether it leaves a mark: see `changes.ts`. A change must not be made twice, and must not overwrite what others have
   * set since.
   */
  readonly isChange: Asked extends Change ? true : false;
  /**
   * Whether it makes the row of a lock that nobody has named yet; null: its command does not name the lock. A verb that
   * makes none must be able to answer `unknown_lock`.
   */
  readonly makesLock: Asked extends { readonly name: string } ? MakesLock<Asked["verb"]> : null;
}

type MakesLock<Name extends Command["verb"]> = "unknown_lock" extends OutcomeKinds[Name] ? boolean : true;

type CommandOf<Name extends Command["verb"]> = Extract<Command, { readonly verb: Name }>;

const VERBS: { readonly [Name in Command["verb"]]: Verb<CommandOf<Name>> } = {
  acquire: { decide: acquire, isChange: false, makesLock: true },
  attach: { decide: attach, isChange: false, makesLock: null },
  detach: { decide: detach, isChange: false, makesLock: null },
  renew: { decide: renew, isChange: false, makesLock: null },
  release: { decide: release, isChange: false, makesLock: null },
  withdraw: { decide: withdraw, isChange: false, makesLock: null },
  set_limit: { decide: setLimit, isChange: true, makesLock: true },
  force_release: { decide: forceRelease, isChange: true, makesLock: false },
  update_record: { decide: updateRecord, isChange: true, makesLock: true },
  delete_record: { decide: deleteRecord, isChange: true, makesLock: false },
  advance: { decide: () => ({ kind: "done" }), isChange: false, makesLock: null },
};

export function isChange(command: Command): command is Change {
  return VERBS[command.verb].isChange;
}

/** Whether a command with this outcome has changed anything. */
export function hasChanged(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case "limit":
    case "record":
      return true;
    case "deleted":
      return outcome.byThisCall;
    case "forced":
      return outcome.ended.length > 0;
    default:
      return false;
  }
}

/** Whether the engine makes the lock of the command if nobody has named it yet. */
export function makesLock({ verb }: Command): boolean {
  return VERBS[verb].makesLock === true;
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
  const { ttlUs = claim.ttlUs } = command;
  const ranUs = ranFor(draft, claim);
  if (claim.state === "held") prolong(draft, claim, ttlUs);
  const outcome = asItIs(claim);
  return outcome.kind === "held" && ranUs !== undefined ? { ...outcome, ranUs } : outcome;
}

/** As in the outcome of a renewal. */
function ranFor({ nowUs }: Draft, { provisional, deadlineUs, ttlUs }: Claim): number | null | undefined {
  if (provisional) return null;
  return deadlineUs === null || ttlUs === null ? undefined : Math.max(0, nowUs - (deadlineUs - ttlUs));
}

function release(draft: Draft, command: Release): OutcomeOf<"release"> {
  const claim = find(draft, command.ref);
  if (!claim) return { kind: "unknown_claim" };
  if (claim.state === "ended") {
    const ownDoing = claim.endReason === "released" || claim.endReason === "cancelled";
    return { kind: "released", byThisCall: command.repeated === true && ownDoing };
  }
  const { caller, result = null } = command;
  if (claim.state === "held") end(draft, claim, "released", { result, caller });
  // A waiter has had no run, and the result that its caller reports must not get lost in silence.
  else if (result) return { kind: "waiting", claim: snapshot(claim), place: null };
  else end(draft, claim, "cancelled", { caller });
  return { kind: "released", byThisCall: true };
}

function withdraw(draft: Draft, { secret }: Withdraw, known: Claim | undefined): OutcomeOf<"withdraw"> {
  if (known?.lockId !== draft.lock.id || known.state === "ended") return { kind: "done" };
  const isUnheard = known.secret === secret && known.state === "held" && isAsGranted(known);
  if (isServerMade(known.requestId) || isUnheard) end(draft, known, "cancelled");
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
  draft.events.push({ kind: "limit_set", lock: { ...lock }, from, caller: command.caller });
  draft.noted.push({
    ...noteOf(draft, command),
    kind: "limit",
    from: limitText(from),
    to: limitText(lock.limit),
    reason: command.reason,
  });
  return { kind: "limit", lock, limit: draft.limit, version: lock.limitVersion };
}

function forceRelease(draft: Draft, command: ForceRelease): OutcomeOf<"force_release"> {
  const chosen: Claim[] = [];
  for (const claim of draft.claims) {
    if (command.chosen?.ticketNumbers.has(claim.ticketNumber) === false) continue;
    const meant =
      command.ticketNumber === null
        ? claim.state === "held"
        : claim.ticketNumber === command.ticketNumber && claim.state !== "ended";
    if (meant) chosen.push(claim);
  }
  chosen.sort((a, b) => (a.ticketNumber < b.ticketNumber ? -1 : 1));
  const { reason, caller } = command;
  const note = noteOf(draft, command);
  for (const claim of chosen) {
    draft.noted.push({ ...note, kind: "forced_release", from: releasedText(claim), to: "", reason });
    end(draft, claim, "force_released", { note: reason, by: note.by, caller });
  }
  const ended = chosen.map(snapshot);
  return { kind: "forced", ended, holdersLeft: command.chosen?.holdersLeft ?? draft.lock.holders };
}

/** Sets what the command names, and grants what that makes room for. */
function updateRecord(draft: Draft, command: UpdateRecord): OutcomeOf<"update_record"> {
  const { lock, nowUs } = draft;
  const { record: before } = lock;
  const version = before?.version ?? 0n;
  const { expectedVersion = version } = command;
  if (expectedVersion !== version) return { kind: "version_mismatch", version };
  const isNewRecord = before === null;
  if (isNewRecord && command.mayMakeRecord === false) return { kind: "no_record" };
  const set = nextRecord(
    lock,
    changesOf(command, lock.lastToken, nowUs),
    draft.failOver,
    principalOf(command),
  );
  lock.record = set;
  const { caller } = command;
  draft.events.push({
    kind: "record_changed",
    change: "set",
    lockId: lock.id,
    record: set,
    isNewRecord,
    caller,
  });
  noteRecord(draft, command, before, set);
  grantWaiters(draft);
  return { kind: "record", lockId: lock.id, record: lock.record, setVersion: set.version };
}

/** Refused while anybody holds the lock or waits for it: they rely on its record. */
function deleteRecord(draft: Draft, command: DeleteRecord): OutcomeOf<"delete_record"> {
  const { lock } = draft;
  const { id: lockId, record } = lock;
  if (lock.holders > 0 || lock.waiting > 0) return { kind: "in_use" };
  const version = record?.version ?? 0n;
  const { expectedVersion = version } = command;
  if (expectedVersion !== version) return { kind: "version_mismatch", version };
  if (!record) return { kind: "deleted", lockId, byThisCall: false, version };
  draft.events.push({ kind: "record_changed", change: "deleted", lockId, record, caller: command.caller });
  noteRecord(draft, command, record, null);
  lock.record = null;
  lock.recordFloor = record.version;
  return { kind: "deleted", lockId, byThisCall: true, version };
}

/** What the notes of all changes of a lock have in common. */
function noteOf({ lock }: Draft, { caller }: Change) {
  return { target: lock.name, isPattern: false, by: byOf(caller) };
}

function noteRecord(
  draft: Draft,
  command: UpdateRecord | DeleteRecord,
  from: LockRecord | null,
  to: LockRecord | null,
): void {
  const texts = { from: recordText(from), to: recordText(to), reason: command.reason ?? "" };
  draft.noted.push({ ...noteOf(draft, command), kind: "record", ...texts });
}

function changesOf(
  { notBefore, attemptsLeft, status }: UpdateRecord,
  lastToken: bigint,
  nowUs: number,
): RecordChange {
  return {
    ...(notBefore !== undefined && { notBeforeUs: instantOf(notBefore, nowUs) }),
    ...(attemptsLeft !== undefined && { attemptsLeft, attemptsSince: lastToken }),
    ...(status !== undefined && { status }),
  };
}

function instantOf(notBefore: NonNullable<UpdateRecord["notBefore"]> | null, nowUs: number): number | null {
  if (notBefore === null) return null;
  return "atUs" in notBefore ? notBefore.atUs : nowUs + notBefore.inUs;
}

function find(draft: Draft, ref: ClaimRef): Claim | undefined {
  const claim = claimOf(draft, ref.ticketNumber);
  return claim && sameSecret(claim.secret, ref.secret) ? claim : undefined;
}
