// Lanes: takes all commands that are queued, of many locks, into one transaction, with no artificial delay: while one
// transaction runs, the commands for the next ones gather. A lock is in at most one transaction of this replica at a
// time, so that they do not wait for each other's row locks.

import type { Command } from "../core/command.ts";
import type { Store } from "../storage/store.ts";
import { withAttempts } from "./attempts.ts";
import { Batch, type BatchOptions } from "./batch.ts";
import { BATCH_COMMANDS_MAX, BATCH_LOCKS_MAX, OVERLOADED_RETRY_AFTER_MS } from "./engine-bounds.ts";
import { Fault } from "./faults.ts";
import type { Answer, Waiter } from "./lock-engine.ts";

/** A queued command. */
export interface Job {
  readonly lockId: bigint;
  readonly command: Command;
  readonly waiter: Waiter | null;
  /** performance.now() when it was submitted. */
  readonly submittedMs: number;
  /** null: the guard row is gone, or is that of another name. */
  readonly resolve: (answer: Answer | null) => void;
  readonly reject: (error: unknown) => void;
}

export type JobsByLock = ReadonlyMap<bigint, readonly Job[]>;

export interface LanesOptions extends BatchOptions {
  readonly transact: Store["transact"];
  readonly lanes: number;
  /** Commands queued at the most. */
  readonly queuedMax: number;
  readonly likelyQueue: (lockId: bigint) => boolean;
  /** What has to be done before a decision, if anything; a decision is repeated with it. */
  readonly beforehand: () => Promise<void> | null;
  /** After the commit, in the same turn as the answers. Must not throw. */
  readonly onCommitted: (jobs: JobsByLock, batch: Batch) => void;
  readonly onRetry: (cause: string) => void;
}

export class Lanes {
  readonly #options: LanesOptions;
  /** Queued jobs by lock; a Map keeps the order in which locks came. */
  readonly #queued = new Map<bigint, Job[]>();
  readonly #inFlight = new Set<bigint>();
  #queuedCount = 0;
  #busy = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  /** Resolves after the commit; null if the guard row is gone. Throws a Fault when the queue is full. */
  submit(lockId: bigint, command: Command, waiter: Waiter | null = null): Promise<Answer | null> {
    if (this.#queuedCount >= this.#options.queuedMax) {
      throw new Fault("overloaded", "commands_queued", "Too many calls are waiting for the database.", {
        retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
      });
    }
    return new Promise((resolve, reject) => {
      const job: Job = { lockId, command, waiter, submittedMs: performance.now(), resolve, reject };
      const jobs = this.#queued.get(lockId);
      if (jobs) jobs.push(job);
      else this.#queued.set(lockId, [job]);
      this.#queuedCount += 1;
      this.#schedule();
    });
  }

  /** Resolves when nothing is queued and nothing runs. */
  drained(): Promise<void> {
    if (this.#busy === 0 && this.#queuedCount === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  // What arrives in one turn of the event loop goes together: a turn is not a delay, it is the reading of sockets.
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
      void this.#run(jobs).finally(() => {
        this.#busy -= 1;
        for (const lockId of jobs.keys()) this.#inFlight.delete(lockId);
        if (this.#queuedCount > 0) this.#schedule();
        else if (this.#busy === 0) for (const resolve of this.#idle.splice(0)) resolve();
      });
    }
  }

  #take(): Map<bigint, Job[]> {
    const taken = new Map<bigint, Job[]>();
    let room = BATCH_COMMANDS_MAX;
    for (const [lockId, jobs] of this.#queued) {
      if (room === 0 || taken.size >= BATCH_LOCKS_MAX) break;
      if (this.#inFlight.has(lockId)) continue;
      const part = jobs.splice(0, room);
      if (jobs.length === 0) this.#queued.delete(lockId);
      room -= part.length;
      this.#queuedCount -= part.length;
      this.#inFlight.add(lockId);
      taken.set(lockId, part);
    }
    return taken;
  }

  async #run(jobs: JobsByLock): Promise<void> {
    const batch = await this.#commit(jobs).catch(async (error: unknown) => {
      if (error instanceof Fault || jobs.size === 1) {
        for (const list of jobs.values()) for (const job of list) job.reject(error);
      } else {
        // Something unexpected, and one lock must not spoil it for the others: each gets a transaction of its own.
        for (const [lockId, list] of jobs) await this.#run(new Map([[lockId, list]]));
      }
    });
    if (!batch) return;
    // Answers are taken up after this turn, so waiters are registered before anybody acts on the answer `waiting`.
    answer(jobs, batch);
    this.#options.onCommitted(jobs, batch);
  }

  #commit(jobs: JobsByLock): Promise<Batch> {
    const { transact, likelyQueue, onRetry, beforehand } = this.#options;
    const commands = new Map([...jobs].map(([lockId, list]) => [lockId, list.map((job) => job.command)]));
    const attempts: Batch[] = [];
    return withAttempts(async (repeated) => {
      const first = beforehand();
      if (first) await first;
      const attempt = new Batch(commands, this.#options, repeated ? [...attempts] : []);
      attempts.push(attempt);
      await transact(attempt.plan(likelyQueue), (loaded) => attempt.decide(loaded));
      return attempt;
    }, onRetry);
  }
}

function answer(jobs: JobsByLock, batch: Batch): void {
  for (const [lockId, list] of jobs) {
    const decided = batch.decided.get(lockId);
    list.forEach((job, index) => {
      const outcome = batch.outcome(lockId, index);
      job.resolve(
        decided && outcome ? { outcome, nowUs: decided.nowUs, lockId, lockName: decided.lockName } : null,
      );
    });
  }
}
