// Decides one transaction: from the rows of some locks, the commands for each of them and a time, to the rows to
// write, the outcomes and the events. Pure: no I/O, no clock, no randomness. Throws only for bugs.

import { addByLock, type Claim, type ClaimKey } from "./claim.ts";
import type { Change, Command, Event, Outcome, Release } from "./command.ts";
import { decide, hasAllLocks, hasChanged, isChange, keepInTime } from "./decide.ts";
import { decidePool } from "./decide-pool.ts";
import { type Batch, claimOf, type Draft, openDraft } from "./draft.ts";
import { grantWaiters } from "./levels.ts";
import type { Lock } from "./lock.ts";
import type { NotedChange } from "./noted-change.ts";
import { type Pool, Pools, poolPrefix, RowsNeeded } from "./pools.ts";
import type { Policy, PoolRows, Rows } from "./rows.ts";
import { wholeOf } from "./sets.ts";
import { setOrder } from "./shares.ts";
import { endDue, wakeOf } from "./transitions.ts";

/** `submittedMs`: when the command arrived, by the server's own clock. */
export interface Submitted {
  readonly command: Command;
  readonly submittedMs: number;
}

/** The commands of a transaction, by lock, in order of arrival. */
export type SubmittedByLock = ReadonlyMap<bigint, readonly Submitted[]>;

export interface Context {
  readonly policy: Policy;
  /** The server's own clock, as for `submittedMs`. */
  readonly nowMs: number;
  /** The present attempt, and the mark that it leaves at locks that it changes; see `Marks`. */
  readonly attempt: { readonly mark: bigint };
  /** Attempts of these commands with unknown outcomes, the first one first. A command must recognise its own work. */
  readonly earlier: readonly { readonly decided: ReadonlyMap<bigint, Decided> }[];
}

// Changes of limits and of records, and forced releases, must not be made twice, and must not overwrite what others have set
// since. If the answer to a COMMIT is lost, the server does not know whether the change was made. So each attempt leaves a
// mark at the lock that no other attempt can leave. A repeated command looks only at the mark:
// - It is an earlier attempt's own mark: that attempt was committed, and its outcome is the answer.
// - It is the mark that the attempt had found: the attempt was not committed, and the change is made now.
// - It is any other mark: the change is in doubt. The present values are newer than the call, so they stay.

/** What an attempt has decided about one lock. */
export interface Marks {
  /** The guard row's mark before the attempt. */
  readonly markFound: bigint;
  /** The mark after the attempt: a new one if the attempt made a change. */
  readonly markLeft: bigint;
  /** One for each command of the lock, in the same order; undefined: the lock is not the one that the command names. */
  readonly outcomes: readonly (Outcome | undefined)[];
}

export interface Decided extends Marks {
  readonly nowUs: number;
  readonly lockName: string;
  readonly events: readonly Event[];
}

export interface BatchEvent {
  readonly event: Event;
  readonly lockName: string;
  readonly nowUs: number;
}

export interface Decision {
  /** All guard rows, changed or not. */
  readonly locks: Lock[];
  /** All pools that were read, changed or not. */
  readonly pools: PoolRows[];
  /** Claims that may go on, from one of these pools or with all of their locks, and are to be looked at with these. */
  readonly mayGoOn: ClaimKey[];
  readonly added: Claim[];
  readonly changed: Claim[];
  /** Changes that the commands have made, for the history. */
  readonly noted: NotedChange[];
  /** Locks whose decision must go on, without commands, once more of their waiters are read. */
  readonly again: bigint[];
  readonly decided: Map<bigint, Decided>;
  readonly events: BatchEvent[];
}

/** Brings each lock up to the present time, and applies its commands in order. Throws RowsNeeded, and then its rows are of no use. */
export function decideBatch(rows: Rows, asked: SubmittedByLock, context: Context): Decision {
  const claimsOf = new Map<bigint, Claim[]>();
  const byRequestId = new Map<string, Claim>();
  addByLock(claimsOf, rows.claims);
  for (const claim of rows.claims) byRequestId.set(claim.requestId, claim);
  const decision: Decision = {
    locks: [],
    pools: [],
    mayGoOn: [],
    added: [],
    changed: [],
    noted: [],
    again: [],
    decided: new Map(),
    events: [],
  };
  const pools = new Pools(rows.pools, rows);
  const drafts: Draft[] = [];
  const batch: Batch = { drafts, setsMoved: false };
  const turns: Turn[] = [];
  for (const lock of rows.locks.values()) {
    // It was planned as a lock, because nobody knew its name.
    if (poolPrefix(lock.name) !== null) throw new RowsNeeded({ pools: [lock.id] });
    const ownAsked = asked.get(lock.id) ?? NONE;
    // Without commands, this decision goes on with another one, or follows a change of a pattern.
    const mayHelp = asked.size === 0 || ownAsked.some(({ command }) => !HELPS_NOBODY.has(command.verb));
    const claims = claimsOf.get(lock.id) ?? [];
    const draft = openDraft(lock, claims, rows, batch, pools, context.policy, mayHelp);
    drafts.push(draft);
    const markFound = lock.changeMark;
    const earlier =
      context.earlier.length > 0
        ? context.earlier.flatMap(({ decided }) => decided.get(lock.id) ?? [])
        : NONE;
    turns.push({
      draft,
      asked: ownAsked,
      byRequestId,
      taken: rows.takenRequestIds,
      markFound,
      earlier,
      context,
    });
  }
  if (hasSets(rows)) requireWhole(turns);
  // A change of a pattern leaves the order of each queue to the next decision about it.
  for (const { draft, asked } of turns) if (asked.length > 0 && draft.lock.waiting > 0) setOrder(draft);
  for (const turn of turns) {
    const { draft, markFound, earlier } = turn;
    // An attempt that was committed without an answer.
    const committed = earlier.length > 0 && committedOf(markFound, earlier);
    if (committed) draft.events.push(...committed.events.filter(isUnheard));
    if (draft.lock.waiting > 0) keepPlaces(turn);
    endDue(draft);
  }
  for (const turn of turns) {
    const { draft, asked, markFound } = turn;
    grantWaiters(draft);
    const outcomes: (Outcome | undefined)[] = [];
    for (let index = 0; index < asked.length; index++)
      outcomes.push(outcomeOf(turn, (asked[index] as Submitted).command, index));
    const { nowUs, events, lock } = draft;
    const { name: lockName, changeMark: markLeft } = lock;
    decision.decided.set(lock.id, { nowUs, lockName, outcomes, markFound, markLeft, events });
  }
  settle(batch);
  for (const draft of drafts) close(draft, decision);
  for (const pool of pools.all()) {
    const ownAsked = asked.get(pool.id);
    if (ownAsked)
      decision.decided.set(pool.id, decideAboutPool(pool, ownAsked, rows.nowUs, context, decision));
    closePool(pool, decision);
  }
  return decision;
}

/** Commands that make room for no waiter, but by what ends with them. */
const HELPS_NOBODY: ReadonlySet<Command["verb"]> = new Set(["acquire", "renew", "attach", "detach"]);

function hasSets({ claims, queues }: Rows): boolean {
  if (claims.some(({ members }) => members !== null)) return true;
  for (const { head } of queues.values()) if (head.some(({ members }) => members !== null)) return true;
  return false;
}

/** A command about a claim for several locks needs all of them. Throws RowsNeeded if some were not read. */
function requireWhole(turns: readonly Turn[]): void {
  const sets: (readonly ClaimKey[])[] = [];
  for (const { draft, asked, byRequestId } of turns)
    for (const { command } of asked)
      for (const claim of claimsMeant(draft, command, byRequestId))
        if (claim.state !== "ended" && !wholeOf(draft, claim)) sets.push(claim.members ?? []);
  if (sets.length > 0) throw new RowsNeeded({ sets });
}

function claimsMeant(
  draft: Draft,
  command: Command,
  byRequestId: ReadonlyMap<string, Claim>,
): readonly Claim[] {
  if (command.verb === "force_release" && command.ticketNumber === null)
    return draft.claims.filter(({ state }) => state === "held");
  const tickets =
    command.verb === "advance"
      ? (command.claims ?? []).map(({ ticketNumber }) => ticketNumber)
      : command.verb === "force_release"
        ? [command.ticketNumber as bigint]
        : "ref" in command
          ? [command.ref.ticketNumber]
          : [];
  const byTicket = draft.claims.filter(({ ticketNumber }) => tickets.includes(ticketNumber));
  const byRequest = "requestId" in command ? byRequestId.get(command.requestId) : undefined;
  return byRequest?.lockId === draft.lock.id ? [...byTicket, byRequest] : byTicket;
}

/** What a claim for several locks has given back may be granted at a lock whose turn was before. */
function settle(batch: Batch): void {
  for (let round = 0; batch.setsMoved && round < batch.drafts.length; round++) {
    batch.setsMoved = false;
    for (const draft of batch.drafts) grantWaiters(draft);
  }
}

/** A pool has no claims of its own: only what is asked of the pool itself is decided here. */
function decideAboutPool(
  pool: Pool,
  asked: readonly Submitted[],
  nowUs: number,
  { attempt, earlier }: Context,
  { noted }: Decision,
): Decided {
  const { lock } = pool;
  const markFound = lock.changeMark;
  const before = earlier.flatMap(({ decided }) => decided.get(lock.id) ?? []);
  const outcomes = asked.map(({ command }, index) => {
    if ("name" in command && command.name !== lock.name) return undefined;
    if (!isChange(command)) return decidePool(pool, command, attempt, noted);
    const left = afterEarlier(command, index, markFound, before);
    if ("outcome" in left) return left.outcome;
    const outcome = decidePool(pool, left.command, attempt, noted);
    if (hasChanged(outcome)) lock.changeMark = attempt.mark;
    return outcome;
  });
  return { nowUs, lockName: lock.name, outcomes, markFound, markLeft: lock.changeMark, events: [] };
}

function closePool(pool: Pool, { pools, mayGoOn }: Decision): void {
  const { now, fromUs } = pool.toLookAt();
  pool.lock.wakesAtUs = fromUs;
  pools.push({ lock: pool.lock, queue: pool.queue, complete: pool.isComplete });
  for (const { lockId, ticketNumber } of now) mayGoOn.push({ lockId, ticketNumber });
}

const NONE: readonly never[] = [];

interface Turn {
  readonly draft: Draft;
  readonly asked: readonly Submitted[];
  readonly byRequestId: Map<string, Claim>;
  readonly taken: Rows["takenRequestIds"];
  /** The lock's mark before this transaction. */
  readonly markFound: bigint;
  readonly earlier: readonly Decided[];
  readonly context: Context;
}

/** A client that came back in time keeps its place, however long its command waited for its turn. */
function keepPlaces({ draft, asked, byRequestId, context: { nowMs } }: Turn): void {
  for (const { command, submittedMs } of asked) {
    if (command.verb !== "attach" && command.verb !== "acquire") continue;
    const claim =
      command.verb === "attach"
        ? claimOf(draft, command.ref.ticketNumber)
        : byRequestId.get(command.requestId);
    if (claim) keepInTime(draft, command, claim, (nowMs - submittedMs) * 1_000);
  }
}

function outcomeOf(turn: Turn, command: Command, index: number): Outcome | undefined {
  const { draft, byRequestId, taken, earlier } = turn;
  // After a fail-over to a copy that lags, an id that was learnt before may belong to another name.
  if ("name" in command && command.name !== draft.lock.name) return undefined;
  if (!hasAllLocks(draft, command)) return undefined;
  if (isChange(command)) return outcomeOfChange(turn, command, index);
  if (command.verb === "release") {
    const repeated =
      earlier.length > 0 && earlier.some((before) => hasReleased(draft, command, before, index));
    return decide(draft, repeated ? { ...command, repeated } : command);
  }
  if (!("requestId" in command)) return decide(draft, command);
  if (command.verb === "acquire" && taken?.has(command.requestId)) return { kind: "request_id_reused" };
  const outcome = decide(draft, command, byRequestId.get(command.requestId));
  // A second Acquire with the same request id in this batch must find the first.
  if (outcome.kind === "held" || outcome.kind === "waiting" || outcome.kind === "ended") {
    const claim = claimOf(draft, outcome.claim.ticketNumber);
    if (claim) byRequestId.set(command.requestId, claim);
  }
  return outcome;
}

function outcomeOfChange(turn: Turn, command: Change, index: number): Outcome {
  const { draft, markFound, earlier, context } = turn;
  const left = afterEarlier(command, index, markFound, earlier);
  if ("outcome" in left) return left.outcome;
  const outcome = decide(draft, left.command);
  if (hasChanged(outcome)) draft.lock.changeMark = context.attempt.mark;
  return outcome;
}

/** Observers do not hear late of a grant, which may have ended since: its waiter learns of it by polling. */
function isUnheard({ kind }: Event): boolean {
  return kind !== "granted" && kind !== "enqueued";
}

/**
 * Whether the earlier attempt made the claim's present end. The time of the end shows it: another caller's release,
 * after that attempt was rolled back, has another time.
 */
function hasReleased(draft: Draft, { ref }: Release, before: Decided, index: number): boolean {
  const outcome = before.outcomes[index];
  const endedAtUs = claimOf(draft, ref.ticketNumber)?.endedAtUs;
  return outcome?.kind === "released" && outcome.byThisCall && endedAtUs === before.nowUs;
}

function close(draft: Draft, { locks, added, changed, noted, again, events, mayGoOn }: Decision): void {
  const { lock, nowUs } = draft;
  lock.wakesAtUs = wakeOf(draft);
  locks.push(lock);
  for (const claim of draft.added) added.push(claim);
  for (const claim of draft.changed) changed.push(claim);
  for (const note of draft.noted) noted.push(note);
  for (const key of draft.left) mayGoOn.push(key);
  for (const event of draft.events) events.push({ event, lockName: lock.name, nowUs });
  if (draft.unfinished) again.push(lock.id);
}

/** The earlier attempt that left the present mark, so it was committed. */
function committedOf<Attempt extends Marks>(
  markNow: bigint,
  earlier: readonly Attempt[],
): Attempt | undefined {
  return earlier.find(({ markFound, markLeft }) => markLeft !== markFound && markLeft === markNow);
}

/**
 * What is known of a change that was tried before: the outcome, or the command still to run. A forced release keeps to the
 * claims that an earlier attempt chose.
 *
 * @param index of the command among those of its lock.
 * @param markNow the guard row's mark before the present attempt changes it.
 */
export function afterEarlier(
  command: Change,
  index: number,
  markNow: bigint,
  earlier: readonly Marks[],
): { readonly outcome: Outcome } | { readonly command: Change } {
  const done = committedOf(markNow, earlier)?.outcomes[index];
  if (done) return { outcome: done };
  let left = command;
  for (const { markFound, outcomes } of earlier) {
    const outcome = outcomes[index];
    if (!outcome) continue;
    if (markNow !== markFound && hasChanged(outcome)) return { outcome: { kind: "in_doubt" } };
    if (outcome.kind === "forced" && left.verb === "force_release") {
      const { ended, holdersLeft } = outcome;
      const ticketNumbers = new Set(ended.map(({ ticketNumber }) => ticketNumber));
      left = { ...left, chosen: { ticketNumbers, holdersLeft } };
    }
  }
  return { command: left };
}
