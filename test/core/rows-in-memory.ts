// Rows in memory for decisions: reads only what a decision may read, writes only the changes that it returns, and reads
// more heads of a queue while the decision asks for them. Rows are cloned on the way in and out, so a change that the
// decision does not return is lost, as it would be in a database.

import { QUEUE_HEAD_MAX } from "../../server/core/bounds.ts";
import type { Claim, ClaimKey } from "../../server/core/claim.ts";
import type { Command, Event, Outcome } from "../../server/core/command.ts";
import type { Clock } from "../../server/core/database-clock.ts";
import { type Decision, decideBatch } from "../../server/core/decide-batch.ts";
import { type LimitRule, NO_SETTINGS, withSet } from "../../server/core/limit.ts";
import type { FailOver, Lock } from "../../server/core/lock.ts";
import type { NotedChange } from "../../server/core/noted-change.ts";
import { byOrder, groupOf } from "../../server/core/queue-rules.ts";
import type { GroupRead, Policy, Rows } from "../../server/core/rows.ts";
import { groupRead, groupsToRead } from "../../server/storage/rows/shares.ts";
import { FREE_LOCK } from "../support/claims.ts";
import type { NewLimits } from "./reference-model.ts";

/** The real core, or a copy of it with a planted fault. */
export type Core = typeof decideBatch;

/** The time at which a transaction runs, and how much it reads. */
export interface Look {
  readonly clock: Clock;
  readonly failOver: FailOver;
  /** Waiters read from the head of the queue in each pass. */
  readonly heads: number;
  /** Due claims read in each pass. */
  readonly dueMax?: number;
}

export interface Decided {
  readonly outcomes: readonly Outcome[];
  readonly events: readonly Event[];
  /** Changes for the history. */
  readonly noted: readonly NotedChange[];
  /** How often rows were read: more than once if the known heads did not suffice. */
  readonly passes: number;
  /** The last waiter that the first pass saw; null if it saw the whole queue. */
  readonly seenUpTo: bigint | null;
}

/** More passes than any test has waiters: past this, the decision does not terminate. */
const PASSES_MAX = 1_000;

export class RowsInMemory {
  readonly core: Core;
  readonly settings: Policy;
  readonly locks = new Map<string, Lock>();
  readonly limitRules: LimitRule[] = [];
  claims: Claim[] = [];
  /** Request ids whose keys belong to other ids. */
  readonly taken = new Set<string>();

  constructor(settings: Policy, core: Core = decideBatch) {
    this.settings = settings;
    this.core = core;
  }

  addLock(name: string, tokenFloor = 0n): void {
    const id = BigInt(this.locks.size + 1);
    this.locks.set(name, { ...FREE_LOCK, id, name, lastToken: tokenFloor });
  }

  /** The stored guard row. */
  lock(name: string): Lock {
    const lock = this.locks.get(name);
    if (!lock) throw new Error(`no lock ${name}`);
    return lock;
  }

  /** The stored claims of a lock, in order of ticket numbers. */
  claimsOf(name: string): Claim[] {
    const { id } = this.lock(name);
    return this.claims
      .filter((claim) => claim.lockId === id)
      .sort((a, b) => (a.ticketNumber < b.ticketNumber ? -1 : 1));
  }

  claim(key: ClaimKey): Claim | undefined {
    return this.claims.find((row) => row.lockId === key.lockId && row.ticketNumber === key.ticketNumber);
  }

  /** One transaction about one lock, with commands that arrived `agoMs` ago. */
  transact(name: string, commands: readonly Command[], look: Look, agoMs = 0): Decided {
    const { id } = this.lock(name);
    const outcomes: (Outcome | undefined)[] = [];
    const events: Event[] = [];
    const noted: NotedChange[] = [];
    let seenUpTo: bigint | null = null;
    for (let pass = 1; pass <= PASSES_MAX; pass++) {
      const now = pass === 1 ? commands : [];
      const { sharedBy } = this.lock(name);
      // What is read again is read further, as stores do where shares are fair: one more waiter may not say more.
      const further = pass > 1 && sharedBy ? { ...look, heads: QUEUE_HEAD_MAX } : look;
      const { rows, decision } = this.#decide(name, now, further, agoMs);
      const queue = rows.queues.get(id);
      if (pass === 1 && !queue?.complete) seenUpTo = queue?.head.at(-1)?.ticketNumber ?? 0n;
      this.#write(decision);
      outcomes.push(...(decision.decided.get(id)?.outcomes ?? []));
      events.push(...decision.events.map(({ event }) => event));
      noted.push(...decision.noted);
      if (decision.again.length === 0)
        return { outcomes: outcomes as Outcome[], events, noted, passes: pass, seenUpTo };
    }
    throw new Error("the decision stays unfinished");
  }

  /** Changes the rule of a pattern and updates the locks that it matches. */
  setPattern(prefix: string, set: NewLimits, look: Look): Map<string, Decided> {
    const at = this.limitRules.findIndex((rule) => rule.prefix === prefix);
    const before = this.limitRules[at];
    const version = (before?.version ?? 0n) + 1n;
    const rule = { prefix, ...withSet(before ?? NO_SETTINGS, set), version, reason: "", changeMark: 0n };
    if (at < 0) this.limitRules.push(rule);
    else this.limitRules[at] = rule;
    const names = [...this.locks.keys()].filter((name) => name.startsWith(prefix));
    return new Map(names.map((name) => [name, this.transact(name, [], look)]));
  }

  /** Extends the places of waiters whose streams the replica holds, as the store does. */
  heartbeat(replica: bigint, nowUs: number): void {
    for (const claim of this.claims) {
      if (claim.state !== "waiting" || claim.replica !== replica) continue;
      claim.deadlineUs = Math.min(nowUs + this.settings.attachedForUs, claim.waitUntilUs ?? Infinity);
    }
  }

  /** Deletes ended claims whose retention time is over. */
  purge(nowUs: number): void {
    this.claims = this.claims.filter((claim) => claim.state !== "ended" || (claim.deadlineUs ?? 0) > nowUs);
  }

  #decide(name: string, commands: readonly Command[], look: Look, agoMs: number) {
    const { id } = this.lock(name);
    const asked = new Map([[id, commands.map((command) => ({ command, submittedMs: 0 }))]]);
    const context = { policy: this.settings, nowMs: agoMs, attempt: { mark: 0n }, earlier: [] };
    const rows = this.#read(name, commands, look, false);
    try {
      return { rows, decision: this.core(rows, asked, context) };
    } catch (error) {
      // Of a copy of the core, it is another class.
      if ((error as Error).constructor.name !== "RowsNeeded") throw error;
      const all = this.#read(name, commands, look, true);
      return { rows: all, decision: this.core(all, asked, context) };
    }
  }

  #read(name: string, commands: readonly Command[], look: Look, isWhole: boolean): Rows {
    const { id } = this.lock(name);
    const all = this.claimsOf(name);
    const read = this.claims.filter((claim) => commands.some((command) => names(command, claim, id)));
    const due = all.filter(
      (claim) => claim.state !== "ended" && claim.deadlineUs !== null && claim.deadlineUs <= look.clock.nowUs,
    );
    const { sharedBy } = this.lock(name);
    const rules = [this.lock(name), ...this.limitRules, ...commands].flatMap(
      (one) => ("queueRules" in one && one.queueRules) || [],
    );
    const mayBeShared = Boolean(sharedBy) || rules.some(({ shareBy }) => shareBy !== null);
    // The model knows nothing of what is not read. Without it, a decision that may only have parts says what it lacks.
    const isPart = look.dueMax !== undefined && !isWhole;
    const holders = !isPart || sharedBy ? all.filter((claim) => claim.state === "held") : [];
    const claims = [...new Set([...read, ...due.slice(0, look.dueMax ?? due.length), ...holders])];
    const waiting = all.filter((claim) => claim.state === "waiting");
    const ordered = sharedBy ? waiting.filter(({ turn }) => turn !== null).sort(byOrder) : waiting;
    const isAll = isWhole || (!isPart && mayBeShared) || look.heads >= waiting.length;
    const head = isAll ? waiting : ordered.slice(0, look.heads);
    const queue = {
      head,
      complete: head.length === waiting.length,
      frontComplete: head.length === ordered.length,
    };
    const groups = new Map<string, GroupRead>();
    const ofGroup = (group: string) => waiting.filter((claim) => claim.group === group);
    const asking = commands.flatMap((command) =>
      command.verb === "acquire" ? [command.caller?.principal ?? ""] : [],
    );
    const joining = asking.map((principal) => groupOf({ principal, labels: {} }, sharedBy ?? ""));
    for (const [group, max] of groupsToRead({
      lock: this.lock(name),
      queue,
      claims,
      joining,
      heads: look.heads,
    }))
      groups.set(group, groupRead(structuredClone(ofGroup(group).slice(0, max)), max));
    const lock = structuredClone(this.lock(name));
    return {
      ...look.clock,
      failOver: look.failOver,
      locks: new Map([[lock.id, lock]]),
      limitRules: structuredClone(this.limitRules),
      claims: structuredClone(claims),
      takenRequestIds: this.taken,
      // Read separately, so a claim may appear twice, as two objects.
      queues: new Map([[lock.id, { ...queue, head: structuredClone(head) }]]),
      groups: new Map([[lock.id, groups]]),
    };
  }

  #write({ locks, added, changed }: Decision): void {
    for (const lock of structuredClone(locks))
      this.locks.set(lock.name, { ...lock, revision: lock.revision + 1n });
    for (const claim of added) {
      const taken = this.claims.some((row) => row.requestId === claim.requestId);
      if (taken) throw new Error(`request id ${claim.requestId} would have two claims`);
      if (this.claim(claim)) throw new Error(`ticket number ${claim.ticketNumber} was given twice`);
      this.claims.push(structuredClone(claim));
    }
    for (const claim of changed) {
      const at = this.claims.findIndex(
        (row) => row.lockId === claim.lockId && row.ticketNumber === claim.ticketNumber,
      );
      if (at < 0) throw new Error(`claim ${claim.ticketNumber} is changed but was never added`);
      if (this.claims[at]?.state === "ended") throw new Error(`ended claim ${claim.ticketNumber} changes`);
      this.claims[at] = structuredClone(claim);
    }
  }
}

/** Whether a decision about the command, on the lock with this id, must read the claim. */
function names(command: Command, claim: Claim, lockId: bigint): boolean {
  if ("requestId" in command) return command.requestId === claim.requestId;
  if (claim.lockId !== lockId) return false;
  if ("ref" in command) return command.ref.ticketNumber === claim.ticketNumber;
  if (command.verb === "advance")
    return command.claims?.some(({ ticketNumber }) => ticketNumber === claim.ticketNumber) === true;
  if (command.verb !== "force_release") return false;
  return command.ticketNumber === null ? claim.state === "held" : command.ticketNumber === claim.ticketNumber;
}
