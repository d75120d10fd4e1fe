// Lanes: each takes all queued commands, of many locks, into one transaction. Nothing is delayed on purpose: while one
// transaction runs, commands for the next ones gather. A lock is in at most one transaction of this replica at a time,
// so these never wait for each other's row locks. Renewals and releases go before what was queued earlier, as a lease
// that is renewed too late is lost, and a release makes room.
//
// Locks under one root pool are in one lane at a time, too, as their decisions write that pool's row: see pools-over-names.ts.
//
// Nor do lanes wait for row locks of others. When another transaction holds a row of one lock, the lane divides its
// locks until that one is alone. The commands of that lock go to the patient slots, and for a while they go there
// without a try in a lane. The other locks proceed.
//
// A command about several locks never waits for a row while it has another: it is tried again from time to time, and nobody
// else at its locks waits for it.

import { setTimeout as sleep } from "node:timers/promises";
import type { BoundUse } from "../../core/bound-use.ts";
import type { ClaimKey } from "../../core/claim.ts";
import type { Command } from "../../core/command.ts";
import { ROLLED_BACK } from "../../storage/retry.ts";
import { isRowLocked, ROW_LOCKED, type Store, StoreError } from "../../storage/store.ts";
import type { AnswerTo } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import { FairQueue, sourceOf } from "../fair-gate.ts";
import { Fault, overloaded, shuttingDown, unavailable } from "../faults.ts";
import { type HeldUpAsks, PatientSlots } from "./held-up.ts";
import type { LockEntry, Locks, UnderWay } from "./locks.ts";
import type { PoolsOverNames } from "./pools-over-names.ts";
import type { SetMembers } from "./set-members.ts";
import {
  Ask,
  type AsksByLock,
  type Attempt,
  claimsMadeBy,
  commitAsks,
  type Deciding,
  giveUp,
  parts,
  promised,
  type TransactionAsks,
} from "./transaction.ts";

export interface LanesOptions extends Deciding {
  readonly locks: Locks;
  readonly pools: Pick<PoolsOverNames, "over" | "learn" | "rootOf">;
  readonly sets: SetMembers;
  readonly waitForRows: Store["waitForRows"];
  readonly lanes: number;
  readonly patientSlots: number;
  /** At most this many queued commands; twice as many with renewals and releases. */
  readonly queuedMax: number;
  /** Learns of each command that waits long, perhaps twice, with the claims that earlier attempts made for it. */
  readonly returned: { heldUp(ask: Ask, made?: readonly ClaimKey[]): void };
  /** Answers the commands after the commit. Must not throw. */
  readonly subscribers: { answer(asks: AsksByLock, attempt: Attempt): void };
  /** Learns of the commits, and of the asks that are given up with the error that their callers get. Must not throw. */
  readonly health: {
    committed(asks: AsksByLock): void;
    failed(error: unknown, asks: AsksByLock): void;
  };
}

const IN_LANE: UnderWay = { kind: "in_lane" };

export class Lanes {
  readonly #options: LanesOptions;
  /** Locks with queued asks, in the order in which they came. */
  readonly #queued = new Set<LockEntry>();
  /** How many locks under each root pool one transaction decides about. There is one for each tree at a time. */
  readonly #trees = new Map<bigint, number>();
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
   * Queues the ask for a lock of the table, or for the lock with an id. Throws a Fault when the lanes are stopped, when the
   * queue is full, and when another transaction holds the lock of an optional command: an `advance`, which its sender
   * repeats anyway, or an `acquire` that is one of many.
   */
  add(to: LockEntry | bigint, ask: Ask): void {
    this.refuseWhenStopped();
    const { command } = ask;
    const { queuedMax, locks } = this.#options;
    if (this.#queuedCount >= (isUrgent(command) ? 2 * queuedMax : queuedMax))
      throw overloaded("commands_queued", "Too many calls are waiting for the database.");
    const lock = typeof to === "bigint" ? locks.get(to) : to;
    const isWaitedFor = lock.underWay !== null && lock.underWay !== IN_LANE;
    if (isOptional(command) && (isWaitedFor || isHeldUpFor(command, lock))) throw heldUp();
    ask.lockId = lock.id;
    ask.submittedMs = performance.now();
    ask.isOver = false;
    const { queued } = lock;
    if (queued.length > 0 && isUrgent(command)) queued.splice(urgentIn(queued), 0, ask);
    else queued.push(ask);
    this.#queued.add(lock);
    this.#queuedCount += 1;
    if (lock.underWay?.kind === "held_up") this.#options.returned.heldUp(ask);
    this.#schedule();
  }

  /** The same for a command of which few are made. Resolves after the commit; null: the guard row is gone. */
  submit<Asked extends Command>(lockId: bigint, command: Asked): Promise<AnswerTo<Asked["verb"]> | null> {
    return promised((asker) => this.add(lockId, new Ask(command, null, asker)));
  }

  get bounds(): readonly BoundUse[] {
    const { queuedMax, lanes } = this.#options;
    return [
      { bound: "commands_queued", kind: "room", used: this.#queuedCount, max: queuedMax },
      { bound: "lanes", kind: "turns", used: this.#busy, max: lanes },
      this.#slots.bound,
    ];
  }

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
      const byLock = this.#take();
      if (byLock.size === 0) break;
      this.#busy += 1;
      void this.#run({ byLock, earlier: [] }, true);
    }
  };

  #goOn(): void {
    if (this.#queuedCount > 0) this.#schedule();
    else if (this.#idle.length > 0 && this.#isDrained())
      for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Takes the asks for one lane. Sends the locks that are held up to the patient slots. */
  #take(): Map<bigint, Ask[]> {
    const taken = new Map<bigint, Ask[]>();
    const passing = new Map<bigint, Ask[]>();
    /** Trees that this call takes locks of: for the lane, or to wait. */
    const ownTrees = new Map<bigint, LockEntry["hold"]>();
    let room = bounds.BATCH_COMMANDS_MAX;
    const inTurns = this.#inTurns();
    const isCrowded = performance.now() - this.#crowdedMs < bounds.CROWDED_FOR_MS;
    const locksMax = isCrowded ? bounds.CROWDED_BATCH_LOCKS_MAX : bounds.BATCH_LOCKS_MAX;
    for (const lock of inTurns) {
      if (room === 0 || taken.size >= locksMax) break;
      if (lock.underWay !== null) continue;
      const tree = this.#options.pools.rootOf(lock.name);
      if (tree !== null && this.#trees.has(tree) && !ownTrees.has(tree)) continue;
      const state = this.#holdOf(lock, tree);
      if (state !== "stuck" && tree !== null) {
        if ((ownTrees.get(tree) ?? state) !== state) continue;
        ownTrees.set(tree, state);
      }
      if (state !== "free") this.#setSpanningApart(lock);
      if (lock.queued.length === 0) continue;
      if (state === "free") {
        this.#enterTree(lock, tree);
        const part = this.#takeOf(lock, room);
        room -= part.length;
        taken.set(lock.id, part);
      } else if (state === "stuck") {
        this.#wait({ byLock: new Map([[lock.id, this.#takeOf(lock)]]), earlier: [] }, "stuck");
      } else if (lock.queued.every(({ command }) => isOptional(command))) {
        // Optional commands are not worth a wait. A lane tries them alone if it has taken no other lock.
        if (taken.size > 0) continue;
        taken.set(lock.id, this.#takeOf(lock));
        break;
      } else if (passing.size < bounds.BATCH_LOCKS_MAX && this.#slots.hasRoom) {
        this.#enterTree(lock, tree);
        passing.set(lock.id, this.#takeOf(lock));
      }
    }
    if (passing.size > 0) this.#wait({ byLock: passing, earlier: [] }, "passing");
    return taken;
  }

  /**
   * Locks with queued asks, in the order in which they came: in turn one with urgent asks and one without. So urgent
   * asks wait for few others, and nobody who renews without a pause keeps others from acquiring.
   */
  #inTurns(): readonly LockEntry[] {
    const urgent: LockEntry[] = [];
    const others: LockEntry[] = [];
    for (const lock of this.#queued) {
      const first = lock.queued[0];
      (first && isUrgent(first.command) ? urgent : others).push(lock);
    }
    return alternating(this.#inTurnsOf(urgent), this.#inTurnsOf(others));
  }

  /** If not all locks fit, clients take turns: who wants one need not wait for all that another one wants. */
  #inTurnsOf(queued: readonly LockEntry[]): readonly LockEntry[] {
    if (this.#queued.size <= bounds.BATCH_LOCKS_MAX) return queued;
    const inTurns = new FairQueue<LockEntry>(queued.length);
    for (const lock of queued) inTurns.add(sourceOf(lock.queued[0]?.caller), lock);
    if (inTurns.isCrowded(bounds.BATCH_LOCKS_MAX)) this.#crowdedMs = performance.now();
    return [...inTurns.all()];
  }

  #takeOf(lock: LockEntry, max: number = bounds.BATCH_COMMANDS_MAX): Ask[] {
    let part = lock.queued;
    if (part.length > max) part = someOf(part, max);
    else lock.queued = [];
    if (lock.queued.length === 0) this.#queued.delete(lock);
    this.#queuedCount -= part.length;
    lock.underWay = IN_LANE;
    return part;
  }

  /** Commands about several locks wait for no row in a slot. */
  #setSpanningApart(lock: LockEntry): void {
    const { sets } = this.#options;
    const spanning = lock.queued.filter(({ command }) => sets.spans(command));
    if (spanning.length === 0) return;
    lock.queued = lock.queued.filter(({ command }) => !sets.spans(command));
    if (lock.queued.length === 0) this.#queued.delete(lock);
    this.#queuedCount -= spanning.length;
    void this.#runApart(lock.id, spanning);
  }

  /** `isLane`: this is all that the lane does. */
  async #run(asks: TransactionAsks, isLane = false): Promise<void> {
    let attempt: Attempt | null = null;
    try {
      attempt = await commitAsks(asks, true, this.#options);
    } catch (error) {
      await this.#failedWith(asks, error);
    }
    if (attempt) this.#done(asks, attempt);
    if (!isLane) return;
    this.#busy -= 1;
    this.#goOn();
  }

  async #failedWith(all: TransactionAsks, error: unknown): Promise<void> {
    const locks = all.byLock.size;
    if (isRowLocked(error)) await this.#meet(all);
    else if (error instanceof Fault || locks === 1) this.#failed(all, error);
    // An unexpected error. One lock must not spoil the transaction for the others, so each lock gets its own.
    else for (const part of parts(all, locks)) await this.#run(part);
  }

  /** Handles a transaction that met a row held by another transaction. */
  async #meet(asks: TransactionAsks): Promise<void> {
    const halves = parts(asks, 2, (lockId) => this.#options.locks.known(lockId)?.tree ?? lockId);
    if (halves.length > 1) {
      for (const half of halves) await this.#run(half);
      return;
    }
    if (asks.byLock.size > 1) {
      await this.#meetInTree(asks);
      return;
    }
    const plain = this.#setApart(asks);
    if (plain !== asks) {
      if (plain.byLock.size > 0) await this.#run(plain);
      return;
    }
    for (const lock of this.#locksOf(asks)) {
      lock.met();
      // It waits for its own row first, and holds no pool then.
      this.#leaveTree(lock);
    }
    // If an earlier attempt may have made an Acquire's change, the outcome must be found out.
    const isOpen = ({ command }: Ask) => asks.earlier.length > 0 && command.verb === "acquire";
    const isWorthIt = [...asks.byLock.values()].flat().some((ask) => !isOptional(ask.command) || isOpen(ask));
    if (isWorthIt) this.#wait(asks, "passing");
    else this.#failed(asks, heldUp());
  }

  /**
   * The held row may be that of one lock or of a pool. If both halves meet it, it is a pool's: then the tree waits for it in one
   * transaction, and so do its other locks for a while.
   */
  async #meetInTree(asks: TransactionAsks): Promise<void> {
    const held: TransactionAsks[] = [];
    const halves = parts(asks, 2);
    for (const half of halves) if (!(await this.#runUnlessHeld(half))) held.push(half);
    if (held.length < halves.length) {
      for (const half of held) await this.#meet(half);
      return;
    }
    const [lock] = this.#locksOf(asks);
    if (lock?.tree) this.#options.locks.get(lock.tree).met();
    const earlier = new Set(held.flatMap((half) => half.earlier));
    this.#wait({ ...asks, earlier: [...earlier] }, "passing");
  }

  /** Whether the transaction is over, in one way or another; false: another one holds a row of it. */
  async #runUnlessHeld(asks: TransactionAsks): Promise<boolean> {
    try {
      this.#done(asks, await commitAsks(asks, true, this.#options));
    } catch (error) {
      if (isRowLocked(error)) return false;
      await this.#failedWith(asks, error);
    }
    return true;
  }

  #holdOf(lock: LockEntry, tree: bigint | null): LockEntry["hold"] {
    const { hold } = lock;
    return hold === "free" && tree !== null ? this.#options.locks.get(tree).hold : hold;
  }

  /** Gives the asks to the patient slots. Their commands count as queued until it is over. */
  #wait(all: TransactionAsks, hold: HeldUpAsks["hold"]): void {
    const left = this.#shed(this.#setApart(all));
    if (left.byLock.size === 0) return;
    const sinceMs = performance.now();
    for (const [lockId, asks] of left.byLock) {
      this.#queuedCount += asks.length;
      const lock = this.#options.locks.get(lockId);
      const onLong = () => this.#waitForLong(lock, asks, left.earlier, sinceMs);
      lock.underWay = { kind: "patient", timer: setTimeout(onLong, bounds.RETURNED_AFTER_MS), sinceMs };
    }
    this.#slots.add({ asks: left, hold, sinceMs });
    this.#fillSlots();
  }

  #fillSlots(): void {
    for (let next = this.#slots.begin(); next; next = this.#slots.begin()) void this.#runPatiently(next);
  }

  async #runPatiently(waiting: HeldUpAsks): Promise<void> {
    const { asks, sinceMs } = waiting;
    const ended = await commitAsks(asks, false, this.#options).then(
      (attempt) => ({ attempt }),
      (error: unknown) => ({ error }),
    );
    this.#slots.end(waiting);
    if ("attempt" in ended) this.#done(asks, ended.attempt);
    else if (asks.byLock.size > 1 && !(ended.error instanceof Fault)) {
      // One lock must not spoil the transaction for the others, so each lock gets its own.
      for (const part of parts(asks, asks.byLock.size)) this.#slots.add({ ...waiting, asks: part });
    } else if (!isRowLocked(ended.error)) this.#failed(asks, ended.error);
    else {
      for (const lock of this.#locksOf(asks)) {
        lock.stuck();
        this.#leaveTree(lock);
      }
      if (performance.now() - sinceMs > ROLLED_BACK.longestMs) this.#failed(asks, unavailable(ended.error));
      else this.#slots.add({ asks, sinceMs, hold: "stuck" });
    }
    this.#fillSlots();
  }

  /**
   * Takes out the commands about several locks, to try them again soon, and returns the rest. After an attempt with an unknown
   * outcome all stay, as they must stay together.
   */
  #setApart(all: TransactionAsks): TransactionAsks {
    const spans = ({ command }: Ask) =>
      this.#options.sets.spans(command) || (command.verb === "force_release" && all.needed !== undefined);
    const hasSome = [...all.byLock.values()].some((asks) => asks.some(spans));
    if (all.earlier.length > 0 || !hasSome) return all;
    const byLock = new Map<bigint, readonly Ask[]>();
    for (const [lockId, asks] of all.byLock) {
      const lock = this.#options.locks.get(lockId);
      const plain = asks.filter((ask) => !spans(ask));
      const spanning = asks.filter(spans);
      if (spanning.length > 0) void this.#runApart(lockId, spanning);
      if (plain.length > 0) {
        byLock.set(lockId, plain);
        continue;
      }
      this.#leaveTree(lock);
      lock.underWay = null;
    }
    this.#goOn();
    return { byLock, earlier: [] };
  }

  /**
   * Tries again when the rows have been free, and then waits for them, which another transaction holds at most for a moment. They
   * count as queued meanwhile.
   */
  async #runApart(lockId: bigint, list: readonly Ask[]): Promise<void> {
    const asks: TransactionAsks = { byLock: new Map([[lockId, list]]), earlier: [] };
    const sinceMs = performance.now();
    const lockIds = [lockId, ...list.flatMap(({ command }) => this.#options.sets.spannedBy(command))];
    this.#queuedCount += list.length;
    for (let isOver = false; !isOver; ) {
      await this.#untilFree(lockIds, performance.now() - sinceMs);
      const ended = await commitAsks(asks, false, this.#options).then(
        (attempt) => ({ attempt }),
        (error: unknown) => ({ error }),
      );
      isOver = true;
      if ("attempt" in ended) this.#answer(asks, ended.attempt);
      else if (!isRowLocked(ended.error)) this.#fail(asks, ended.error);
      else if (performance.now() - sinceMs > ROLLED_BACK.longestMs)
        this.#fail(asks, unavailable(ended.error));
      else isOver = false;
    }
    this.#queuedCount -= list.length;
    this.#goOn();
  }

  /** Never rejects: whoever tries again finds out. */
  async #untilFree(lockIds: readonly bigint[], agoMs: number): Promise<void> {
    const pauseMs = Math.min(agoMs / 4, bounds.APART_PAUSE_MS_MAX);
    const startedMs = performance.now();
    await this.#options.waitForRows([...new Set(lockIds)]).catch(() => {});
    // If nobody holds these, somebody holds rows of their claims.
    if (performance.now() - startedMs < pauseMs) await sleep(pauseMs * (0.5 + Math.random()));
  }

  /** Refuses the optional commands, which are not worth a wait, and returns the rest. */
  #shed({ byLock, earlier }: TransactionAsks): TransactionAsks {
    if (earlier.length > 0) return { byLock, earlier };
    const left = new Map<bigint, readonly Ask[]>();
    for (const [lockId, list] of byLock) {
      const worthIt = refuseOptional(list);
      const lock = this.#options.locks.get(lockId);
      if (worthIt.length > 0) left.set(lockId, worthIt);
      else {
        this.#leaveTree(lock);
        lock.underWay = null;
      }
      const queuedLeft = refuseOptional(lock.queued);
      this.#queuedCount -= lock.queued.length - queuedLeft.length;
      lock.queued = queuedLeft;
      if (queuedLeft.length === 0) this.#queued.delete(lock);
    }
    return { byLock: left, earlier };
  }

  #waitForLong(
    lock: LockEntry,
    asks: readonly Ask[],
    earlier: TransactionAsks["earlier"],
    sinceMs: number,
  ): void {
    lock.underWay = { kind: "held_up", sinceMs };
    const { returned } = this.#options;
    for (const [index, ask] of asks.entries()) returned.heldUp(ask, claimsMadeBy(earlier, lock.id, index));
    for (const ask of lock.queued) returned.heldUp(ask);
  }

  // Whoever gets an answer may ask again in the same tick, so the locks are free by then.

  #done(asks: TransactionAsks, attempt: Attempt): void {
    this.#release(asks);
    this.#answer(asks, attempt);
  }

  #answer({ byLock }: TransactionAsks, attempt: Attempt): void {
    this.#options.health.committed(byLock);
    this.#options.subscribers.answer(byLock, attempt);
  }

  #failed(asks: TransactionAsks, error: unknown): void {
    this.#release(asks);
    this.#fail(asks, error);
  }

  #fail(asks: TransactionAsks, error: unknown): void {
    this.#options.health.failed(giveUp(asks, error), asks.byLock);
  }

  #release({ byLock }: TransactionAsks): void {
    const { locks } = this.#options;
    byLock.forEach((list, lockId) => {
      // The table keeps a lock while commands wait for it, so this is no use of it.
      const lock = locks.known(lockId) ?? locks.get(lockId);
      const { underWay } = lock;
      this.#leaveTree(lock);
      lock.underWay = null;
      locks.leave(lock);
      if (underWay === IN_LANE) return;
      this.#queuedCount -= list.length;
      if (underWay?.kind === "patient") clearTimeout(underWay.timer);
    });
    this.#goOn();
  }

  #enterTree(lock: LockEntry, tree: bigint | null): void {
    lock.tree = tree;
    if (tree !== null) this.#trees.set(tree, (this.#trees.get(tree) ?? 0) + 1);
  }

  /** When all of its locks have left, another transaction may decide about the tree. */
  #leaveTree(lock: LockEntry): void {
    const { tree } = lock;
    lock.tree = null;
    if (tree === null) return;
    const left = (this.#trees.get(tree) ?? 1) - 1;
    if (left > 0) this.#trees.set(tree, left);
    else this.#trees.delete(tree);
  }

  #locksOf({ byLock }: TransactionAsks): LockEntry[] {
    return [...byLock.keys()].map((id) => this.#options.locks.get(id));
  }
}

/** Best effort: may be refused while another transaction holds the lock. */
function isOptional(command: Command): boolean {
  return (
    (command.verb === "advance" && command.waits !== true) ||
    (command.verb === "acquire" && command.isOneOfMany === true)
  );
}

/** Whether to refuse an optional command. Advances retry locks that are only briefly contended; acquires do not. */
function isHeldUpFor({ verb }: Command, { hold }: LockEntry): boolean {
  return hold === "stuck" || (verb === "acquire" && hold === "passing");
}

/** Goes before what was queued earlier. */
function isUrgent({ verb }: Command): boolean {
  return verb === "renew" || verb === "release";
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

/** How many asks of a lock are urgent: the first ones. */
function urgentIn(asks: readonly Ask[]): number {
  const others = asks.findIndex(({ command }) => !isUrgent(command));
  return others < 0 ? asks.length : others;
}

/** Takes so many of more asks out of the list: urgent ones up to a half, or more if there are few others. */
function someOf(asks: Ask[], max: number): Ask[] {
  const urgent = urgentIn(asks);
  const others = Math.min(asks.length - urgent, Math.max(max - urgent, Math.floor(max / 2)));
  return [...asks.splice(0, max - others), ...asks.splice(urgent - (max - others), others)];
}

function refuseOptional(asks: readonly Ask[]): Ask[] {
  return asks.filter((ask) => {
    if (!isOptional(ask.command)) return true;
    ask.isOver = true;
    // Later: whoever hears of it may ask again at once, and the lists are being changed here.
    queueMicrotask(() => ask.fail(heldUp()));
    return false;
  });
}

function heldUp(): Fault {
  return unavailable(new StoreError("transient", ROW_LOCKED, "Another transaction holds the lock's rows."));
}
