// One client: does its steps with bare calls at several servers, keeps leases by the rule of the contract with a margin of
// 0, and writes down what it asks, is told and believes. It can be frozen, and killed and replaced.

import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { type Spent, WhenFull, Mode as WireMode } from "#proto/rowlock/v1/lock_pb.js";
import { type BareCalls, RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { KeptLease, lasting, ttlOf, usOf } from "../../faults/clients/kept-lease.ts";
import { type Refused, Repeated } from "../../faults/clients/repeated.ts";
import type { Entry, History, Mode, Rate } from "../../faults/history/history.ts";
import type { FencedStore } from "../../faults/work/fenced-store.ts";
import type { Network } from "../servers/network.ts";
import { BRIEF } from "../servers/server.ts";
import { GROUP } from "../share-steps.ts";
import type {
  ClientStep,
  Count,
  Force,
  Hold,
  Make,
  SetLimit,
  SetPool,
  SetRate,
  SetRules,
  Spend,
  Wanted,
  Work,
} from "../step.ts";
import { ERASED, MUTEXES, PATTERNED, SERVERS, TASKS, TTL_MS } from "../steps.ts";
import { Process, type World } from "../world/world.ts";
import { ownCalls, sessionCalls } from "./calls.ts";

const MODES: Readonly<Record<Mode, WireMode>> = {
  permit: WireMode.PERMIT,
  shared: WireMode.SHARED,
  exclusive: WireMode.EXCLUSIVE,
};
const GONE = ["LEASE_LOST", "UNKNOWN_CLAIM"];
const BEAT_MS = 250;
/** The version of a lock without a record. */
const NO_RECORD = "0";
/** Between a step and the next one of the same hand. */
const PAUSE_MS = 5;
/** Longer than a server waits for the others. */
const POOL_MS = 9_000;
/** How long and how often a client looks whether all holders of a pool are counted. */
const COUNTED_MS = 2_500;
const LOOK_MS = 150;

export interface ClientOptions {
  readonly world: World;
  readonly network: Network;
  readonly history: History;
  readonly store: FencedStore;
  readonly name: string;
  readonly index: number;
}

type Belief = { end(atMs: number): void };

export class SimClient {
  readonly name: string;
  process: Process;
  #calls: Repeated;
  readonly #options: ClientOptions;
  #lives = 0;
  #ids = 0;
  readonly #beliefs = new Set<Belief>();
  /** What has been asked and not answered: how it is written down if nobody ever hears the answer. */
  readonly #asked = new Set<() => void>();

  constructor(options: ClientOptions) {
    this.#options = options;
    this.name = options.name;
    this.process = this.#newProcess();
    this.#calls = this.#newCalls();
  }

  get calls(): Repeated {
    return this.#calls;
  }

  kill(): void {
    const { world, network } = this.#options;
    const nowMs = world.nowMs;
    world.kill(this.process);
    for (const line of network.lines) if (line.client === this.process) line.breaks();
    for (const belief of [...this.#beliefs]) belief.end(nowMs);
    for (const tell of [...this.#asked]) tell();
    this.#asked.clear();
    this.process = this.#newProcess();
    this.#calls = this.#newCalls();
  }

  async perform(step: ClientStep): Promise<void> {
    const { world } = this.#options;
    world.note(() => JSON.stringify(step));
    switch (step.do) {
      case "hold":
        await this.#hold(step);
        break;
      case "spend":
        await this.#spend(step);
        break;
      case "count":
        await this.#count(step);
        break;
      case "limit":
        await this.#limit(step);
        break;
      case "rate":
        await this.#rate(step);
        break;
      case "pool":
        await this.setPool(step);
        break;
      case "rules":
        await this.#rules(step);
        break;
      case "force":
        await this.#force(step);
        break;
      case "erase":
        await this.#erase();
        break;
      case "make":
        await this.#make(step);
        break;
      case "work":
        await this.work(step);
        break;
    }
    await sleep(PAUSE_MS);
  }

  #newProcess(): Process {
    this.#lives += 1;
    return new Process(`${this.name}.${this.#lives}`, this.#options.world.seed);
  }

  #newCalls(): Repeated {
    const { network, index } = this.#options;
    const { process } = this;
    // Every other client has a session with each server.
    const servers = Array.from(
      { length: SERVERS },
      (_, address): BareCalls =>
        index % 2 === 0
          ? ownCalls(network, process, address)
          : sessionCalls(network, process, address, BEAT_MS),
    );
    return new Repeated(servers, index);
  }

  id(): string {
    return `${this.name}/${++this.#ids}`;
  }

  /**
   * Writes down an entry: with what `ask` resolves to, or, if nobody hears that, as `unheard`; null: not at all. Of several
   * calls in one, an entry for each, with what `ask` resolves to for each.
   */
  async #write<Told extends object>(
    calls: object | readonly object[],
    unheard: object | null,
    ask: () => Promise<Told>,
  ): Promise<Told | undefined> {
    const { history, world } = this.#options;
    const startMs = world.nowMs;
    const all = Array.isArray(calls) ? calls : [calls];
    const add = (more: object | readonly object[]) => {
      for (const [at, call] of all.entries()) {
        const own = Array.isArray(more) ? more[at] : more;
        history.add({ who: this.name, startMs, endMs: world.nowMs, ...call, ...own } as unknown as Entry);
      }
    };
    const tell = () => {
      if (unheard) add(unheard);
    };
    this.#asked.add(tell);
    try {
      const told = await ask();
      if (!this.#asked.has(tell)) return undefined;
      add(told);
      return told;
    } catch (error) {
      if (!(error instanceof RowlockError)) throw error;
      world.note(() => `${JSON.stringify(calls)}: ${error.reason}`);
      tell();
      return undefined;
    } finally {
      this.#asked.delete(tell);
    }
  }

  async #hold({
    lock,
    mode,
    permits,
    also = [],
    ttlMs,
    waitMs,
    holdMs,
    firstMs,
    group,
  }: Hold): Promise<void> {
    const { world, history, store } = this.#options;
    const askedMs = world.nowMs;
    const requestId = this.id();
    const wanted: readonly Wanted[] = [{ lock, mode, permits }, ...also];
    const locks = wanted.map((each) => ({
      ...each,
      ...(also.length > 0 && { set: wanted.map(({ lock }) => lock) }),
    }));
    const acquire = {
      name: lock,
      mode: MODES[mode],
      permits,
      also: also.map((each) => ({ name: each.lock, mode: MODES[each.mode], permits: each.permits })),
      requestId,
      terms: {
        owner: this.name,
        lasting: lasting(ttlMs),
        ...(group !== undefined && { labels: { [GROUP]: group } }),
      },
    };
    const calls = locks.map((each) => ({ did: "acquire", ...each, requestId, asksOnce: true }));
    let kept: KeptLease | undefined;
    let belief: Belief | undefined;
    const lost = (atMs: number) => belief?.end(atMs);
    const { repeats } = this.#calls;
    const isBrief = wanted.some((each) => each.lock.startsWith(BRIEF));
    const wasRepeated = () => ({ isRepeated: isBrief || this.#calls.repeats > repeats });
    await this.#write<object>(calls, { outcome: "unknown" }, async () => {
      const outcome = await (waitMs === 0
        ? this.#calls.acquire(acquire, firstMs)
        : this.#calls.wait(acquire, Math.round(waitMs), firstMs));
      if ("refusal" in outcome) return { ...refused(outcome), ...wasRepeated() };
      const toldMs = world.nowMs;
      const confirmed = await KeptLease.confirmed(outcome, this.#calls, lost);
      if (typeof confirmed === "string")
        return { outcome: "refused", reason: "LEASE_LOST", ...(confirmed === "gone" && { toldMs }) };
      kept = confirmed;
      return locks.map((each) => {
        const token = confirmed.tokens.get(each.lock);
        if (token === undefined) return { outcome: "refused", reason: "NOT_GIVEN" };
        return { outcome: "granted", token, ...wasRepeated() };
      });
    });
    if (!kept) return;
    const { tokens } = kept;
    const held = locks.flatMap((each) => {
      const token = tokens.get(each.lock);
      return token === undefined ? [] : { ...each, token };
    });
    belief = this.#believe(
      held.map((each) => ({ did: "hold", ...each, askedMs })),
      kept,
    );
    const fenced = held.flatMap(({ lock, token }) => {
      const base = MUTEXES.includes(lock) ? store.read(lock, token) : undefined;
      return base === undefined ? [] : { lock, token, base };
    });
    const startMs = world.nowMs;
    await sleep(holdMs);
    // Not asked whether it still holds the lock: the store must refuse it if it does not.
    for (const { lock, token, base } of fenced) {
      const written = { did: "write", who: this.name, lock, token, base } as const;
      history.add({ ...written, startMs, endMs: world.nowMs, ...store.write(lock, token) });
    }
    belief.end(world.nowMs);
    await this.#release(
      held.map(({ lock, token, ...more }) => ({
        did: "release",
        lock,
        token,
        ...("set" in more && { set: more.set }),
      })),
      kept,
    );
  }

  async #spend({ lock, permits, waitMs, isStreamed, isDoubled, againMs, firstMs }: Spend): Promise<void> {
    const requestId = this.id();
    const asked = { name: lock, mode: WireMode.PERMIT, permits, requestId, terms: { owner: this.name } };
    const call = { did: "acquire", lock, mode: "permit", permits, requestId, asksOnce: true, spends: true };
    const { repeats } = this.#calls;
    const wasRepeated = () => ({ isRepeated: lock.startsWith(BRIEF) || this.#calls.repeats > repeats });
    let first: string | undefined;
    const ask = (ms: number) => this.#calls.spend(asked, Math.round(ms), isStreamed, firstMs);
    const other = isDoubled ? ask(waitMs) : undefined;
    other?.catch(() => {});
    await this.#write(call, { outcome: "unknown" }, async () => {
      const outcome = await ask(waitMs);
      if ("refusal" in outcome) return { ...refused(outcome), ...wasRepeated() };
      first = String(outcome.fencingToken);
      return { outcome: "granted", token: first, grantedUs: usOf(outcome.spentAt), ...wasRepeated() };
    });
    // Calls on brief locks may be forgotten.
    if (first === undefined || lock.startsWith(BRIEF)) return;
    const again = (answer: Promise<Spent | Refused>) =>
      this.#write({ did: "again", lock, requestId, first }, { outcome: "unknown" }, async () => {
        const outcome = await answer;
        if ("refusal" in outcome) {
          // It was perhaps decided before the other one of the two.
          return answer === other ? { outcome: "unknown" } : { outcome: "refused", reason: outcome.refusal };
        }
        return { outcome: "granted", token: String(outcome.fencingToken) };
      });
    if (other) await again(other);
    for (const ms of againMs) {
      await sleep(ms);
      this.#calls.next();
      await again(this.#calls.spend(asked, 0, false));
    }
  }

  /** Of all locks of a lease. */
  #believe(whats: readonly object[], kept: KeptLease): Belief {
    const { world, history } = this.#options;
    const startMs = world.nowMs;
    const belief: Belief = {
      end: (atMs) => {
        if (!this.#beliefs.delete(belief)) return;
        const endMs = Math.min(atMs, kept.untilMs);
        if (endMs <= startMs) return;
        for (const what of whats) history.add({ who: this.name, startMs, endMs, ...what } as Entry);
      },
    };
    this.#beliefs.add(belief);
    return belief;
  }

  async #release(calls: object | readonly object[], kept: KeptLease, more: object = {}): Promise<void> {
    kept.stop();
    await this.#write(calls, { outcome: "unknown" }, async () => {
      try {
        const { released } = await this.#calls.repeat("release", { leaseId: kept.leaseId, ...more });
        return { outcome: released ? "released" : "gone" };
      } catch (error) {
        if (error instanceof RowlockError && GONE.includes(error.reason)) return { outcome: "gone" };
        throw error;
      }
    });
  }

  async #read(lock: string): Promise<{ readonly value: number; readonly version: string } | undefined> {
    return await this.#write({ did: "read", lock }, null, async () => {
      const { record } = (await this.#calls.repeat("getLock", { name: lock })).lock ?? {};
      return { value: Number(record?.status ?? 0), version: record ? String(record.version) : NO_RECORD };
    });
  }

  async #count({ lock }: Pick<Count, "lock">): Promise<void> {
    const read = await this.#read(lock);
    if (!read) return;
    const to = read.value + 1;
    await this.#swap(lock, read, to, async (expectedVersion) => {
      const { record } = await this.#calls.once("updateRecord", {
        name: lock,
        status: String(to),
        expectedVersion,
      });
      return String(record?.version);
    });
  }

  async #erase(): Promise<void> {
    const read = await this.#read(ERASED);
    if (!read || read.version === NO_RECORD) return;
    await this.#swap(ERASED, read, 0, async (expectedVersion) => {
      await this.#calls.once("deleteRecord", { name: ERASED, expectedVersion });
      return NO_RECORD;
    });
  }

  async #swap(
    lock: string,
    { value: from, version: fromVersion }: { readonly value: number; readonly version: string },
    to: number,
    change: (expectedVersion: bigint) => Promise<string>,
  ): Promise<void> {
    await this.#write({ did: "count", lock, fromVersion, from, to }, { outcome: "unknown" }, async () => {
      try {
        return { outcome: "done", version: await change(BigInt(fromVersion)) };
      } catch (error) {
        if (error instanceof RowlockError && error.reason === "VERSION_MISMATCH")
          return { outcome: "mismatch" };
        throw error;
      }
    });
  }

  async #force({ lock }: Force): Promise<void> {
    await this.#write({ did: "force", lock }, { outcome: "unknown", ended: 0 }, async () => {
      const target = { case: "name", value: lock } as const;
      try {
        const { ended } = await this.#calls.once("forceRelease", { target, reason: "a run" });
        return { outcome: "done", ended: ended.length };
      } catch (error) {
        if (error instanceof RowlockError && error.reason === "UNKNOWN_LOCK")
          return { outcome: "done", ended: 0 };
        throw error;
      }
    });
  }

  async #limit({ lock, limit }: SetLimit): Promise<void> {
    const target =
      lock === PATTERNED
        ? ({ case: "pattern", value: `${PATTERNED.slice(0, -1)}*` } as const)
        : ({ case: "name", value: lock } as const);
    const pattern = target.case === "pattern" ? { pattern: target.value } : {};
    await this.#write({ did: "limit", lock, limit, ...pattern }, { outcome: "unknown" }, async () => {
      await this.#calls.once("setLimit", {
        target,
        newLimit: { case: "limit", value: limit },
        reason: "a run",
      });
      return { outcome: "done" };
    });
  }

  async #rules({ lock, rules }: SetRules): Promise<void> {
    const { shareBy, waitingMax, isNewest } = rules ?? {};
    const whenFull = isNewest ? WhenFull.END_LONGEST_WAITING : WhenFull.REFUSE;
    const value = { whenFull, ...(waitingMax && { waitingMax }), ...(shareBy && { shareBy }) };
    const call = { did: "rules", lock, ...(shareBy && { shareBy }) };
    await this.#write(call, { outcome: "unknown" }, async () => {
      await this.#calls.once("setLimit", {
        target: { case: "name", value: lock },
        newQueueRules: rules ? { case: "queueRules", value } : { case: "unsetQueueRules", value: {} },
        reason: "a run",
      });
      return { outcome: "done" };
    });
  }

  async #rate({ target: to, rate }: SetRate): Promise<void> {
    const target = { case: to.endsWith("*") ? ("pattern" as const) : ("name" as const), value: to };
    await this.#write({ did: "rate", target: to, rate }, { outcome: "unknown" }, async () => {
      const { serversBehind } = await this.#calls.once("setLimit", {
        target,
        newRate: newRateOf(rate),
        reason: "a run",
      });
      return { outcome: serversBehind > 0 ? "unknown" : "done" };
    });
  }

  /** Sets a pool. If it is new, the client looks at it until all holders are counted, or for so long. */
  async setPool({ target, limit, rate }: Pick<SetPool, "target" | "limit" | "rate">): Promise<void> {
    const { world } = this.#options;
    let isCounting = false;
    await this.#write({ did: "pool", target, limit, rate }, { outcome: "unknown" }, async () => {
      const { serversBehind, counting } = await this.#calls.once(
        "setLimit",
        {
          target: { case: "pool", value: target },
          newLimit:
            limit === null
              ? { case: "unsetLimit", value: create(EmptySchema) }
              : { case: "limit", value: limit },
          newRate: newRateOf(rate),
          reason: "a run",
        },
        POOL_MS,
      );
      isCounting = counting;
      const isWhole = !counting && (limit !== null || rate !== null);
      return { outcome: "done", isEverywhere: serversBehind === 0, isWhole };
    });
    for (const untilMs = world.nowMs + COUNTED_MS; isCounting && world.nowMs < untilMs; ) {
      await sleep(LOOK_MS);
      await this.#write({ did: "whole", target }, null, async () => {
        const answer = await this.#calls.once("listLimits", { prefix: target.slice(0, -1) });
        const set = answer.limits.find((each) => each.target.case === "pool" && each.target.value === target);
        isCounting = set?.use?.counting === true;
        if (isCounting || !set) throw new RowlockError("UNKNOWN", "UNKNOWN", "It is not whole.");
        return {};
      });
    }
  }

  async #make({ task, attempts, restMs }: Make): Promise<void> {
    const call = { did: "make", task, attempts, restMs, isCounted: true };
    await this.#write(call, { outcome: "unknown" }, async () => {
      await this.#calls.once("updateRecord", {
        name: task,
        status: "new",
        newAttemptsLeft: { case: "attemptsLeft", value: attempts },
        expectedVersion: 0n,
        ...(restMs > 0 && { newNotBefore: { case: "notBeforeIn", value: ttlOf(restMs) } as const }),
      });
      return { outcome: "done" };
    });
  }

  async work({ waitMs, workMs, max, restMs, firstMs }: Omit<Work, "do" | "hand" | "atMs">): Promise<void> {
    const { world } = this.#options;
    const askedMs = world.nowMs;
    const request = {
      from: { case: "prefix", value: TASKS } as const,
      maxLeases: max,
      requestId: this.id(),
      terms: {
        owner: this.name,
        lasting: lasting(TTL_MS),
        ifStatus: ["new", "again"],
        statusIfLost: "new",
      },
      ...(waitMs > 0 && { maxWait: ttlOf(Math.round(waitMs)) }),
    };
    const working: { readonly task: string; readonly kept: KeptLease; belief?: Belief }[] = [];
    await this.#write({ did: "take", max }, { taken: [], outcome: "unknown" }, async () => {
      const { taken, isRepeated } = await this.#calls.capture(request, waitMs, firstMs);
      const told: { task: string; token: string; isLost: boolean }[] = [];
      for (const leased of taken) {
        const own = { task: leased.lease.lockName } as (typeof working)[number];
        const kept = await KeptLease.confirmed(leased, this.#calls, (atMs) => own.belief?.end(atMs));
        const isLost = typeof kept === "string";
        told.push({ task: own.task, token: String(leased.lease.fencingToken), isLost });
        if (!isLost) working.push(Object.assign(own, { kept }));
      }
      return { taken: told, outcome: isRepeated ? "unknown" : "taken" };
    });
    for (const own of working) {
      const { task: lock, kept } = own;
      const what = { did: "hold", lock, mode: "permit", permits: 1, token: kept.token, askedMs };
      if (world.nowMs < kept.untilMs) own.belief = this.#believe([what], kept);
    }
    for (const { task, kept, belief } of working) {
      await sleep(workMs);
      belief?.end(world.nowMs);
      const status = restMs > 0 ? "again" : "done";
      await this.#release({ did: "finish", task, token: kept.token, status, restMs }, kept, {
        status,
        ...(restMs > 0 && { coolDown: ttlOf(restMs) }),
      });
    }
  }
}

function refused({ refusal: reason, retryAfterMs, pool }: Refused) {
  const when = retryAfterMs !== undefined && { retryAfterMs };
  return { outcome: "refused", reason, ...when, ...(pool !== undefined && { pool }) };
}

function newRateOf(rate: Rate | null) {
  if (!rate) return { case: "unsetRate" as const, value: create(EmptySchema) };
  const { permits, perMs, burst } = rate;
  return { case: "rate" as const, value: { permits, per: ttlOf(perMs), burst } };
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
