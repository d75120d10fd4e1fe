// One transaction's worth of commands: which rows to read for them, and their decisions. Belongs to one attempt; a
// repeated transaction starts with a new one. Does no I/O.

import { QUEUE_HEAD_EXTRA, QUEUE_HEAD_MAX } from "../../core/bounds.ts";
import type { Claim, ClaimKey } from "../../core/claim.ts";
import { SERVER_MADE_PREFIX } from "../../core/claim.ts";
import { keepInTime } from "../../core/come-back.ts";
import type { Command, Event, Outcome } from "../../core/command.ts";
import { decide, settle } from "../../core/decide.ts";
import type { Draft, Rules } from "../../core/draft.ts";
import { openDraft } from "../../core/draft.ts";
import type { Lock } from "../../core/lock.ts";
import type { Changes, Loaded, LoadPlan } from "../../storage/store.ts";
import { AGAIN_ROUNDS_MAX } from "../engine-bounds.ts";

/** A command, and performance.now() when it arrived. */
export interface Asked {
  readonly command: Command;
  readonly submittedMs: number;
}

/** The commands of a transaction, by lock, in order of arrival. */
export type AskedByLock = ReadonlyMap<bigint, readonly Asked[]>;

export interface Decided {
  readonly nowUs: number;
  readonly lockName: string;
  /** One for each command of the lock, in the same order; undefined: the lock is not the one that the command names. */
  readonly outcomes: readonly (Outcome | undefined)[];
}

export interface BatchOptions {
  readonly rules: Rules;
  /** By how much a transaction raises the revisions of its guard rows. */
  readonly newRevisionStep: () => bigint;
}

export class Batch {
  readonly #asked: AskedByLock;
  readonly #rules: Rules;
  /** Attempts of which one may have been committed: commands must recognise their own work. */
  readonly #earlier: readonly Batch[];
  readonly #revisionStep: bigint;
  readonly #byRequestId = new Map<string, Claim>();
  #round = 0;

  /** Results by lock; a lock whose guard row is gone has none. */
  readonly decided = new Map<bigint, Decided>();
  /** What happened, in order, with the name of the lock. */
  readonly events: { readonly event: Event; readonly lockName: string; readonly nowUs: number }[] = [];
  /** Guard rows as written, and the revision that each had before. */
  readonly locks = new Map<bigint, { readonly lock: Lock; readonly revisionBefore: bigint }>();
  /** Locks that have more to grant than one transaction should: to be advanced by the next one. */
  readonly leftOver: bigint[] = [];

  constructor(asked: AskedByLock, { rules, newRevisionStep }: BatchOptions, earlier: readonly Batch[]) {
    this.#asked = asked;
    this.#rules = rules;
    this.#revisionStep = newRevisionStep();
    this.#earlier = earlier;
  }

  /** `impatient`: whether it is not to wait for row locks that others hold. */
  plan(likelyQueue: (lockId: bigint) => boolean, impatient: boolean): LoadPlan {
    const claims: ClaimKey[] = [];
    const requestIds: string[] = [];
    const holdersOf: bigint[] = [];
    for (const [lockId, asked] of this.#asked) {
      for (const { command } of asked) {
        if (command.verb === "acquire") {
          if (this.#earlier.length > 0 || !command.requestId.startsWith(SERVER_MADE_PREFIX)) {
            requestIds.push(command.requestId);
          }
        } else if (command.verb === "withdraw") requestIds.push(command.requestId);
        else if (command.verb === "force_release") {
          if (command.ticketNumber === null) holdersOf.push(lockId);
          else claims.push({ lockId, ticketNumber: command.ticketNumber });
        } else if ("ref" in command) claims.push(command.ref);
      }
    }
    const locks = [...this.#asked]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, asked]) => ({
        id,
        heads: Math.min(asked.length + QUEUE_HEAD_EXTRA, QUEUE_HEAD_MAX),
        likelyQueue: likelyQueue(id),
      }));
    return { impatient, locks, claims, requestIds, holdersOf };
  }

  /** Decides what was read: all commands in the first round, then only what was left unfinished. */
  decide(loaded: Loaded): Changes {
    this.#round += 1;
    const drafts = this.#openDrafts(loaded);
    for (const draft of drafts) {
      if (this.#round === 1 && draft.lock.waiting > 0) this.#keepInTime(draft);
      settle(draft);
      if (this.#round === 1) this.#decideCommands(draft);
    }
    return this.#close(drafts);
  }

  /** The outcome of a command, to be asked for after the commit; undefined: its lock is not there under this id. */
  outcome(lockId: bigint, index: number): Outcome | undefined {
    const outcome = this.decided.get(lockId)?.outcomes[index];
    const written = this.locks.get(lockId);
    // A limit is answered with the counts that this transaction has left behind, all of its grants included.
    return outcome?.kind === "limit" && written ? { ...outcome, lock: written.lock } : outcome;
  }

  #openDrafts(loaded: Loaded): Draft[] {
    const claimsOf = new Map<bigint, Claim[]>();
    for (const claim of loaded.claims) {
      const claims = claimsOf.get(claim.lockId);
      if (claims) claims.push(claim);
      else claimsOf.set(claim.lockId, [claim]);
      if (this.#round === 1) this.#byRequestId.set(claim.requestId, claim);
    }
    return [...loaded.locks.values()].map((lock) => {
      const queue = loaded.queues.get(lock.id) ?? { head: [], complete: true };
      const claims = claimsOf.get(lock.id) ?? [];
      return openDraft({ lock, claims, queue }, loaded.limitRules, this.#rules, loaded, loaded.failOver);
    });
  }

  /** What came back in time keeps its place, however long the command had to wait for its turn. */
  #keepInTime(draft: Draft): void {
    for (const { command, submittedMs } of this.#asked.get(draft.lock.id) ?? []) {
      if (command.verb !== "attach" && command.verb !== "acquire") continue;
      const claim =
        command.verb === "attach"
          ? draft.claims.get(command.ref.ticketNumber)
          : this.#byRequestId.get(command.requestId);
      if (claim) keepInTime(draft, command, claim, (performance.now() - submittedMs) * 1_000);
    }
  }

  #decideCommands(draft: Draft): void {
    const outcomes = (this.#asked.get(draft.lock.id) ?? []).map(({ command }, index) => {
      // After a fail-over to a copy that lags, an id that was learnt before may have been given to another name.
      if ("name" in command && command.name !== draft.lock.name) return undefined;
      if (!("requestId" in command)) return decide(draft, this.#marked(draft, command, index));
      const outcome = decide(draft, command, this.#byRequestId.get(command.requestId));
      // A second Acquire with the same id in the same batch has to find the first.
      if (outcome.kind === "held" || outcome.kind === "waiting") {
        const claim = draft.claims.get(outcome.claim.ticketNumber);
        if (claim) this.#byRequestId.set(command.requestId, claim);
      }
      return outcome;
    });
    this.decided.set(draft.lock.id, { nowUs: draft.nowUs, lockName: draft.lock.name, outcomes });
  }

  /** Says of a command whether an earlier attempt did just what it now finds done. */
  #marked(draft: Draft, command: Command, index: number): Command {
    if (command.verb !== "release" && command.verb !== "set_limit") return command;
    const repeated = this.#earlier.some(({ decided }) => {
      const before = decided.get(draft.lock.id);
      const outcome = before?.outcomes[index];
      if (command.verb === "set_limit") {
        return outcome?.kind === "limit" && outcome.version === draft.lock.limitVersion;
      }
      // The time tells it from a release by somebody else, who came when that attempt had been rolled back after all.
      const endedAtUs = draft.claims.get(command.ref.ticketNumber)?.endedAtUs;
      return outcome?.kind === "released" && outcome.byThisCall && endedAtUs === before?.nowUs;
    });
    return repeated ? { ...command, repeated } : command;
  }

  #close(drafts: readonly Draft[]): Changes {
    const locks: Lock[] = [];
    const added: Claim[] = [];
    const changed: Claim[] = [];
    const again: bigint[] = [];
    for (const draft of drafts) {
      const revisionBefore = this.locks.get(draft.lock.id)?.revisionBefore ?? draft.lock.revision;
      draft.lock.revision += this.#revisionStep;
      locks.push(draft.lock);
      this.locks.set(draft.lock.id, { lock: draft.lock, revisionBefore });
      added.push(...draft.added);
      changed.push(...draft.changed);
      for (const event of draft.events) {
        this.events.push({ event, lockName: draft.lock.name, nowUs: draft.nowUs });
      }
      if (!draft.unfinished) continue;
      if (this.#round < AGAIN_ROUNDS_MAX) again.push(draft.lock.id);
      else this.leftOver.push(draft.lock.id);
    }
    return { locks, added, changed, again };
  }
}
