// Drives the core the way the real engine does, over rows in memory: reads only what a decision may read, writes only
// what the draft marks, and goes on with the next heads of the queue while the decision is unfinished. Rows are cloned
// on the way in and out, so that a change that is not marked for writing is lost here as it would be in a database.

import type { Claim, ClaimKey } from "../../server/core/claim.ts";
import type { Command, Event, Outcome } from "../../server/core/command.ts";
import * as decideModule from "../../server/core/decide.ts";
import type { Clock, Draft, Rules } from "../../server/core/draft.ts";
import * as draftModule from "../../server/core/draft.ts";
import type { FailOver } from "../../server/core/fail-over.ts";
import type { LimitRule } from "../../server/core/limit.ts";
import type { Lock } from "../../server/core/lock.ts";

/** What is driven: the real core, or a copy of it with a planted fault. */
export interface Core {
  readonly openDraft: typeof draftModule.openDraft;
  readonly settle: typeof decideModule.settle;
  readonly decide: typeof decideModule.decide;
}

export const realCore: Core = {
  openDraft: draftModule.openDraft,
  settle: decideModule.settle,
  decide: decideModule.decide,
};

/** When a transaction is run, and how much it reads. */
export interface Look {
  readonly clock: Clock;
  readonly failOver: FailOver;
  /** Waiters read from the head of the queue, at each pass. */
  readonly heads: number;
  /** Due claims read at each pass. */
  readonly dueMax?: number;
}

export interface Decided {
  readonly outcomes: readonly Outcome[];
  readonly events: readonly Event[];
  /** How often rows were read: more than once when the known heads did not suffice. */
  readonly passes: number;
  /** The last waiter that the first pass could see; null when it saw the whole queue. */
  readonly seenUpTo: bigint | null;
}

/** More passes than any test has waiters: the decision does not come to an end. */
const PASSES_MAX = 1_000;

export class TinyEngine {
  readonly core: Core;
  readonly settings: Rules;
  readonly locks = new Map<string, Lock>();
  readonly limitRules: LimitRule[] = [];
  claims: Claim[] = [];

  constructor(settings: Rules, core: Core = realCore) {
    this.settings = settings;
    this.core = core;
  }

  addLock(name: string, tokenFloor = 0n): void {
    this.locks.set(name, {
      id: BigInt(this.locks.size + 1),
      name,
      limit: null,
      limitVersion: 0n,
      limitReason: "",
      nextTicket: 1n,
      lastToken: tokenFloor,
      heldPermits: 0,
      sharedHolders: 0,
      exclusiveHolders: 0,
      holders: 0,
      waiting: 0,
      waitingPermits: 0,
      revision: 0n,
    });
  }

  /** The guard row as stored. */
  lock(name: string): Lock {
    const lock = this.locks.get(name);
    if (!lock) throw new Error(`no lock ${name}`);
    return lock;
  }

  /** Claims of a lock as stored, in order of ticket numbers. */
  claimsOf(name: string): Claim[] {
    const { id } = this.lock(name);
    return this.claims
      .filter((claim) => claim.lockId === id)
      .sort((a, b) => (a.ticketNumber < b.ticketNumber ? -1 : 1));
  }

  claim(key: ClaimKey): Claim | undefined {
    return this.claims.find((row) => row.lockId === key.lockId && row.ticketNumber === key.ticketNumber);
  }

  /** One transaction about one lock. */
  transact(name: string, commands: readonly Command[], look: Look): Decided {
    const outcomes: Outcome[] = [];
    const events: Event[] = [];
    let seenUpTo: bigint | null = null;
    for (let pass = 1; pass <= PASSES_MAX; pass++) {
      const draft = this.#open(name, pass === 1 ? commands : [], look);
      if (pass === 1 && !draft.queueComplete) seenUpTo = draft.queue.at(-1)?.ticketNumber ?? 0n;
      this.core.settle(draft);
      if (pass === 1) {
        for (const command of commands) {
          const known = "requestId" in command ? this.#known(command.requestId, draft) : undefined;
          outcomes.push(this.core.decide(draft, command, known));
        }
      }
      this.#write(draft);
      events.push(...draft.events);
      if (!draft.unfinished) return { outcomes, events, passes: pass, seenUpTo };
    }
    throw new Error("the decision stays unfinished");
  }

  /** Changes the rule of a pattern and brings the locks that it matches up to date. */
  setPattern(prefix: string, limit: number | null, look: Look): Map<string, Decided> {
    const at = this.limitRules.findIndex((rule) => rule.prefix === prefix);
    const version = (this.limitRules[at]?.version ?? 0n) + 1n;
    const rule = { prefix, limit, version, reason: "" };
    if (at < 0) this.limitRules.push(rule);
    else this.limitRules[at] = rule;
    const names = [...this.locks.keys()].filter((name) => name.startsWith(prefix));
    return new Map(names.map((name) => [name, this.transact(name, [], look)]));
  }

  /** What the store does for waiters whose streams a replica holds. */
  heartbeat(replica: bigint, nowUs: number): void {
    for (const claim of this.claims) {
      if (claim.state !== "waiting" || claim.replica !== replica) continue;
      claim.deadlineUs = Math.min(nowUs + this.settings.attachedForUs, claim.waitUntilUs ?? Infinity);
    }
  }

  /** Deletes what has ended and is no longer remembered. */
  purge(nowUs: number): void {
    this.claims = this.claims.filter((claim) => claim.state !== "ended" || (claim.deadlineUs ?? 0) > nowUs);
  }

  #open(name: string, commands: readonly Command[], look: Look): Draft {
    const all = this.claimsOf(name);
    const named = new Set<Claim>();
    for (const command of commands) for (const claim of all) if (names(command, claim)) named.add(claim);
    const due = all.filter(
      (claim) => claim.state !== "ended" && claim.deadlineUs !== null && claim.deadlineUs <= look.clock.nowUs,
    );
    for (const claim of due.slice(0, look.dueMax ?? due.length)) named.add(claim);
    const waiting = all.filter((claim) => claim.state === "waiting");
    const head = waiting.slice(0, look.heads);
    const loaded = {
      lock: structuredClone(this.lock(name)),
      claims: [...named].map((claim) => structuredClone(claim)),
      // Read on its own, so a claim may come twice, as two objects.
      queue: { head: structuredClone(head), complete: head.length === waiting.length },
    };
    const { clock, failOver } = look;
    return this.core.openDraft(loaded, structuredClone(this.limitRules), this.settings, clock, failOver);
  }

  /** As stored before the transaction, or added by it: a copy, so that the core has to look at its own. */
  #known(requestId: string, draft: Draft): Claim | undefined {
    const known = [...this.claims, ...draft.added].find((claim) => claim.requestId === requestId);
    return known && structuredClone(known);
  }

  #write(draft: Draft): void {
    const lock = structuredClone(draft.lock);
    lock.revision += 1n;
    this.locks.set(lock.name, lock);
    for (const claim of draft.added) {
      const taken = this.claims.some((row) => row.requestId === claim.requestId);
      if (taken) throw new Error(`request id ${claim.requestId} would have two claims`);
      if (this.claim(claim)) throw new Error(`ticket number ${claim.ticketNumber} was given twice`);
      this.claims.push(structuredClone(claim));
    }
    for (const claim of draft.changed) {
      const at = this.claims.findIndex(
        (row) => row.lockId === claim.lockId && row.ticketNumber === claim.ticketNumber,
      );
      if (at < 0) throw new Error(`claim ${claim.ticketNumber} is changed but was never added`);
      if (this.claims[at]?.state === "ended") throw new Error(`ended claim ${claim.ticketNumber} changes`);
      this.claims[at] = structuredClone(claim);
    }
  }
}

/** Whether a decision about the command has to read the claim. */
function names(command: Command, claim: Claim): boolean {
  switch (command.verb) {
    case "acquire":
    case "withdraw":
      return command.requestId === claim.requestId;
    case "attach":
    case "detach":
    case "renew":
    case "release":
      return command.ref.ticketNumber === claim.ticketNumber;
    case "force_release":
      return command.ticketNumber === null
        ? claim.state === "held"
        : command.ticketNumber === claim.ticketNumber;
    case "set_limit":
    case "advance":
      return false;
  }
}
