// The decision about one command for a lock that has been brought up to the present time. Also knows who comes back to a
// claim.

import { RETRY_AFTER_US_MIN } from "./bounds.ts";
import {
  type Claim,
  type ClaimRef,
  isLead,
  isServerMade,
  isSpend,
  type Member,
  memberRequestId,
  sameSecret,
  type WantedLock,
} from "./claim.ts";
import type {
  Acquire,
  Change,
  Command,
  CommandOf,
  DeleteRecord,
  Outcome,
  OutcomeKinds,
  OutcomeNamed,
  OutcomeOf,
  Place,
  Refused,
  UpdateRecord,
} from "./command.ts";
import { claimOf, type Draft, snapshot } from "./draft.ts";
import { countPast, enter, grantWaiters, poolsOverLock } from "./levels.ts";
import { effectiveQueueRules, fits, neverFits, withSet } from "./limit.ts";
import {
  isDueNow,
  isExhausted,
  isInWantedStatus,
  type LockRecord,
  nextRecord,
  type RecordChange,
  statusOf,
} from "./lock.ts";
import { byOf, recordText, releasedText, settingsText } from "./noted-change.ts";
import { type Pool, waitsAt } from "./pools.ts";
import { isByArrival } from "./queue-rules.ts";
import { allowedFromUs, exceedsBurst, isAllowed, rateWaitUs } from "./rate.ts";
import { longestPlace, type Part } from "./sets.ts";
import { setOrder } from "./shares.ts";
import {
  confirm,
  end,
  enqueue,
  isAsGranted,
  keepAlive,
  mayGrant,
  occupyAtOnce,
  prolong,
  recordWait,
  setInForce,
  startGrace,
} from "./transitions.ts";

/**
 * Applies one command and grants what it has made room for. `known`: for an acquire or a withdrawal, the claim with its request
 * id, on any lock. If it is on this lock, it is the draft's own object.
 */
export function decide(draft: Draft, command: Command, known?: Claim): Outcome {
  // The type of VERBS ties each verb to its command.
  const verb = VERBS[command.verb] as Verb<Command>;
  const outcome = verb.decide(draft, command, known);
  grantWaiters(draft);
  return outcome;
}

interface Verb<Asked extends Command> {
  readonly decide: (draft: Draft, command: Asked, known: Claim | undefined) => OutcomeOf<Asked["verb"]>;
  /** Whether it leaves a mark: see `Marks` in decide-batch.ts. */
  readonly isChange: Asked extends Change ? true : false;
  /**
   * Whether it makes the row of a lock that nobody has named yet; null: its command does not name the lock. A verb that
   * makes none must be able to answer `unknown_lock`.
   */
  readonly makesLock: Asked extends { readonly name: string }
    ? "unknown_lock" extends OutcomeKinds[Asked["verb"]]
      ? boolean
      : true
    : null;
}

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
  // Of a pool: see decide-pool.ts.
  end_counting: { decide: () => ({ kind: "done" }), isChange: false, makesLock: null },
  advance: { decide: advance, isChange: false, makesLock: null },
};

export function isChange(command: Command): command is Change {
  return VERBS[command.verb].isChange;
}

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

function advance(draft: Draft, { countsPast }: CommandOf<"advance">): OutcomeOf<"advance"> {
  if (countsPast) countPast(draft);
  return { kind: "done" };
}

function attach(draft: Draft, command: CommandOf<"attach">): OutcomeOf<"attach"> {
  const claim = find(draft, command.ref);
  return claim ? returning(draft, claim, command.replica) : { kind: "unknown_claim" };
}

function detach(draft: Draft, command: CommandOf<"detach">): OutcomeOf<"detach"> {
  const claim = find(draft, command.ref);
  // The waiter may hang on another replica by now. Then the loss of this replica's stream means nothing.
  if (claim?.state === "waiting" && claim.replica === command.replica) startGrace(draft, claim);
  return { kind: "done" };
}

function renew(draft: Draft, command: CommandOf<"renew">): OutcomeOf<"renew"> {
  const claim = find(draft, command.ref);
  if (!claim) return { kind: "unknown_claim" };
  const { ttlUs = claim.ttlUs } = command;
  const ranUs = ranFor(draft, claim);
  if (claim.state === "held") prolong(draft, claim, ttlUs);
  const outcome = asItIs(claim);
  return outcome.kind === "held" && ranUs !== undefined ? { ...outcome, ranUs } : outcome;
}

function ranFor({ nowUs }: Draft, { provisional, deadlineUs, ttlUs }: Claim): number | null | undefined {
  if (provisional) return null;
  return deadlineUs === null || ttlUs === null ? undefined : Math.max(0, nowUs - (deadlineUs - ttlUs));
}

function release(draft: Draft, command: CommandOf<"release">): OutcomeOf<"release"> {
  const claim = find(draft, command.ref);
  if (!claim) return { kind: "unknown_claim" };
  if (claim.state === "ended") {
    const ownDoing = claim.endReason === releaseEnd(command) || claim.endReason === "cancelled";
    return { kind: "released", byThisCall: command.repeated === true && ownDoing };
  }
  const { caller, result = null } = command;
  if (claim.state === "held") end(draft, claim, releaseEnd(command), { result, caller });
  // A waiter has had no run, and the result that its caller reports must not get lost in silence.
  else if (result || command.failed) return { kind: "waiting", claim: snapshot(claim), place: null };
  else end(draft, claim, "cancelled", { caller });
  return { kind: "released", byThisCall: true };
}

function releaseEnd({ failed }: Pick<CommandOf<"release">, "failed">): "failed" | "released" {
  return failed ? "failed" : "released";
}

function withdraw(
  draft: Draft,
  { secret }: CommandOf<"withdraw">,
  known: Claim | undefined,
): OutcomeOf<"withdraw"> {
  if (known?.lockId !== draft.lock.id || known.state === "ended") return { kind: "done" };
  const isUnheard = known.secret === secret && known.state === "held" && isAsGranted(known);
  if (isServerMade(known.requestId) || isUnheard) end(draft, known, "cancelled");
  return { kind: "done" };
}

function setLimit(draft: Draft, command: CommandOf<"set_limit">): OutcomeOf<"set_limit"> {
  const { lock } = draft;
  const { expectedVersion = lock.limitVersion } = command;
  if (expectedVersion !== lock.limitVersion) return { kind: "version_mismatch", version: lock.limitVersion };
  const from = { limit: lock.limit, rate: lock.rate, queueRules: lock.queueRules };
  Object.assign(lock, withSet(from, command));
  if (lock.waiting > 0) setOrder(draft);
  lock.limitVersion += 1n;
  lock.limitReason = command.reason;
  setInForce(draft);
  draft.events.push({ kind: "limit_set", lock: { ...lock }, from, caller: command.caller });
  const texts = { from: settingsText(from), to: settingsText(lock), reason: command.reason };
  draft.noted.push({ ...noteOf(draft, command), kind: "limit", ...texts });
  const { limit, rate, limitRules } = draft;
  const queueRules = effectiveQueueRules(lock, limitRules);
  return { kind: "limit", lock, limit, rate, queueRules, version: lock.limitVersion };
}

function forceRelease(draft: Draft, command: CommandOf<"force_release">): OutcomeOf<"force_release"> {
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
  return {
    kind: "forced",
    ended,
    holdersLeft: command.chosen?.holdersLeft ?? draft.lock.holders - draft.lock.entering,
  };
}

function updateRecord(draft: Draft, command: UpdateRecord): OutcomeOf<"update_record"> {
  const { lock } = draft;
  const { record: before } = lock;
  const version = before?.version ?? 0n;
  const { expectedVersion = version } = command;
  if (expectedVersion !== version) return { kind: "version_mismatch", version };
  const isNewRecord = before === null;
  if (isNewRecord && command.mayMakeRecord === false) return { kind: "no_record" };
  const { caller } = command;
  const set = nextRecord(lock, changesOf(draft, command), draft.failOver, principalOf(command));
  lock.record = set;
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

function changesOf({ lock, nowUs }: Draft, { notBefore, attemptsLeft, status }: UpdateRecord): RecordChange {
  return {
    ...(notBefore !== undefined && { notBeforeUs: instantOf(notBefore, nowUs) }),
    ...(attemptsLeft !== undefined && { attemptsLeft, attemptsSince: lock.lastToken }),
    ...(status !== undefined && { status }),
  };
}

function instantOf(notBefore: NonNullable<UpdateRecord["notBefore"]> | null, nowUs: number): number | null {
  if (notBefore === null) return null;
  return "atUs" in notBefore ? notBefore.atUs : nowUs + notBefore.inUs;
}

function find(draft: Draft, ref: ClaimRef): Claim | undefined {
  const claim = claimOf(draft, ref.ticketNumber);
  return claim && isLead(claim) && sameSecret(claim.secret, ref.secret) ? claim : undefined;
}

/** Returns the existing claim if the request id is known; otherwise grants at once, enqueues or refuses. */
function acquire(draft: Draft, command: Acquire, known: Claim | undefined): OutcomeOf<"acquire"> {
  if (known) {
    return known.lockId === draft.lock.id && comesBackTo(command, known)
      ? returning(draft, known, command.replica)
      : { kind: "request_id_reused" };
  }
  const asking = askingOf(draft, command);
  const isGranted = asking.every(isGrantable);
  const refusedAtOnce = whyNot(asking, isGranted, command);
  if (refusedAtOnce) return refusedAtOnce;
  const parts = newParts(asking, command);
  const [{ claim: lead }, ...others] = parts as [Part, ...Part[]];
  if (isGranted) {
    for (const part of parts) occupyAtOnce(part.draft, part.claim);
    enter(draft, lead, command);
    if (lead.state !== "waiting") return asItIs(lead);
    for (const part of others) recordWait(part.draft, part.claim, command.caller);
    return entering(draft, lead, command);
  }
  const place = longestPlace(asking.map((one) => placeAtTheEnd(one, asking)));
  const [claim] = parts.map((part) => enqueue(part.draft, part.claim, command));
  return { kind: "waiting", claim: claim as Claim, place };
}

/** One of the locks that an Acquire asks for. */
interface AskingAt extends WantedLock {
  readonly draft: Draft;
  readonly ttlUs: number | null;
  /** Whether the claim fits beside the holders, and nobody waits before it. */
  readonly isFree: boolean;
}

function askingOf(draft: Draft, { name, mode, permits, ttlUs, also = [] }: Acquire): AskingAt[] {
  const at = (there: Draft, wanted: WantedLock): AskingAt => {
    const asked = { mode: wanted.mode, permits: wanted.permits, ttlUs };
    const isFree = there.lock.waiting === 0 && fits(there.lock, there.limit.limit, asked);
    return { draft: there, name: wanted.name, ...asked, isFree };
  };
  const asking = [at(draft, { name, mode, permits })];
  for (const wanted of also) {
    const there = draft.batch.drafts.find(({ lock }) => lock.id === wanted.lockId);
    if (there) asking.push(at(there, wanted));
  }
  return asking;
}

/** Whether all the locks that the command names were read, and have the names that it gives. */
export function hasAllLocks({ batch }: Draft, command: Command): boolean {
  if (command.verb !== "acquire" || !command.also) return true;
  return command.also.every(({ lockId, name }) =>
    batch.drafts.some(({ lock }) => lock.id === lockId && lock.name === name),
  );
}

function isGrantable({ draft, permits, isFree }: AskingAt): boolean {
  const { lock, rate, clock } = draft;
  return isFree && mayGrant(draft) && isAllowed(rate, lock.rateUntilUs, permits, clock);
}

/** Why the request leaves no claim behind; null: it does, and has room where it will wait. `isGranted`: all of its locks may be granted now. */
function whyNot(
  asking: readonly AskingAt[],
  isGranted: boolean,
  command: Acquire,
): OutcomeNamed<"refused"> | null {
  const here = (one: AskingAt, why: OutcomeNamed<"refused">): OutcomeNamed<"refused"> =>
    asking.length === 1 ? why : { ...why, at: { lockId: one.draft.lock.id, lockName: one.name } };
  for (const one of asking) {
    const why =
      whyNever(one, asking) ?? (isExhausted(one.draft.lock) ? refused(one.draft, "exhausted") : null);
    if (why) return here(one, why);
  }
  for (const one of asking) {
    const { draft, isFree } = one;
    if (isFree && mayGrant(draft) && !isInWantedStatus(draft.lock, command.terms ?? null))
      return here(one, { ...refused(draft, "status_mismatch"), status: statusOf(draft.lock) });
  }
  if (isGranted) {
    for (const one of asking) {
      const why = whyNotThroughPools(one, asking, command.mayWait);
      if (why) return here(one, why);
    }
    return null;
  }
  if (!command.mayWait) {
    const one = asking.find((each) => !isGrantable(each)) as AskingAt;
    return here(one, refusedNow(one));
  }
  for (const one of asking) {
    const why = makeRoom(one.draft, command);
    if (why) return here(one, why);
  }
  return null;
}

/**
 * Makes room in the lock's queue. Where its queue rules say so the newest wins: those that have waited longest end, until the new
 * claim has a place. Only a request for one lock comes so far there, so nothing refuses it any more. Returns why there is no room;
 * null: there is.
 */
function makeRoom(draft: Draft, command: Acquire): OutcomeNamed<"refused"> | null {
  const { lock, policy, limitRules, queue } = draft;
  if (lock.waiting === 0) return null;
  const queueRules = effectiveQueueRules(lock, limitRules);
  const max = Math.min(queueRules?.waitingMax ?? policy.queueMax, policy.queueMax);
  if (lock.waiting < max) return null;
  if (queueRules?.whenFull !== "end_longest_waiting" || !maySupersede(draft, command, queue[0])) {
    const isByRules = queueRules?.waitingMax != null && lock.waiting >= queueRules.waitingMax;
    return { ...refused(draft, "queue_full"), ...(isByRules && { queueRules }) };
  }
  const { caller } = command;
  for (let longest = queue[0]; longest && lock.waiting >= max; longest = queue[0]) {
    if (!maySupersede(draft, command, longest)) break;
    end(draft, longest, "superseded", { by: byOf(caller), caller });
  }
  return null;
}

function maySupersede({ lock }: Draft, command: Acquire, longest: Claim | undefined): boolean {
  if (longest?.principal === principalOf(command)) return true;
  return command.caller?.maySupersede?.(lock.name) ?? true;
}

/** A request that may not wait takes all levels now or none, and passes nobody. null: nothing is in its way. */
function whyNotThroughPools(
  { draft }: AskingAt,
  asking: readonly AskingAt[],
  mayWait: boolean,
): OutcomeNamed<"refused"> | null {
  for (const pool of poolsOverLock(draft)) {
    if (pool.isLeaving) continue;
    const { limit, rate } = pool;
    const taken = takenOf(pool, asking);
    if (mayWait) {
      const isFull = pool.lock.waiting >= draft.policy.queueMax && !pool.hasRoomFor(taken);
      if (isFull) return { ...refused(draft, "queue_full"), limit };
      continue;
    }
    if (limit.limit === 0) return { ...refused(draft, "paused"), limit };
    if (pool.lock.waiting > 0 || !pool.hasRoomFor(taken)) return { ...refused(draft, "busy"), limit };
    if (rate && !pool.isRateReady(taken)) {
      const forUs = Math.max(RETRY_AFTER_US_MIN, pool.allowedFromUs(taken) - draft.clock.atLeastUs);
      return { ...refused(draft, "rate"), limit, rate, forUs };
    }
  }
  return null;
}

function takenOf(pool: Pool, asking: readonly AskingAt[]) {
  const [first] = asking as readonly [AskingAt];
  return pool.takenBy({ ...first, members: asking.length > 1 ? asking : null });
}

/** A new claim that has its own lock, and waits at a pool: its place is the last one there. */
function entering(draft: Draft, claim: Claim, command: Acquire): OutcomeNamed<"waiting"> {
  keepAlive(draft, claim, claim.replica);
  const at = waitsAt(claim);
  const pool = at === null ? null : draft.pools.get(at);
  return {
    kind: "waiting",
    claim: recordWait(draft, claim, command.caller),
    place: pool && placeAt(pool, claim, draft.nowUs),
  };
}

function placeAt(pool: Pool, claim: Claim, nowUs: number): Place {
  const { lock, rate, pattern } = pool;
  const { limit, waiting, waitingPermits, rateUntilUs } = lock;
  const permitsAhead = waitingPermits - pool.takenBy(claim).room;
  return {
    ...{ ahead: waiting - 1, permitsAhead, queueLength: waiting, pool: pattern },
    ...(rate &&
      limit !== 0 && {
        rateWaitUs: rateWaitUs(rate, rateUntilUs, permitsAhead + pool.takenBy(claim).permits, nowUs),
      }),
  };
}

function placeAtTheEnd(one: AskingAt, asking: readonly AskingAt[]): Place {
  const { draft, name, permits } = one;
  const { lock, limit, rate, nowUs } = draft;
  const { waiting, waitingPermits } = lock;
  return {
    ...(asking.length > 1 && { waitsFor: name }),
    ahead: waiting,
    permitsAhead: waitingPermits,
    queueLength: waiting + 1,
    // A paused lock is not granted when the rate allows it.
    ...(rate &&
      limit.limit > 0 && { rateWaitUs: rateWaitUs(rate, lock.rateUntilUs, waitingPermits + permits, nowUs) }),
  };
}

function whyNever(asked: AskingAt, asking: readonly AskingAt[]): OutcomeNamed<"refused"> | null {
  const { draft } = asked;
  if (neverFits(draft.limit.limit, asked)) return refused(draft, "never_fits");
  const { rate } = draft;
  if (rate && exceedsBurst(rate, asked.permits)) return { ...refused(draft, "never_fits"), rate };
  // It holds the first place of one queue while it waits in another, and must neither lose it nor be passed meanwhile.
  const queueRules = asking.length > 1 ? effectiveQueueRules(draft.lock, draft.limitRules) : null;
  if (queueRules && !isByArrival(queueRules)) return { ...refused(draft, "never_fits"), queueRules };
  for (const pool of poolsOverLock(draft)) {
    const taken = takenOf(pool, asking);
    if (!pool.neverFits(taken)) continue;
    const { limit, rate } = pool;
    return {
      ...refused(draft, "never_fits"),
      limit,
      ...(exceedsBurst(rate, taken.permits) && rate && { rate }),
    };
  }
  return null;
}

/** For a client that comes back to its claim, by request id or by ticket. If the claim still waits, this is a sign of life. */
function returning(
  draft: Draft,
  claim: Claim,
  replica: bigint | null,
): OutcomeNamed<"held" | "waiting" | "ended"> {
  if (claim.state === "waiting") keepAlive(draft, claim, replica);
  else if (claim.state === "held") confirm(draft, claim);
  return asItIs(claim);
}

/** The outcome for a claim that the command leaves in its state. */
function asItIs(claim: Claim): OutcomeNamed<"held" | "waiting" | "ended"> {
  const { state } = claim;
  if (state === "waiting") return { kind: state, claim: snapshot(claim), place: null };
  return { kind: state, claim: snapshot(claim) };
}

/** Whether the command comes back to exactly this claim, by its id or by its request id. */
export function comesBackTo(command: Command, claim: Claim): command is CommandOf<"acquire" | "attach"> {
  if (command.verb === "attach") {
    const { lockId, ticketNumber, secret } = command.ref;
    return claim.lockId === lockId && claim.ticketNumber === ticketNumber && sameSecret(claim.secret, secret);
  }
  if (command.verb !== "acquire") return false;
  return (
    claim.requestId === command.requestId &&
    claim.mode === command.mode &&
    claim.permits === command.permits &&
    isSpend(claim) === isSpend(command) &&
    namesSame(claim, command)
  );
}

function namesSame({ members }: Claim, { also = [] }: Acquire): boolean {
  if (members === null) return also.length === 0;
  return (
    members.length === also.length + 1 &&
    also.every((wanted, at) => {
      const member = members[at + 1] as Member;
      return member.name === wanted.name && member.mode === wanted.mode && member.permits === wanted.permits;
    })
  );
}

/** Who asks, as the server has verified it; empty if it asks nobody. */
function principalOf({ caller }: Pick<Acquire, "caller">): string {
  return caller?.principal ?? "";
}

/** Whether the claim waits, and its place had not run out `agoUs` ago. */
export function wasKept(claim: Claim, nowUs: number, agoUs: number): boolean {
  return claim.state === "waiting" && claim.deadlineUs !== null && claim.deadlineUs > nowUs - agoUs;
}

/**
 * Keeps a place that has run out since the command arrived, `ageUs` ago: a waiter that was in time must not lose it because
 * another transaction held the lock's rows. Call it before `endDue`, for each command that may come back to a claim. Does not
 * prolong a wait that is over. Ignores leases: an expired one is never revived.
 */
export function keepInTime(draft: Draft, command: Command, known: Claim, ageUs: number): void {
  const { nowUs, lock } = draft;
  if (known.lockId !== lock.id || !wasKept(known, nowUs, ageUs) || wasKept(known, nowUs, 0)) return;
  if (comesBackTo(command, known)) keepAlive(draft, known, command.replica);
}

function refusedNow(asked: AskingAt): OutcomeNamed<"refused"> {
  const { draft, isFree } = asked;
  const { lock, clock, failOver, limit, rate } = draft;
  if (limit.limit === 0) return refused(draft, "paused");
  const isDue = isDueNow(lock, clock);
  if (isDue && !isFree)
    return { ...refused(draft, "busy"), ...soleHolder(draft), ...waitForRate(draft, asked) };
  if (rate && mayGrant(draft)) {
    const forUs = Math.max(
      RETRY_AFTER_US_MIN,
      allowedFromUs(rate, lock.rateUntilUs, asked.permits) - clock.atLeastUs,
    );
    return { ...refused(draft, "rate"), rate, forUs };
  }
  const fromUs = Math.max(failOver.grantsFromUs, lock.record?.notBeforeUs ?? 0);
  // `nowUs` is the upper bound of the clock, and the time was set by it. So this never exceeds the delay asked for.
  const forUs = Math.max(RETRY_AFTER_US_MIN, fromUs - clock.nowUs);
  return { ...refused(draft, isDue ? "failed_over" : "not_before"), forUs };
}

/** If only waiters are in the way, and they wait for the rate, it says for how long. */
function waitForRate({ lock, limit, rate, nowUs }: Draft, asked: AskingAt) {
  if (!rate || !fits(lock, limit.limit, asked)) return {};
  const forUs = rateWaitUs(rate, lock.rateUntilUs, lock.waitingPermits + asked.permits, nowUs);
  return forUs > 0 ? { forUs } : {};
}

function refused(draft: Draft, reason: Refused): OutcomeNamed<"refused"> {
  return { kind: "refused", reason, limit: draft.limit };
}

/** Most busy locks have one holder. Then the refusal needs no read of the holders. */
function soleHolder(draft: Draft): Pick<OutcomeNamed<"refused">, "holders"> {
  const { lock } = draft;
  const holder = lock.holders === 1 && lock.firstHolder !== null && claimOf(draft, lock.firstHolder);
  return holder && holder.state === "held" ? { holders: [snapshot(holder)] } : {};
}

/** A row for each lock, the lead first. */
function newParts(asking: readonly AskingAt[], command: Acquire): Part[] {
  const members = asking.map(({ draft: { lock }, name, mode, permits }): Member => {
    const ticketNumber = lock.nextTicket;
    lock.nextTicket += 1n;
    return { lockId: lock.id, ticketNumber, name, mode, permits, fencingToken: 0n };
  });
  const shared = members.length > 1 ? members : null;
  return asking.map(({ draft }, at) => {
    const requestId = at === 0 ? command.requestId : memberRequestId(command.secret, at);
    return { draft, claim: newClaim(command, members[at] as Member, requestId, shared, draft.nowUs) };
  });
}

function newClaim(
  command: Acquire,
  { lockId, ticketNumber, mode, permits }: Member,
  requestId: string,
  members: readonly Member[] | null,
  nowUs: number,
): Claim {
  return {
    lockId,
    ticketNumber,
    secret: command.secret,
    requestId,
    mode,
    permits,
    owner: command.owner,
    principal: principalOf(command),
    labels: command.labels,
    requestedAtUs: nowUs,
    waitUntilUs: command.maxWaitUs === null ? null : nowUs + command.maxWaitUs,
    terms: command.terms ?? null,
    state: "waiting",
    turn: null,
    group: null,
    levels: null,
    members,
    ttlUs: command.ttlUs,
    deadlineUs: null,
    replica: command.replica,
    provisional: false,
    fencingToken: 0n,
    grantedAtUs: null,
    endedAtUs: null,
    endReason: null,
    endNote: "",
    endedBy: "",
  };
}
