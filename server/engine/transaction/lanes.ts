// Lanes: each takes all queued commands, of many locks, into one transaction. Nothing is delayed on purpose: while one
// transaction runs, commands for the next ones gather. A lock is in at most one transaction of this replica at a time,
// so these never wait for each other's row locks. Renewals and releases go before what was queued earlier, as a lease
// that is renewed too late is lost, and a release makes room.
//
// Nor do lanes wait for row locks of others. When another transaction holds a row of one lock, the lane divides its
// locks until that one is alone. The commands of that lock go to the patient slots, and for a while they go there
// without a try in a lane. The other locks proceed.

import type { BoundUse } from "../../core/bound-use.ts";
import type { ClaimKey } from "../../core/claim.ts";
import type { Command } from "../../core/command.ts";
import { ROLLED_BACK } from "../../storage/retry.ts";
import { isRowLocked, ROW_LOCKED, StoreError } from "../../storage/store.ts";
import {
  BATCH_COMMANDS_MAX,
  BATCH_LOCKS_MAX,
  CROWDED_BATCH_LOCKS_MAX,
  CROWDED_FOR_MS,
  RETURNED_AFTER_MS,
} from "../engine-bounds.ts";
import { FairQueue, sourceOf } from "../fair-gate.ts";
import { Fault, overloaded, shuttingDown, unavailable } from "../faults.ts";
import type { Answer, AnswerTo, Follower } from "../lock-engine.ts";
import { type Deciding, decideJobs, giveUp, type Job, parts, type TransactionJobs } from "./attempts.ts";
import { type Batch, claimsMadeBy } from "./batch.ts";
import { type HeldUpJobs, PatientSlots } from "./held-up.ts";
import type { LockEntry, Locks, UnderWay } from "./locks.ts";

export interface LanesOptions extends Deciding {
  readonly locks: Locks;
  readonly lanes: number;
  readonly patientSlots: number;
  /** At most this many queued commands; twice as many with renewals and releases. */
  readonly queuedMax: number;
  /**
   * Learns of each command that waits long because another transaction holds its lock, with the claims that earlier
   * attempts made for it; perhaps twice of one.
   */
  readonly returned: { heldUp(job: Job, made?: readonly ClaimKey[]): void };
  /** Answers the commands after the commit. Must not throw. */
  readonly afterCommit: { answer(jobs: TransactionJobs["jobs"], batch: Batch): void };
  /** Learns of the commits, and of the jobs that are given up with the error that their callers get. Must not throw. */
  readonly health: {
    committed(jobs: TransactionJobs["jobs"]): void;
    failed(error: unknown, jobs: TransactionJobs["jobs"]): void;
  };
}

const IN_LANE: UnderWay = { kind: "in_lane" };

export class Lanes {
  readonly #options: LanesOptions;
  /** Locks with queued jobs, in the order in which they came. */
  readonly #queued = new Set<LockEntry>();
  readonly #slots: PatientSlots;
  /** Commands whose transaction has not begun. */
  #queuedCount = 0;
  #busy = 0;
  /** When one client last had more queued than a transaction takes while others waited, too. */
  #crowdedMs = Number.NEGATIVE_INFINITY;
  #scheduled = false;
  #isStopped = false;
  #idle: (() => void)[] = [];

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#slots = new PatientSlots(options.patientSlots);
  }

  /**
   * Resolves after the commit; null: the guard row is gone. Throws a Fault when the lanes are stopped, when the queue is
   * full, and when another transaction holds the lock of an optional command: an `advance`, which its sender repeats
   * anyway, or an `acquire` that is one of many.
   */
  submit<Asked extends Command>(
    lockId: bigint,
    command: Asked,
    follower: Follower | null = null,
  ): Promise<AnswerTo<Asked["verb"]> | null> {
    this.refuseWhenStopped();
    const { queuedMax } = this.#options;
    if (this.#queuedCount >= (isUrgent(command) ? 2 * queuedMax : queuedMax))
      throw overloaded("commands_queued", "Too many calls are waiting for the database.");
    const lock = this.#options.locks.get(lockId);
    const isWaitedFor = lock.underWay !== null && lock.underWay !== IN_LANE;
    if (isOptional(command) && (isWaitedFor || isHeldUpFor(command, lock))) throw heldUp();
    const { promise: answer, resolve, reject } = Promise.withResolvers<Answer | null>();
    const job: Job = { lockId, command, follower, submittedMs: performance.now(), answer, resolve, reject };
    const { queued } = lock;
    if (queued.length > 0 && isUrgent(command)) queued.splice(urgentIn(queued), 0, job);
    else queued.push(job);
    this.#queued.add(lock);
    this.#queuedCount += 1;
    if (lock.underWay?.kind === "held_up") this.#options.returned.heldUp(job);
    this.#schedule();
    // Lanes carry commands of all verbs. OutcomeKinds says which outcomes each verb can have.
    return answer as Promise<AnswerTo<Asked["verb"]> | null>;
  }

  get bounds(): readonly BoundUse[] {
    const { queuedMax, lanes } = this.#options;
    return [
      { bound: "commands_queued", kind: "room", used: this.#queuedCount, max: queuedMax },
      { bound: "lanes", kind: "turns", used: this.#busy, max: lanes },
      this.#slots.bound,
    ];
  }

  /** Throws a Fault if no commands are taken any more. */
  refuseWhenStopped(): void {
    if (this.#isStopped) throw shuttingDown();
  }

  /** How long commands have waited for the rows of a lock, which another transaction holds; 0: none waits. */
  heldUpForMs(lockId: bigint): number {
    const underWay = this.#options.locks.known(lockId)?.underWay;
    return underWay && "sinceMs" in underWay ? performance.now() - underWay.sinceMs : 0;
  }

  /** Takes no further commands. Resolves when those taken before are answered. */
  stop(): Promise<void> {
    this.#isStopped = true;
    return this.drained();
  }

  /** Resolves when nothing is queued and nothing runs. */
  drained(): Promise<void> {
    if (this.#isDrained()) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #isDrained(): boolean {
    return this.#busy === 0 && this.#queuedCount === 0 && this.#slots.isIdle;
  }

  // Commands that arrive in one tick of the event loop go together. A tick is no delay: it is the reading of sockets.
  #schedule(): void {
    if (this.#scheduled || this.#busy >= this.#options.lanes) return;
    this.#scheduled = true;
    setImmediate(this.#fill);
  }

  readonly #fill = (): void => {
    this.#scheduled = false;
    while (this.#busy < this.#options.lanes) {
      const jobs = this.#take();
      if (jobs.size === 0) break;
      this.#busy += 1;
      void this.#run({ jobs, earlier: [] }).finally(() => {
        this.#busy -= 1;
        this.#goOn();
      });
    }
  };

  #goOn(): void {
    if (this.#queuedCount > 0) this.#schedule();
    else if (this.#isDrained()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Takes the jobs for one lane. Sends the locks that are held up to the patient slots. */
  #take(): Map<bigint, Job[]> {
    const taken = new Map<bigint, Job[]>();
    const passing = new Map<bigint, Job[]>();
    const canPass = this.#slots.hasRoom;
    let room = BATCH_COMMANDS_MAX;
    const inTurns = this.#inTurns();
    const locksMax = this.#locksMax();
    for (const lock of inTurns) {
      if (room === 0 || taken.size >= locksMax) break;
      if (lock.underWay !== null) continue;
      const { state } = lock.heldUp;
      if (state === "free") {
        const part = this.#takeOf(lock, room);
        room -= part.length;
        taken.set(lock.id, part);
      } else if (state === "stuck") {
        this.#wait({ jobs: new Map([[lock.id, this.#takeOf(lock)]]), earlier: [] }, "stuck");
      } else if (lock.queued.every(({ command }) => isOptional(command))) {
        // Optional commands are not worth a wait. A lane tries them alone if it has taken no other lock.
        if (taken.size > 0) continue;
        taken.set(lock.id, this.#takeOf(lock));
        break;
      } else if (canPass && passing.size < BATCH_LOCKS_MAX) passing.set(lock.id, this.#takeOf(lock));
    }
    if (passing.size > 0) this.#wait({ jobs: passing, earlier: [] }, "passing");
    return taken;
  }

  /**
   * Locks with queued jobs, in the order in which they came: in turn one with urgent jobs and one without. So urgent
   * jobs wait for few others, and nobody who renews without a pause keeps others from acquiring.
   */
  #inTurns(): readonly LockEntry[] {
    const urgent: LockEntry[] = [];
    const others: LockEntry[] = [];
    for (const lock of this.#queued) (isUrgentLock(lock) ? urgent : others).push(lock);
    return alternating(this.#inTurnsOf(urgent), this.#inTurnsOf(others));
  }

  /**
   * If not all locks fit into one transaction, those of each client in turn: who asks for one lock need not wait for
   * all locks that somebody else has asked for before.
   */
  #inTurnsOf(queued: readonly LockEntry[]): readonly LockEntry[] {
    if (this.#queued.size <= BATCH_LOCKS_MAX) return queued;
    const inTurns = new FairQueue<LockEntry>(queued.length);
    for (const lock of queued) inTurns.add(clientOf(lock.queued[0]), lock);
    if (inTurns.isCrowded(BATCH_LOCKS_MAX)) this.#crowdedMs = performance.now();
    return [...inTurns.all()];
  }

  /** At most this many locks in the next transaction. */
  #locksMax(): number {
    const isCrowded = performance.now() - this.#crowdedMs < CROWDED_FOR_MS;
    return isCrowded ? CROWDED_BATCH_LOCKS_MAX : BATCH_LOCKS_MAX;
  }

  #takeOf(lock: LockEntry, max: number = BATCH_COMMANDS_MAX): Job[] {
    let part = lock.queued;
    if (part.length > max) part = someOf(part, max);
    else lock.queued = [];
    if (lock.queued.length === 0) this.#queued.delete(lock);
    this.#queuedCount -= part.length;
    lock.underWay = IN_LANE;
    return part;
  }

  async #run(all: TransactionJobs): Promise<void> {
    const locks = all.jobs.size;
    let batch: Batch;
    try {
      batch = await decideJobs(all, true, this.#options);
    } catch (error) {
      if (isRowLocked(error)) await this.#meet(all);
      else if (error instanceof Fault || locks === 1) this.#failed(all, error);
      // An unexpected error. One lock must not spoil the transaction for the others, so each lock gets its own.
      else for (const part of parts(all, locks)) await this.#run(part);
      return;
    }
    this.#done(all, batch);
  }

  /** Handles a transaction that met a row held by another transaction. */
  async #meet(jobs: TransactionJobs): Promise<void> {
    if (jobs.jobs.size > 1) {
      for (const half of parts(jobs, 2)) await this.#run(half);
      return;
    }
    for (const lock of this.#locksOf(jobs)) lock.heldUp.met();
    // If an earlier attempt may have made an Acquire's change, the outcome must be found out.
    const isOpen = ({ command }: Job) => jobs.earlier.length > 0 && command.verb === "acquire";
    const isWorthIt = [...jobs.jobs.values()].flat().some((job) => !isOptional(job.command) || isOpen(job));
    if (isWorthIt) this.#wait(jobs, "passing");
    else this.#failed(jobs, heldUp());
  }

  /** Gives the jobs to the patient slots. Their commands count as queued until it is over. */
  #wait(all: TransactionJobs, hold: HeldUpJobs["hold"]): void {
    const left = this.#shed(all);
    if (left.jobs.size === 0) return;
    const sinceMs = performance.now();
    for (const [lockId, jobs] of left.jobs) {
      this.#queuedCount += jobs.length;
      const lock = this.#options.locks.get(lockId);
      const onLong = () => this.#waitForLong(lock, jobs, left.earlier, sinceMs);
      lock.underWay = { kind: "patient", timer: setTimeout(onLong, RETURNED_AFTER_MS), sinceMs };
    }
    this.#slots.add({ jobs: left, hold, sinceMs });
    this.#fillSlots();
  }

  #fillSlots(): void {
    for (let next = this.#slots.begin(); next; next = this.#slots.begin()) void this.#runPatiently(next);
  }

  async #runPatiently(waiting: HeldUpJobs): Promise<void> {
    const { jobs, sinceMs } = waiting;
    const ended = await decideJobs(jobs, false, this.#options).then(
      (batch) => ({ batch }),
      (error: unknown) => ({ error }),
    );
    this.#slots.end(waiting);
    if ("batch" in ended) this.#done(jobs, ended.batch);
    else if (jobs.jobs.size > 1 && !(ended.error instanceof Fault)) {
      // One lock must not spoil the transaction for the others, so each lock gets its own.
      for (const part of parts(jobs, jobs.jobs.size)) this.#slots.add({ ...waiting, jobs: part });
    } else if (!isRowLocked(ended.error)) this.#failed(jobs, ended.error);
    else {
      for (const lock of this.#locksOf(jobs)) lock.heldUp.stuck();
      if (performance.now() - sinceMs > ROLLED_BACK.longestMs) this.#failed(jobs, unavailable(ended.error));
      else this.#slots.add({ jobs: jobs, sinceMs, hold: "stuck" });
    }
    this.#fillSlots();
  }

  /** Refuses the optional commands, which are not worth a wait, and returns the rest. */
  #shed({ jobs, earlier }: TransactionJobs): TransactionJobs {
    if (earlier.length > 0) return { jobs, earlier };
    const left = new Map<bigint, readonly Job[]>();
    for (const [lockId, list] of jobs) {
      const worthIt = refuseOptional(list);
      const lock = this.#options.locks.get(lockId);
      if (worthIt.length > 0) left.set(lockId, worthIt);
      else lock.underWay = null;
      const queuedLeft = refuseOptional(lock.queued);
      this.#queuedCount -= lock.queued.length - queuedLeft.length;
      lock.queued = queuedLeft;
      if (queuedLeft.length === 0) this.#queued.delete(lock);
    }
    return { jobs: left, earlier };
  }

  #waitForLong(
    lock: LockEntry,
    jobs: readonly Job[],
    earlier: TransactionJobs["earlier"],
    sinceMs: number,
  ): void {
    lock.underWay = { kind: "held_up", sinceMs };
    const { returned } = this.#options;
    for (const [index, job] of jobs.entries()) returned.heldUp(job, claimsMadeBy(earlier, lock.id, index));
    for (const job of lock.queued) returned.heldUp(job);
  }

  #done(jobs: TransactionJobs, batch: Batch): void {
    this.#options.health.committed(jobs.jobs);
    this.#options.afterCommit.answer(jobs.jobs, batch);
    this.#release(jobs);
  }

  #failed(jobs: TransactionJobs, error: unknown): void {
    this.#options.health.failed(giveUp(jobs, error), jobs.jobs);
    this.#release(jobs);
  }

  #release({ jobs }: TransactionJobs): void {
    const { locks } = this.#options;
    for (const [lockId, list] of jobs) {
      const lock = locks.get(lockId);
      const { underWay } = lock;
      lock.underWay = null;
      locks.leave(lock);
      if (underWay === IN_LANE) continue;
      this.#queuedCount -= list.length;
      if (underWay?.kind === "patient") clearTimeout(underWay.timer);
    }
    this.#goOn();
  }

  #locksOf({ jobs }: TransactionJobs): LockEntry[] {
    return [...jobs.keys()].map((id) => this.#options.locks.get(id));
  }
}

/** Best effort: may be refused while another transaction holds the lock. */
function isOptional(command: Command): boolean {
  return command.verb === "advance" || (command.verb === "acquire" && command.isOneOfMany === true);
}

/** Whether to refuse an optional command. Advances retry locks that are only briefly contended; acquires do not. */
function isHeldUpFor({ verb }: Command, { heldUp: { state } }: LockEntry): boolean {
  return state === "stuck" || (verb === "acquire" && state === "passing");
}

/** Goes before what was queued earlier. */
function isUrgent({ verb }: Command): boolean {
  return verb === "renew" || verb === "release";
}

function isUrgentLock({ queued: [first] }: LockEntry): boolean {
  return first !== undefined && isUrgent(first.command);
}

/** In turn one of each, and then what is left of the longer list. */
function alternating<One>(first: readonly One[], second: readonly One[]): readonly One[] {
  if (first.length === 0) return second;
  if (second.length === 0) return first;
  const all: One[] = [];
  const both = Math.min(first.length, second.length);
  for (let at = 0; at < both; at++) all.push(first[at] as One, second[at] as One);
  for (const one of (first.length > both ? first : second).slice(both)) all.push(one);
  return all;
}

/** How many jobs of a lock are urgent: the first ones. */
function urgentIn(jobs: readonly Job[]): number {
  const others = jobs.findIndex(({ command }) => !isUrgent(command));
  return others < 0 ? jobs.length : others;
}

/** Takes so many of more jobs out of the list: urgent ones up to a half, or more if there are few others. */
function someOf(jobs: Job[], max: number): Job[] {
  const urgent = urgentIn(jobs);
  const others = Math.min(jobs.length - urgent, Math.max(max - urgent, Math.floor(max / 2)));
  return [...jobs.splice(0, max - others), ...jobs.splice(urgent - (max - others), others)];
}

/** Refuses the optional jobs and returns the others. */
function refuseOptional(jobs: readonly Job[]): Job[] {
  return jobs.filter(({ command, reject }) => {
    if (isOptional(command)) reject(heldUp());
    return !isOptional(command);
  });
}

function heldUp(): Fault {
  return unavailable(new StoreError("transient", ROW_LOCKED, "Another transaction holds the lock's rows."));
}

/** Whose command it is: those of the server itself have one line together. */
function clientOf(job: Job | undefined): unknown {
  const command = job?.command;
  const caller = command && "caller" in command ? command.caller : undefined;
  return sourceOf(caller);
}
