// What follows a commit, in the same turn as the answers: registers followers, notifies observers, and wakes everyone
// who waited for what has just happened. Decides nothing; nothing here may throw.

import type { GrantedElsewhere, Wakeup } from "../../wakeup/wakeup.ts";
import type { Advances } from "../background/advances.ts";
import type { CaptureWaits } from "../capturing/capture-waits.ts";
import type { Followers } from "../following/followers.ts";
import type { HeldLeases } from "../following/held-leases.ts";
import type { Places } from "../following/places.ts";
import type { EngineObserver } from "../lock-engine.ts";
import type { LockWatches } from "../watching/lock-watches.ts";
import type { Batch } from "./batch.ts";
import type { JobsByLock } from "./deciding.ts";

export interface AfterCommitOptions {
  readonly observer: EngineObserver;
  readonly wakeup: Pick<Wakeup, "announce">;
  /** This replica. */
  readonly replica: bigint;
  readonly followers: Followers;
  readonly leases: HeldLeases;
  readonly places: Places;
  readonly advances: Pick<Advances, "owe">;
  readonly watches: Pick<LockWatches, "committed">;
  readonly captureWaits: Pick<CaptureWaits, "committed">;
}

export class AfterCommit {
  readonly #options: AfterCommitOptions;

  constructor(options: AfterCommitOptions) {
    this.#options = options;
  }

  /** Runs after a transaction of commands. */
  answered(jobs: JobsByLock, batch: Batch): void {
    const { observer, followers } = this.#options;
    let commands = 0;
    for (const [lockId, list] of jobs) {
      const decided = batch.decided.get(lockId);
      const revision = batch.locks.get(lockId)?.lock.revision;
      commands += list.length;
      if (!decided || revision === undefined) continue;
      list.forEach((job, index) => {
        const outcome = batch.outcome(lockId, index);
        if (!outcome || outcome.kind === "in_doubt") return;
        if (outcome.kind === "waiting" && job.follower) followers.add(outcome.claim, job.follower, revision);
        // Before anyone learns how the lease has ended, even if it ends in this same transaction.
        if (outcome.kind === "held" && "caller" in job.command) job.command.caller?.holds?.(outcome.claim);
        const seconds = (performance.now() - job.submittedMs) / 1e3;
        const { lockName } = decided;
        observer({ kind: "answered", command: job.command, outcome, lockName, seconds });
      });
    }
    observer({ kind: "batch", commands, locks: jobs.size });
    this.wake(batch);
  }

  /** Notifies waiters here and on other replicas, and advances the locks that were left over. */
  wake(batch: Batch): void {
    const { observer, wakeup, replica, followers, leases, places, advances, watches, captureWaits } =
      this.#options;
    for (const { event, lockName } of batch.events) observer({ kind: "event", event, lockName });
    for (const { lock, revisionBefore } of batch.locks.values())
      followers.decided(lock, revisionBefore, batch.limitRules);
    const elsewhere = grantedElsewhere(batch, replica);
    if (elsewhere.length > 0) wakeup.announce(elsewhere);
    for (const lockId of batch.leftOver) void advances.owe(lockId);
    // In the same turn as the answers: a client that gets both together sends its next commands together, and one
    // transaction carries them together.
    for (const { event, nowUs } of batch.events) {
      if (event.kind === "granted" || event.kind === "ended") followers.tell(event.claim, nowUs);
      if (event.kind === "ended" && event.was === "held") leases.ended(event.claim);
    }
    for (const lockId of batch.locks.keys()) places.changed(lockId);
    watches.committed(batch.locks.values());
    captureWaits.committed(batch.locks.values());
  }
}

/** Granted claims whose waiters are connected to other replicas. */
function grantedElsewhere({ events }: Batch, own: bigint): GrantedElsewhere[] {
  const granted: GrantedElsewhere[] = [];
  for (const { event } of events) {
    if (event.kind !== "granted" || !event.queued) continue;
    const { replica, lockId, ticketNumber } = event.claim;
    if (replica !== null && replica !== own) granted.push({ replica, lockId, ticketNumber });
  }
  return granted;
}
