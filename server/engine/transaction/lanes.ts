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
import { type HeldUpJobs, HeldUpLocks, PatientSlots } from "./held-up.ts";

export interface LanesOptions extends Deciding {
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

/** What happens to the commands of a lock that were taken from the queue. */
type UnderWay =
  /** A lane decides about them. */
  | { readonly kind: "in_lane" }
  /** They wait for a row lock. The timer reports that they have waited for long. */
  | { readonly kind: "patient"; readonly timer: NodeJS.Timeout; readonly sinceMs: number }
  /** They have waited for a row lock for long. */
  | { readonly kind: "held_up"; readonly sinceMs: number };

const IN_LANE: UnderWay = { kind: "in_lane" };

export class Lanes {
  readonly #options: LanesOptions;
  /** Queued jobs by lock, first its urgent ones; a Map keeps the order in which locks came. */
  readonly #queued = new Map<bigint, Job[]>();
  /** Locks with jobs that were taken from the queue and have no answer yet. */
  readonly #underWay = new Map<bigint, UnderWay>();
  readonly #heldUp = new HeldUpLocks();
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
    const underWay = this.#underWay.get(lockId);
    const isWaitedFor = underWay !== undefined && underWay !== IN_LANE;
    if (isOptional(command) && (isWaitedFor || this.#isHeldUpFor(command, lockId))) throw heldUp();
    const { promise: answer, resolve, reject } = Promise.withResolvers<Answer | null>();
    const job: Job = { lockId, command, follower, submittedMs: performance.now(), answer, resolve, reject };
    const jobs = this.#queued.get(lockId);
    if (jobs) jobs.splice(isUrgent(command) ? urgentIn(jobs) : jobs.length, 0, job);
    else this.#queued.set(lockId, [job]);
    this.#queuedCount += 1;
    if (underWay?.kind === "held_up") this.#options.returned.heldUp(job);
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
    const underWay = this.#underWay.get(lockId);
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
    for (const [lockId, jobs] of inTurns) {
      if (room === 0 || taken.size >= locksMax) break;
      if (this.#underWay.has(lockId)) continue;
      const state = this.#heldUp.state(lockId);
      if (state === "free") {
        const part = this.#takeOf(lockId, jobs, room);
        room -= part.length;
        taken.set(lockId, part);
      } else if (state === "stuck") {
        this.#wait({ jobs: new Map([[lockId, this.#takeOf(lockId, jobs)]]), earlier: [] }, "stuck");
      } else if (jobs.every(({ command }) => isOptional(command))) {
        // Optional commands are not worth a wait. A lane tries them alone if it has taken no other lock.
        if (taken.size > 0) continue;
        taken.set(lockId, this.#takeOf(lockId, jobs));
        break;
      } else if (canPass && passing.size < BATCH_LOCKS_MAX) passing.set(lockId, this.#takeOf(lockId, jobs));
    }
    if (passing.size > 0) this.#wait({ jobs: passing, earlier: [] }, "passing");
    return taken;
  }

  /**
   * Locks with queued jobs, in the order in which they came: in turn one with urgent jobs and one without. So urgent
   * jobs wait for few others, and nobody who renews without a pause keeps others from acquiring.
   */
  #inTurns(): readonly [bigint, Job[]][] {
    const byUrgency = Map.groupBy(
      this.#queued,
      ([, [first]]) => first !== undefined && isUrgent(first.command),
    );
    const urgent = this.#inTurnsOf(byUrgency.get(true) ?? []);
    const others = this.#inTurnsOf(byUrgency.get(false) ?? []);
    const inTurns = urgent.flatMap((lock, index) => [lock, ...others.slice(index, index + 1)]);
    return [...inTurns, ...others.slice(urgent.length)];
  }

  /**
   * If not all locks fit into one transaction, those of each client in turn: who asks for one lock need not wait for
   * all locks that somebody else has asked for before.
   */
  #inTurnsOf(queued: readonly [bigint, Job[]][]): readonly [bigint, Job[]][] {
    if (this.#queued.size <= BATCH_LOCKS_MAX) return queued;
    const inTurns = new FairQueue<[bigint, Job[]]>(queued.length);
    for (const lock of queued) inTurns.add(clientOf(lock[1][0]), lock);
    if (inTurns.isCrowded(BATCH_LOCKS_MAX)) this.#crowdedMs = performance.now();
    return [...inTurns.all()];
  }

  /** At most this many locks in the next transaction. */
  #locksMax(): number {
    const isCrowded = performance.now() - this.#crowdedMs < CROWDED_FOR_MS;
    return isCrowded ? CROWDED_BATCH_LOCKS_MAX : BATCH_LOCKS_MAX;
  }

  #takeOf(lockId: bigint, jobs: Job[], max: number = BATCH_COMMANDS_MAX): Job[] {
    const part = jobs.length > max ? someOf(jobs, max) : jobs.splice(0);
    if (jobs.length === 0) this.#queued.delete(lockId);
    this.#queuedCount -= part.length;
    this.#underWay.set(lockId, IN_LANE);
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
    for (const lockId of jobs.jobs.keys()) this.#heldUp.met(lockId);
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
      const onLong = () => this.#waitForLong(lockId, jobs, left.earlier, sinceMs);
      this.#underWay.set(lockId, { kind: "patient", timer: setTimeout(onLong, RETURNED_AFTER_MS), sinceMs });
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
      for (const lockId of jobs.jobs.keys()) this.#heldUp.stuck(lockId);
      if (performance.now() - sinceMs > ROLLED_BACK.longestMs) this.#failed(jobs, unavailable(ended.error));
      else this.#slots.add({ jobs: jobs, sinceMs, hold: "stuck" });
    }
    this.#fillSlots();
  }

  /** Whether to refuse an optional command. Advances retry locks that are only briefly contended; acquires do not. */
  #isHeldUpFor({ verb }: Command, lockId: bigint): boolean {
    const state = this.#heldUp.state(lockId);
    return state === "stuck" || (verb === "acquire" && state === "passing");
  }

  /** Refuses the optional commands, which are not worth a wait, and returns the rest. */
  #shed({ jobs, earlier }: TransactionJobs): TransactionJobs {
    if (earlier.length > 0) return { jobs, earlier };
    const left = new Map<bigint, readonly Job[]>();
    for (const [lockId, list] of jobs) {
      const worthIt = refuseOptional(list);
      if (worthIt.length > 0) left.set(lockId, worthIt);
      else this.#underWay.delete(lockId);
      const queued = this.#queued.get(lockId);
      if (!queued) continue;
      const queuedLeft = refuseOptional(queued);
      this.#queuedCount -= queued.length - queuedLeft.length;
      if (queuedLeft.length > 0) this.#queued.set(lockId, queuedLeft);
      else this.#queued.delete(lockId);
    }
    return { jobs: left, earlier };
  }

  #waitForLong(
    lockId: bigint,
    jobs: readonly Job[],
    earlier: TransactionJobs["earlier"],
    sinceMs: number,
  ): void {
    this.#underWay.set(lockId, { kind: "held_up", sinceMs });
    const { returned } = this.#options;
    for (const [index, job] of jobs.entries()) returned.heldUp(job, claimsMadeBy(earlier, lockId, index));
    for (const job of this.#queued.get(lockId) ?? []) returned.heldUp(job);
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
    for (const [lockId, list] of jobs) {
      const underWay = this.#underWay.get(lockId);
      this.#underWay.delete(lockId);
      if (underWay === IN_LANE) continue;
      this.#queuedCount -= list.length;
      if (underWay?.kind === "patient") clearTimeout(underWay.timer);
    }
    this.#goOn();
  }
}

/** Best effort: may be refused while another transaction holds the lock. */
function isOptional(command: Command): boolean {
  return command.verb === "advance" || (command.verb === "acquire" && command.isOneOfMany === true);
}

/** Goes before what was queued earlier. */
function isUrgent({ verb }: Command): boolean {
  return verb === "renew" || verb === "release";
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
