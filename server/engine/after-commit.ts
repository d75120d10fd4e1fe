// What follows a commit, all in one tick: answers callers, registers followers, notifies observers, and wakes everyone
// who waited for what has just happened. Decides nothing; nothing here may throw.

import type { Claim, ClaimKey } from "../core/claim.ts";
import type { Outcome } from "../core/command.ts";
import type { Decided } from "../core/decide-batch.ts";
import type { CallSpan } from "../core/span.ts";
import type { EngineObserver } from "./answers.ts";
import { outcomeUnknown } from "./faults.ts";
import type { Subscribers } from "./subscribers/subscribers.ts";
import type { Advances } from "./transaction/advances.ts";
import type { Ask } from "./transaction/ask.ts";
import type { AsksByLock, Attempt } from "./transaction/transaction.ts";

/** A claim that was granted after a wait, and the replica that its waiter hangs on. */
export interface GrantedElsewhere extends ClaimKey {
  readonly replica: bigint;
}

export interface AfterCommitOptions {
  readonly observer: EngineObserver;
  /** Notifies the other replica. Never waits, never fails. */
  readonly poke: (granted: GrantedElsewhere) => void;
  /** This replica. */
  readonly replica: bigint;
  readonly subscribers: Pick<Subscribers, "committed" | "followers">;
  readonly advances: Pick<Advances, "owe">;
}

export class AfterCommit {
  readonly #options: AfterCommitOptions;

  constructor(options: AfterCommitOptions) {
    this.#options = options;
  }

  /**
   * Answers the commands of a transaction, and does what follows. Answers come last: by then followers are registered, and
   * whoever is answered may ask again at once.
   */
  answer(asks: AsksByLock, attempt: Attempt): void {
    const { observer } = this.#options;
    const outcomes: (Outcome | undefined)[] = [];
    // Not by for...of, which makes a list of two for each lock of each transaction.
    asks.forEach((list, lockId) => {
      const decided = attempt.decided.get(lockId);
      const revision = attempt.locks.get(lockId)?.lock.revision;
      for (let index = 0; index < list.length; index++) {
        let outcome = attempt.outcome(lockId, index, decided);
        if (outcome && outcome.kind !== "in_doubt") {
          if (decided && revision !== undefined) this.#note(list[index] as Ask, outcome, decided, revision);
          else outcome = undefined;
        }
        outcomes.push(outcome);
      }
    });
    observer({ kind: "batch", commands: outcomes.length, locks: asks.size });
    this.wake(attempt);
    let next = 0;
    asks.forEach((list, lockId) => {
      const decided = attempt.decided.get(lockId);
      for (const ask of list) settle(ask, outcomes[next++], decided);
    });
  }

  /** Registers what the outcome of an ask leaves here, and reports it. */
  #note({ command, follower, submittedMs }: Ask, outcome: Outcome, decided: Decided, revision: bigint): void {
    const { observer, subscribers } = this.#options;
    const { lockName } = decided;
    const caller = "caller" in command ? command.caller : undefined;
    if (caller?.span) this.#trace(caller.span, outcome, lockName);
    if (outcome.kind === "waiting" && follower) subscribers.followers.add(outcome.claim, follower, revision);
    // Before anyone learns how the lease has ended, even if it ends in this same transaction.
    if (outcome.kind === "held") caller?.holds?.(outcome.claim);
    const seconds = (performance.now() - submittedMs) / 1e3;
    observer({ kind: "answered", command, outcome, lockName, seconds });
  }

  #trace(span: CallSpan, outcome: Outcome, lockName: string): void {
    const { queueSpans } = this.#options.subscribers.followers;
    if (outcome.kind === "waiting") queueSpans.begin(outcome.claim, span, lockName);
    // The call comes back to a claim that was settled elsewhere, and nobody here has noticed.
    else if (outcome.kind === "held" || outcome.kind === "ended") queueSpans.settled(outcome.claim);
    span.decided(outcome.kind, reasonOf(outcome), lockName);
  }

  /** Notifies waiters here and on other replicas, and advances the locks that were left over. */
  wake(attempt: Attempt): void {
    const { observer, subscribers, advances } = this.#options;
    for (const { event, lockName } of attempt.events) {
      observer({ kind: "event", event, lockName });
      if (event.kind === "granted" && event.queued) this.#pokeElsewhere(event.claim);
    }
    for (const lockId of attempt.leftOver) void advances.owe(lockId);
    subscribers.committed(attempt);
  }

  /** The waiter of a granted claim may be connected to another replica. */
  #pokeElsewhere({ replica, lockId, ticketNumber }: Claim): void {
    const { poke, replica: own } = this.#options;
    if (replica !== null && replica !== own) poke({ replica, lockId, ticketNumber });
  }
}

/** `outcome` undefined: the lock is gone, or has another name. */
function settle(ask: Ask, outcome: Outcome | undefined, decided: Decided | undefined): void {
  ask.isOver = true;
  if (outcome?.kind === "in_doubt") ask.fail(outcomeUnknown());
  else if (!outcome || !decided) ask.gone();
  else {
    const { nowUs, lockName } = decided;
    ask.settle({ outcome, nowUs, lockId: ask.lockId, lockName });
  }
}

/** Why a request was refused, or how a claim has ended; null: neither. */
function reasonOf(outcome: Outcome): string | null {
  if (outcome.kind === "refused") return outcome.reason;
  return outcome.kind === "ended" ? outcome.claim.endReason : null;
}
