// What must hold after every transaction, whatever the commands were. Checks the rows before and after and the reported
// events, without the reference model: an error must be in both to stay hidden.

import type { Claim } from "../../server/core/claim.ts";
import type { Event } from "../../server/core/command.ts";
import type { Clock } from "../../server/core/database-clock.ts";
import type { LimitRule } from "../../server/core/limit.ts";
import type { FailOver, Lock, LockRecord } from "../../server/core/lock.ts";
import { HEAD_STARTS } from "../../server/core/queue-rules.ts";
import type { Policy } from "../../server/core/rows.ts";
import {
  compatible,
  limitInForce,
  type ModelRate,
  neverFits,
  ratedFrom,
  rateInForce,
} from "./reference-model.ts";

/** Ends caused by time alone. */
const BY_TIME: ReadonlySet<string> = new Set(["expired", "lapsed", "timed_out"]);

/** Ends that take a lease away from its holder. */
const LOST: ReadonlySet<string> = new Set(["expired", "force_released"]);

/** One lock before and after one transaction. */
export interface Transition {
  readonly clock: Clock;
  readonly failOver: FailOver;
  readonly settings: Pick<Policy, "graceUs" | "attachedForUs">;
  readonly before: { readonly lock: Lock; readonly claims: readonly Claim[] };
  readonly after: { readonly lock: Lock; readonly claims: readonly Claim[] };
  readonly limitRules: readonly LimitRule[];
  readonly events: readonly Event[];
  /** Whether the transaction read all due claims. */
  readonly allDueRead: boolean;
}

/** Throws an error that describes the first broken promise. */
export function checkInvariants(transition: Transition): void {
  countersEqualRows(transition);
  eventsTellWhatHappened(transition);
  groupsStandInOrder(transition);
  endedStaysEnded(transition);
  nothingFreeBesideAFittingWaiter(transition);
  somebodyWillLook(transition);
}

/** Versions of an epoch are above all before. */
function versionAfter({ version }: LockRecord, epoch: bigint): bigint {
  return (version > epoch << 36n ? version : epoch << 36n) + 1n;
}

/** Permits that a principal has of the lock. */
function heldBy({ principal }: Claim, holders: Iterable<Claim>): number {
  return [...holders]
    .filter((holder) => holder.principal === principal)
    .reduce((sum, { permits }) => sum + permits, 0);
}

/** Whether a waiter may be next: where shares are fair, if its principal holds least; and it came before all others of its. */
function mayBeNext(
  claim: Claim,
  waiters: ReadonlyMap<bigint, Claim>,
  holders: ReadonlyMap<bigint, Claim>,
  isShared: boolean,
): boolean {
  const rivals = [...waiters.values()].filter(({ principal }) => !isShared || principal === claim.principal);
  const isFirst = rivals.every(({ ticketNumber }) => ticketNumber >= claim.ticketNumber);
  const least = Math.min(...[...waiters.values()].map((waiter) => heldBy(waiter, holders.values())));
  return isFirst && (!isShared || heldBy(claim, holders.values()) === least);
}

/** Who is next: of those whose principals hold least, the one that has waited longest for its turn. */
function nextIn(lock: Lock, claims: readonly Claim[]): Claim | undefined {
  const waiting = claims.filter(isWaiting);
  if (!lock.sharedBy) return waiting[0];
  const byTurns = waiting.toSorted((a, b) => Number((a.turn ?? 0n) - (b.turn ?? 0n)));
  if (lock.sharedBy === HEAD_STARTS) return byTurns[0];
  const holders = claims.filter(isHeld);
  const turns = waiting.filter(({ turn }) => turn !== null);
  return turns
    .sort((a, b) => Number(a.ticketNumber - b.ticketNumber))
    .sort((a, b) => Number((a.turn ?? 0n) - (b.turn ?? 0n)))
    .sort((a, b) => heldBy(a, holders) - heldBy(b, holders))[0];
}

/** Replays the reported events one by one against sets of holders and waiters. */
function eventsTellWhatHappened(transition: Transition): void {
  const { before, after, limitRules, events } = transition;
  const { atLeastUs } = transition.clock;
  const { epoch } = transition.failOver;
  const holders = new Map(before.claims.filter(isHeld).map((claim) => [claim.ticketNumber, claim]));
  const waiters = new Map(before.claims.filter(isWaiting).map((claim) => [claim.ticketNumber, claim]));
  const due = new Set(dueAmong(before.claims, transition).map((claim) => claim.ticketNumber));
  let { limit } = limitInForce(before.lock.name, before.lock.limit, limitRules);
  // In the middle of a decision the order changes with the rules of the name alone.
  const hasOneOrder = !events.some(({ kind }) => kind === "limit_set") && after.lock.sharedBy !== HEAD_STARTS;
  const isShared = after.lock.sharedBy === "principal";
  let lastToken = before.lock.lastToken;
  let { record } = before.lock;
  for (const event of events) {
    if (event.kind === "record_changed") {
      record = event.change === "set" ? event.record : null;
      continue;
    }
    if (event.kind === "limit_set") {
      limit = limitInForce(event.lock.name, event.lock.limit, limitRules).limit;
      continue;
    }
    const { claim } = event;
    const number = claim.ticketNumber;
    if (event.kind === "enqueued") {
      for (const other of waiters.keys()) demand(other < number, `ticket ${number} is given before ${other}`);
      waiters.set(number, claim);
    } else if (event.kind === "ended") {
      const from = event.was === "held" ? holders : waiters;
      demand(from.delete(number), `claim ${number} ends but was not ${event.was}`);
      const byTime = BY_TIME.has(claim.endReason ?? "");
      demand(!byTime || due.has(number), `claim ${number} ends as ${claim.endReason} before its time`);
      if (event.was === "held") {
        if (LOST.has(claim.endReason ?? "") && !claim.provisional)
          leavesWhatItsTermsSay(claim, event.record ?? null);
        record = event.record ?? null;
      } else if (claim.endReason === "exhausted") {
        demand(record?.attemptsLeft === 0, `claim ${number} ends as exhausted with attempts left`);
      } else if (claim.endReason === "status_mismatch") {
        demand(!isWanted(claim, record), `claim ${number} ends for a status that it wants`);
        demand(claim.endNote === (record?.status ?? ""), `claim ${number} tells another status`);
      }
    } else {
      demand(transition.failOver.grantsFromUs <= atLeastUs, `claim ${number} is granted in a pause`);
      demand(claim.fencingToken > transition.failOver.epoch << 36n, `token ${claim.fencingToken} is old`);
      demand(!due.has(number), `claim ${number} is granted although its time had run out`);
      demand(compatible([...holders.values()], claim, limit), `claim ${number} is granted but does not fit`);
      if (event.queued) {
        const isNext = !hasOneOrder || mayBeNext(claim, waiters, holders, isShared);
        demand(waiters.delete(number), `claim ${number} is granted but did not wait`);
        demand(isNext, `claim ${number} overtakes another one`);
      } else demand(waiters.size === 0, `claim ${number} barges past ${waiters.size} waiters`);
      demand((record?.notBeforeUs ?? 0) <= atLeastUs, `claim ${number} is granted before the lock is due`);
      demand(record?.attemptsLeft !== 0, `claim ${number} is granted without an attempt`);
      demand(isWanted(claim, record), `claim ${number} is granted in a status that it does not want`);
      if (record && record.attemptsLeft !== null)
        record = { ...record, attemptsLeft: record.attemptsLeft - 1, version: versionAfter(record, epoch) };
      demand(claim.fencingToken > lastToken, `token ${claim.fencingToken} after ${lastToken}`);
      lastToken = claim.fencingToken;
      holders.set(number, claim);
    }
  }
  demand(lastToken === after.lock.lastToken, "the guard row does not know the last token");
  demand(text(record) === text(after.lock.record), "the record is another than events say");
  if (before.lock.record && after.lock.record) {
    const { version } = before.lock.record;
    const isSame = text(before.lock.record) === text(after.lock.record);
    demand(isSame || after.lock.record.version > version, "the record has changed under its version");
  }
  demand(same(holders, after.claims.filter(isHeld)), "the rows hold other claims than the events say");
  demand(same(waiters, after.claims.filter(isWaiting)), "the rows wait for other claims than the events say");
  if (transition.allDueRead) {
    const [missed] = dueAmong(after.claims, transition);
    demand(!missed, `claim ${missed?.ticketNumber} is past its time and did not end`);
  }
}

/** Where shares are fair, the first waiter of each group has a turn, and no other one. */
function groupsStandInOrder({ after: { lock, claims } }: Transition): void {
  const first = new Set<string>();
  for (const { principal, ticketNumber, turn } of claims.filter(isWaiting)) {
    const isFirst = lock.sharedBy === HEAD_STARTS || (lock.sharedBy === "principal" && !first.has(principal));
    demand((turn !== null) === isFirst, `claim ${ticketNumber} has the turn ${turn}`);
    first.add(principal);
  }
}

function endedStaysEnded({ before, after }: Transition): void {
  for (const old of before.claims) {
    const now = after.claims.find((claim) => claim.ticketNumber === old.ticketNumber);
    demand(now, `claim ${old.ticketNumber} is gone`);
    if (old.state === "ended") demand(text(now) === text(old), `ended claim ${old.ticketNumber} has changed`);
    if (old.fencingToken > 0n) {
      demand(now?.fencingToken === old.fencingToken, `the token of claim ${old.ticketNumber} has changed`);
    }
  }
}

function nothingFreeBesideAFittingWaiter({ after, clock, failOver, limitRules }: Transition): void {
  const { limit } = limitInForce(after.lock.name, after.lock.limit, limitRules);
  const head = nextIn(after.lock, after.claims);
  if (!head) return;
  const { record } = after.lock;
  const grantsFromUs = Math.max(failOver.grantsFromUs, record?.notBeforeUs ?? 0);
  const rate = rateInForce(after.lock.name, after.lock.rate, limitRules);
  const ratedFromUs = rate ? ratedFrom(rate, after.lock.rateUntilUs, head.permits) : 0;
  const waitsForTime = clock.atLeastUs < Math.max(grantsFromUs, ratedFromUs) && record?.attemptsLeft !== 0;
  demand(
    waitsForTime || !compatible(after.claims.filter(isHeld), head, limit),
    `claim ${head.ticketNumber} is the first in the queue and fits, but waits`,
  );
  const hopeless = neverFits(head, limit) || (rate && head.permits > rate.burst);
  demand(!hopeless, `claim ${head.ticketNumber} heads the queue and can never fit`);
}

/** The lock is looked at when its first waiter may be granted by its record and its rate, if it waits for that time. */
function somebodyWillLook({ after: { lock, claims }, clock, limitRules }: Transition): void {
  const isAhead = (atUs: number) => atUs > clock.atLeastUs;
  const head = nextIn(lock, claims);
  const notBeforeUs = lock.record?.notBeforeUs ?? 0;
  const rate = rateInForce(lock.name, lock.rate, limitRules);
  const { limit } = limitInForce(lock.name, lock.limit, limitRules);
  let expected: number | null = null;
  if (head && isAhead(notBeforeUs)) expected = notBeforeUs;
  else if (head && rate && compatible(claims.filter(isHeld), head, limit)) {
    const fromUs = ratedFrom(rate, lock.rateUntilUs, head.permits);
    if (isAhead(fromUs)) expected = fromUs;
  }
  demand(lock.wakesAtUs === expected, `somebody looks at ${lock.wakesAtUs}, and should at ${expected}`);
}

/** What was granted by the rate that a lock has now. */
interface Window {
  readonly rate: ModelRate;
  readonly grants: { readonly atUs: number; readonly permits: number }[];
}

/** Checks each span of time between two grants against the promise about a rate, without the instant in the guard row. */
export class RateWindows {
  readonly #ofLocks = new Map<bigint, Window>();

  check({ before, after: { lock }, clock, limitRules, events }: Transition): void {
    this.#applies(lock.id, rateInForce(lock.name, before.lock.rate, limitRules));
    let isRated = rateInForce(lock.name, before.lock.rate, limitRules) !== null;
    for (const event of events) {
      if (event.kind === "limit_set") {
        const rate = rateInForce(lock.name, event.lock.rate, limitRules);
        this.#applies(lock.id, rate);
        isRated = rate !== null;
      } else if (event.kind === "granted" && isRated) {
        const { rate, grants } = this.#ofLocks.get(lock.id) as Window;
        grants.push({ atUs: clock.atLeastUs, permits: event.claim.permits });
        demandRate(rate, grants, event.claim.ticketNumber);
      }
    }
  }

  /** Another rate than before counts what was taken only up to its own burst, so its windows begin with it. */
  #applies(lockId: bigint, rate: ModelRate | null): void {
    const now = this.#ofLocks.get(lockId);
    const isSame = now && rate && text({ ...now.rate, source: "" }) === text({ ...rate, source: "" });
    if (rate && !isSame) this.#ofLocks.set(lockId, { rate, grants: [] });
  }
}

function demandRate({ permits, perUs, burst }: ModelRate, grants: Window["grants"], number: bigint): void {
  const endUs = grants.at(-1)?.atUs ?? 0;
  let taken = 0;
  for (const grant of grants.toReversed()) {
    taken += grant.permits;
    // A burst of single permits, each of which is rounded up to a microsecond, is allowed at once.
    const spanUs = endUs - grant.atUs + burst;
    const isKept = (taken - burst) * perUs <= permits * spanUs;
    demand(isKept, `claim ${number} is the last of ${taken} permits within ${endUs - grant.atUs} us`);
  }
}

function leavesWhatItsTermsSay({ terms, endedAtUs, ticketNumber }: Claim, record: LockRecord | null): void {
  if (!terms) return;
  const { lockDelayUs, statusIfLost, backoff } = terms;
  if (statusIfLost !== null)
    demand(record?.status === statusIfLost, `claim ${ticketNumber} is lost and leaves another status`);
  if (lockDelayUs)
    demand(
      (record?.notBeforeUs ?? 0) >= (endedAtUs as number) + lockDelayUs,
      `claim ${ticketNumber} is lost and leaves no delay`,
    );
  if (backoff)
    demand(
      (record?.notBeforeUs ?? 0) >= (endedAtUs as number) + backoff.firstUs,
      `claim ${ticketNumber} is lost and leaves no time to back off`,
    );
}

function isWanted({ terms }: Claim, record: LockRecord | null): boolean {
  return !terms || terms.ifStatus.length === 0 || terms.ifStatus.includes(record?.status ?? "");
}

function countersEqualRows({ after: { lock, claims } }: Transition): void {
  const held = claims.filter(isHeld);
  const waiting = claims.filter(isWaiting);
  const sum = (of: readonly Claim[]) => of.reduce((total, claim) => total + claim.permits, 0);
  const counted = {
    heldPermits: sum(held.filter((claim) => claim.mode === "permit")),
    sharedHolders: held.filter((claim) => claim.mode === "shared").length,
    exclusiveHolders: held.filter((claim) => claim.mode === "exclusive").length,
    holders: held.length,
    waiting: waiting.length,
    waitingPermits: sum(waiting),
  };
  for (const [counter, value] of Object.entries(counted)) {
    const said = lock[counter as keyof typeof counted];
    demand(said === value, `the guard row counts ${said} as ${counter}, the rows ${value}`);
  }
}

function isHeld(claim: Claim): boolean {
  return claim.state === "held";
}

function isWaiting(claim: Claim): boolean {
  return claim.state === "waiting";
}

/**
 * Live claims past their deadline. A jump of the clock or a fail-over ends no claim until the claim's time has passed
 * again; a replica that has just come back leaves places alone for a grace period.
 */
function dueAmong(claims: readonly Claim[], { clock, failOver, settings }: Transition): Claim[] {
  return claims.filter((claim) => {
    if (claim.state === "ended" || claim.deadlineUs === null) return false;
    const wholeEndUs = claim.ttlUs === null ? null : (claim.grantedAtUs ?? 0) + claim.ttlUs;
    const cutShort = claim.provisional && (wholeEndUs === null || claim.deadlineUs < wholeEndUs);
    const heldForUs = cutShort ? settings.graceUs : (claim.ttlUs ?? settings.graceUs);
    const givenForUs = isHeld(claim) ? heldForUs : settings.attachedForUs;
    const doubtedUntilUs = Math.max(clock.jumpedAtUs ?? 0, failOver.atUs) + givenForUs;
    const waitOver = claim.waitUntilUs !== null && claim.waitUntilUs <= clock.atLeastUs;
    const keptUntilUs =
      isHeld(claim) || waitOver || clock.backAtUs === null ? 0 : clock.backAtUs + settings.graceUs;
    const endUs = claim.deadlineUs + clock.skippedUs;
    return Math.max(endUs, doubtedUntilUs, keptUntilUs) <= clock.atLeastUs;
  });
}

function same(expected: ReadonlyMap<bigint, Claim>, claims: readonly Claim[]): boolean {
  return claims.length === expected.size && claims.every((claim) => expected.has(claim.ticketNumber));
}

function text(row: object | null | undefined): string {
  return JSON.stringify(row, (_key, value) => (typeof value === "bigint" ? `${value}n` : value));
}

function demand(holds: unknown, sentence: string): void {
  if (!holds) throw new Error(sentence);
}
