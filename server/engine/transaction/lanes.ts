// Lanes: each takes all queued commands, of many locks, into one transaction. Nothing is delayed on purpose: while one
// transaction runs, commands for the next ones gather. A lock is in at most one transaction of this replica at a time,
// so these never wait for each other's row locks.
//
// Nor do lanes wait for row locks of others. When another transaction holds a row of one lock, the lane divides its
// locks until that one is alone. The commands of that lock go to the patient slots, and for a while they go there
// without a try in a lane. The other locks proceed.

import type { Command } from "../../core/command.ts";
import { isRowLocked, ROW_LOCKED, StoreError } from "../../storage/store.ts";
import {
  BATCH_COMMANDS_MAX,
  BATCH_LOCKS_MAX,
  COMEBACKS_AFTER_MS,
  OVERLOADED_RETRY_AFTER_MS,
} from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import type { Answer, Follower } from "../lock-engine.ts";
import { mayBeDone, outcomeUnknown, unavailable } from "./attempts.ts";
import type { Batch } from "./batch.ts";
import { type DecidingOptions, decideWork, type JobsByLock, parts, type Work } from "./deciding.ts";
import { HeldUpLocks } from "./held-up-locks.ts";
import { PatientSlots } from "./patient-slots.ts";

export interface Job {
  readonly lockId: bigint;
  readonly command: Command;
  readonly follower: Follower | null;
  /** performance.now() when the command was submitted. */
  readonly submittedMs: number;
  /** null: the guard row is gone, or belongs to another name. */
  readonly answer: Promise<Answer | null>;
  readonly resolve: (answer: Answer | null) => void;
  readonly reject: (error: unknown) => void;
}

export interface LanesOptions extends DecidingOptions {
  readonly lanes: number;
  readonly patientSlots: number;
  /** At most this many queued commands. */
  readonly queuedMax: number;
  /**
   * Called for each command that waits long because another transaction holds its lock; may be called twice for one.
   */
  readonly onHeldUp: (job: Job) => void;
  /** Called after the commit, in the same turn as the answers. Must not throw. */
  readonly onCommitted: (jobs: JobsByLock, batch: Batch) => void;
  /** Called with the jobs that are given up and the error that their callers get. Must not throw. */
  readonly onFailed?: (jobs: JobsByLock, error: unknown) => void;
}

export class Lanes {
  readonly #options: LanesOptions;
  /** Queued jobs by lock; a Map keeps the order in which locks came. */
  readonly #queued = new Map<bigint, Job[]>();
  readonly #inFlight = new Set<bigint>();
  /** Locks in the patient slots, each with the timer that reports it as held up; null: reported. */
  readonly #patient = new Map<bigint, NodeJS.Timeout | null>();
  readonly #heldUp = new HeldUpLocks();
  readonly #slots: PatientSlots;
  /** Commands whose transaction has not begun. */
  #queuedCount = 0;
  #busy = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(options: LanesOptions) {
    this.#options = options;
    this.#slots = new PatientSlots({
      slots: options.patientSlots,
      decide: (work) => decideWork(work, false, options),
      onStuck: (lockId) => this.#heldUp.stuck(lockId),
      onDone: (work, batch) => this.#done(work, batch),
      onFailure: (work, error) => this.#failed(work, error),
    });
  }

  /**
   * Resolves after the commit; null: the guard row is gone. Throws a Fault when the queue is full, and when another
   * transaction holds the lock of an optional command: an `advance`, which its sender repeats anyway, or an `acquire`
   * that is one of many.
   */
  submit(lockId: bigint, command: Command, follower: Follower | null = null): Promise<Answer | null> {
    if (this.#queuedCount >= this.#options.queuedMax) {
      throw new Fault("overloaded", "commands_queued", "Too many calls are waiting for the database.", {
        retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
      });
    }
    const waitedFor = this.#patient.get(lockId);
    if (isOptional(command) && (waitedFor !== undefined || this.#isHeldUpFor(command, lockId)))
      throw heldUp();
    const { promise: answer, resolve, reject } = Promise.withResolvers<Answer | null>();
    const job: Job = { lockId, command, follower, submittedMs: performance.now(), answer, resolve, reject };
    const jobs = this.#queued.get(lockId);
    if (jobs) jobs.push(job);
    else this.#queued.set(lockId, [job]);
    this.#queuedCount += 1;
    if (waitedFor === null) this.#options.onHeldUp(job);
    this.#schedule();
    return answer;
  }

  /** Resolves when nothing is queued and nothing runs. */
  drained(): Promise<void> {
    if (this.#isDrained()) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #isDrained(): boolean {
    return this.#busy === 0 && this.#queuedCount === 0 && this.#slots.isIdle;
  }

  // Commands that arrive in one turn of the event loop go together. A turn is no delay: it is the reading of sockets.
  #schedule(): void {
    if (this.#scheduled || this.#busy >= this.#options.lanes) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#fill();
    });
  }

  #fill(): void {
    while (this.#busy < this.#options.lanes) {
      const jobs = this.#take();
      if (jobs.size === 0) break;
      this.#busy += 1;
      void this.#run({ jobs, earlier: [] }).finally(() => {
        this.#busy -= 1;
        this.#goOn();
      });
    }
  }

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
    for (const [lockId, jobs] of this.#queued) {
      if (room === 0 || taken.size >= BATCH_LOCKS_MAX) break;
      if (this.#inFlight.has(lockId)) continue;
      const state = this.#heldUp.state(lockId);
      if (state === "free") {
        const part = this.#takeOf(lockId, jobs, room);
        room -= part.length;
        taken.set(lockId, part);
      } else if (state === "stuck") {
        this.#wait({ jobs: new Map([[lockId, this.#takeOf(lockId, jobs)]]), earlier: [] }, true);
      } else if (jobs.every(({ command }) => isOptional(command))) {
        // Optional commands are not worth a wait. A lane tries them alone if it has taken no other lock.
        if (taken.size > 0) continue;
        taken.set(lockId, this.#takeOf(lockId, jobs));
        break;
      } else if (canPass && passing.size < BATCH_LOCKS_MAX) passing.set(lockId, this.#takeOf(lockId, jobs));
    }
    if (passing.size > 0) this.#wait({ jobs: passing, earlier: [] }, false);
    return taken;
  }

  #takeOf(lockId: bigint, jobs: Job[], max: number = BATCH_COMMANDS_MAX): Job[] {
    const part = jobs.splice(0, max);
    if (jobs.length === 0) this.#queued.delete(lockId);
    this.#queuedCount -= part.length;
    this.#inFlight.add(lockId);
    return part;
  }

  async #run(work: Work): Promise<void> {
    const { jobs } = work;
    let batch: Batch;
    try {
      batch = await decideWork(work, true, this.#options);
    } catch (error) {
      if (isRowLocked(error)) await this.#meet(work);
      else if (error instanceof Fault || jobs.size === 1) this.#failed(work, error);
      // An unexpected error. One lock must not spoil the transaction for the others, so each lock gets its own.
      else for (const part of parts(work, jobs.size)) await this.#run(part);
      return;
    }
    this.#done(work, batch);
  }

  /** Handles a transaction that met a row held by another transaction. */
  async #meet(work: Work): Promise<void> {
    if (work.jobs.size > 1) {
      for (const half of parts(work, 2)) await this.#run(half);
      return;
    }
    for (const lockId of work.jobs.keys()) this.#heldUp.met(lockId);
    // If an earlier attempt may have made an Acquire's change, the outcome must be found out.
    const isOpen = ({ command }: Job) => work.earlier.length > 0 && command.verb === "acquire";
    const isWorthIt = [...work.jobs.values()].flat().some((job) => !isOptional(job.command) || isOpen(job));
    if (isWorthIt) this.#wait(work, false);
    else this.#failed(work, heldUp());
  }

  /** Gives the work to the patient slots. Its commands count as queued until it is over. */
  #wait(all: Work, isStuck: boolean): void {
    const work = this.#shed(all);
    if (work.jobs.size === 0) return;
    for (const [lockId, jobs] of work.jobs) {
      this.#queuedCount += jobs.length;
      this.#patient.set(
        lockId,
        setTimeout(() => this.#waitForLong(lockId, jobs), COMEBACKS_AFTER_MS),
      );
    }
    this.#slots.add(work, isStuck);
  }

  /** Whether to refuse an optional command. Advances retry locks that are only briefly contended; acquires do not. */
  #isHeldUpFor({ verb }: Command, lockId: bigint): boolean {
    const state = this.#heldUp.state(lockId);
    return state === "stuck" || (verb === "acquire" && state === "passing");
  }

  /** Refuses the optional commands, which are not worth a wait, and returns the rest. */
  #shed({ jobs, earlier }: Work): Work {
    if (earlier.length > 0) return { jobs, earlier };
    const left = new Map<bigint, readonly Job[]>();
    for (const [lockId, list] of jobs) {
      const worthIt = refuseOptional(list);
      if (worthIt.length > 0) left.set(lockId, worthIt);
      else this.#inFlight.delete(lockId);
      const queued = this.#queued.get(lockId);
      if (!queued) continue;
      const queuedLeft = refuseOptional(queued);
      this.#queuedCount -= queued.length - queuedLeft.length;
      if (queuedLeft.length > 0) this.#queued.set(lockId, queuedLeft);
      else this.#queued.delete(lockId);
    }
    return { jobs: left, earlier };
  }

  #waitForLong(lockId: bigint, jobs: readonly Job[]): void {
    this.#patient.set(lockId, null);
    for (const job of [...jobs, ...(this.#queued.get(lockId) ?? [])]) this.#options.onHeldUp(job);
  }

  #done(work: Work, batch: Batch): void {
    // Callers see their answers after this turn, so followers are registered before anyone acts on the answer
    // `waiting`.
    answer(work.jobs, batch);
    this.#options.onCommitted(work.jobs, batch);
    this.#release(work);
  }

  #failed(work: Work, error: unknown): void {
    const { earlier } = work;
    const failure = earlier.length > 0 ? mayBeDone(error) : error;
    this.#options.onFailed?.(work.jobs, failure);
    for (const [lockId, list] of work.jobs) {
      list.forEach(({ reject }, index) => {
        const isInDoubt = earlier.some((attempt) => attempt.changes(lockId, index));
        reject(isInDoubt ? outcomeUnknown(error) : failure);
      });
    }
    this.#release(work);
  }

  #release({ jobs }: Work): void {
    for (const [lockId, list] of jobs) {
      this.#inFlight.delete(lockId);
      const waitedFor = this.#patient.get(lockId);
      if (waitedFor === undefined) continue;
      this.#patient.delete(lockId);
      this.#queuedCount -= list.length;
      if (waitedFor) clearTimeout(waitedFor);
    }
    this.#goOn();
  }
}

/** Best effort: may be refused while another transaction holds the lock. */
function isOptional(command: Command): boolean {
  return command.verb === "advance" || (command.verb === "acquire" && command.isOneOfMany === true);
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

function answer(jobs: JobsByLock, batch: Batch): void {
  for (const [lockId, list] of jobs) {
    const decided = batch.decided.get(lockId);
    list.forEach((job, index) => {
      const outcome = batch.outcome(lockId, index);
      if (outcome?.kind === "in_doubt") job.reject(outcomeUnknown());
      else
        job.resolve(
          decided && outcome ? { outcome, nowUs: decided.nowUs, lockId, lockName: decided.lockName } : null,
        );
    });
  }
}
