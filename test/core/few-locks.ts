// A few locks with claims for one of them or several, each decision about some of the locks, as servers make them: with what its
// commands name, and with more if it says that rows are missing. What a decision wants to be looked at may be forgotten, as by a
// server that dies; then the mark in a guard row must be enough. After each decision the rows must be what clients were promised.

import fc from "fast-check";
import { type Claim, type ClaimKey, isLead, keyText, type Mode } from "../../server/core/claim.ts";
import type { Acquire, Command } from "../../server/core/command.ts";
import { decideBatch } from "../../server/core/decide-batch.ts";
import { type Lock, NO_FAIL_OVER } from "../../server/core/lock.ts";
import type { Rows } from "../../server/core/rows.ts";
import { FREE_LOCK } from "../support/claims.ts";
import { tornSets } from "../support/torn-sets.ts";
import { compatible } from "./reference-model.ts";
import type { Core } from "./rows-in-memory.ts";

const COUNT = 4;
const POLICY = {
  graceUs: 10_000_000,
  attachedForUs: 15_000_000,
  keptForUs: () => 1e12,
  queueMax: 8,
};
const DEFAULT_LIMIT = 1;
/** The clock was ahead by more than any claim lasts. */
const SET_BACK_US = -60_000_000;
/** More decisions than any end of a history takes. */
const ROUNDS_MAX = 500;

interface Wanted {
  readonly at: number;
  readonly mode: Mode;
  readonly permits: number;
}

export type Ask =
  | {
      readonly ask: "acquire";
      readonly wanted: readonly Wanted[];
      readonly mayWait: boolean;
      readonly ttlUs: number;
      readonly maxWaitUs: number | null;
    }
  /** Of a claim, by a number that is resolved against those there. */
  | { readonly ask: "renew" | "release" | "attach" | "force_release" | "again"; readonly nth: number }
  | { readonly ask: "force_all"; readonly at: number }
  | { readonly ask: "set_limit"; readonly at: number; readonly limit: number };

export type Step =
  /** Decided together. `forgets`: what is to be looked at afterwards. */
  | {
      readonly step: "transact";
      readonly asks: readonly Ask[];
      readonly heads: number;
      readonly forgets: boolean;
    }
  | { readonly step: "pass"; readonly us: number };

const at = fc.nat(COUNT - 1);
const nth = fc.nat(19);
const mode = fc.constantFrom<Mode>("permit", "permit", "permit", "exclusive", "shared");
const wanted: fc.Arbitrary<Wanted> = fc.record({ at, mode, permits: fc.constantFrom(1, 1, 2) });
const ask: fc.Arbitrary<Ask> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      ask: fc.constant("acquire" as const),
      wanted: fc.uniqueArray(wanted, { minLength: 1, maxLength: COUNT, selector: (one) => one.at }),
      mayWait: fc.constantFrom(true, true, true, false),
      ttlUs: fc.constantFrom(5_000_000, 30_000_000),
      maxWaitUs: fc.constantFrom(null, null, 4_000_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      ask: fc.constantFrom("renew", "release", "release", "release", "attach", "force_release", "again"),
      nth,
    }),
  },
  { weight: 1, arbitrary: fc.record({ ask: fc.constant("force_all" as const), at }) },
  {
    weight: 1,
    arbitrary: fc.record({ ask: fc.constant("set_limit" as const), at, limit: fc.constantFrom(0, 1, 2, 3) }),
  },
) as fc.Arbitrary<Ask>;
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.constant("transact" as const),
      asks: fc.array(ask, { minLength: 1, maxLength: 4 }),
      heads: fc.integer({ min: 1, max: 3 }),
      forgets: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("pass" as const),
      us: fc.constantFrom(1_000, 1_000_000, 6_000_000, 20_000_000, SET_BACK_US),
    }),
  },
);

export const history: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 40, size: "max" });

export function simulateSets(steps: readonly Step[], core: Core = decideBatch): void {
  const locks = new FewLocks(core);
  for (const each of steps) locks.run(each);
  locks.finish();
}

class FewLocks {
  readonly #core: Core;
  readonly #locks = new Map<bigint, Lock>();
  #claims = new Map<string, Claim>();
  readonly #requests: Acquire[] = [];
  #nowUs = 1_000_000_000;
  #heads = 1;

  constructor(core: Core) {
    this.#core = core;
    for (let index = 0; index < COUNT; index++) {
      const id = BigInt(index + 1);
      this.#locks.set(id, { ...FREE_LOCK, id, name: `set/${index}` });
    }
  }

  run(step: Step): void {
    if (step.step === "pass") {
      this.#nowUs += step.us;
      return;
    }
    this.#heads = step.heads;
    this.#nowUs += 1;
    const asked = new Map<bigint, Command[]>();
    for (const each of step.asks)
      for (const { lockId, command } of this.#resolve(each)) {
        asked.set(lockId, [...(asked.get(lockId) ?? []), command]);
      }
    const looks = this.#decide(asked);
    if (!step.forgets) this.#look(looks);
  }

  /** Nobody asks any more, and whoever holds gives back: all waiters are granted. No look is made but that of the sweep. */
  finish(): void {
    // Others stay as they are: a change has all that wait there looked at.
    for (const lock of this.#locks.values())
      if (lock.limit === 0) this.#decide(new Map([[lock.id, [this.#limitOf(lock, 2)]]]));
    for (let round = 0; round < ROUNDS_MAX; round++) {
      this.#nowUs += 1;
      this.#sweep();
      const live = [...this.#claims.values()].filter((claim) => claim.state !== "ended" && isLead(claim));
      if (live.length === 0) return;
      const held = live.find(({ state }) => state === "held");
      if (held) this.#decide(new Map([[held.lockId, [{ verb: "release", ref: held }]]]));
      else {
        const nextUs = this.#lowestWake();
        if (nextUs === null) throw new Error(`${live.length} claims wait for what is free, and nobody looks`);
        // A mark of a moment that the clock has yet to reach again, after it was set back.
        this.#nowUs = Math.max(this.#nowUs, nextUs);
      }
    }
    throw new Error("the end does not come");
  }

  /** When a sweep finds something to do; null: never. */
  #lowestWake(): number | null {
    const isDue = ({ state, deadlineUs }: Claim) =>
      state !== "ended" && deadlineUs !== null && deadlineUs <= this.#nowUs;
    if ([...this.#claims.values()].some(isDue)) return this.#nowUs;
    const wakes = [...this.#locks.values()].flatMap(({ wakesAtUs }) => wakesAtUs ?? []);
    return wakes.length === 0 ? null : Math.min(...wakes);
  }

  /** What any server does from time to time. */
  #sweep(): void {
    for (const { id, wakesAtUs } of [...this.#locks.values()]) {
      const isDue = this.#live(id).some(({ deadlineUs }) => deadlineUs !== null && deadlineUs <= this.#nowUs);
      if (isDue || (wakesAtUs !== null && wakesAtUs <= this.#nowUs))
        this.#look(this.#decide(new Map([[id, [{ verb: "advance" }]]])));
    }
  }

  #look(looks: readonly ClaimKey[]): void {
    for (let left = [...looks], round = 0; left.length > 0; round++) {
      if (round > ROUNDS_MAX) throw new Error("one look leads to the next for ever");
      const { lockId, ticketNumber } = left.shift() as ClaimKey;
      left.push(
        ...this.#decide(new Map([[lockId, [{ verb: "advance", claims: [{ lockId, ticketNumber }] }]]])),
      );
    }
  }

  #live(lockId: bigint): Claim[] {
    return [...this.#claims.values()]
      .filter((claim) => claim.lockId === lockId && claim.state !== "ended")
      .sort((a, b) => (a.ticketNumber < b.ticketNumber ? -1 : 1));
  }

  #limitOf({ name }: Lock, limit: number): Command {
    return { verb: "set_limit", name, limit, expectedVersion: undefined, reason: "" };
  }

  #resolve(ask: Ask): { readonly lockId: bigint; readonly command: Command }[] {
    const lockAt = (index: number) => this.#locks.get(BigInt(index + 1)) as Lock;
    if (ask.ask === "acquire") {
      const made = this.#requests.length + 1;
      const [first, ...also] = ask.wanted.map(({ at, mode, permits }) => {
        const { id: lockId, name } = lockAt(at);
        return { lockId, name, mode, permits: mode === "permit" ? permits : 1 };
      });
      const { lockId, name, mode, permits } = first as NonNullable<typeof first>;
      const command: Acquire = {
        ...{ verb: "acquire", name, mode, permits, owner: "", labels: {}, replica: 1n },
        ...(also.length > 0 && { also }),
        ...{ ttlUs: ask.ttlUs, mayWait: ask.mayWait, maxWaitUs: ask.mayWait ? ask.maxWaitUs : null },
        ...{ requestId: `request${made}`, secret: `secret${made}`.padEnd(22, "-") },
      };
      this.#requests.push(command);
      return [{ lockId, command }];
    }
    if (ask.ask === "force_all") {
      const { id: lockId, name } = lockAt(ask.at);
      return [{ lockId, command: { verb: "force_release", name, ticketNumber: null, reason: "" } }];
    }
    if (ask.ask === "set_limit") {
      const lock = lockAt(ask.at);
      return [{ lockId: lock.id, command: this.#limitOf(lock, ask.limit) }];
    }
    if (ask.ask === "again") {
      const command = this.#requests[ask.nth % this.#requests.length];
      const lockId = [...this.#locks.values()].find(({ name }) => name === command?.name)?.id;
      return command && lockId
        ? [{ lockId, command: { ...command, secret: "another".padEnd(22, "-") } }]
        : [];
    }
    const all = [...this.#claims.values()].filter(({ state }) => state !== "ended");
    const ref = all[ask.nth % all.length];
    if (!ref) return [];
    const { lockId, ticketNumber } = ref;
    switch (ask.ask) {
      case "force_release": {
        const { name } = this.#locks.get(lockId) as Lock;
        return [{ lockId, command: { verb: "force_release", name, ticketNumber, reason: "" } }];
      }
      case "attach":
        return [{ lockId, command: { verb: "attach", ref, replica: 2n } }];
      case "renew":
        return [{ lockId, command: { verb: "renew", ref, ttlUs: 7_000_000 } }];
      default:
        return [{ lockId, command: { verb: "release", ref } }];
    }
  }

  /** Returns what is to be looked at. */
  #decide(asked: ReadonlyMap<bigint, readonly Command[]>): readonly ClaimKey[] {
    const needed = new Map<string, ClaimKey>();
    const looks: ClaimKey[] = [];
    let locks = new Set(asked.keys());
    for (const commands of asked.values())
      for (const command of commands)
        if (command.verb === "acquire") for (const { lockId } of command.also ?? []) locks.add(lockId);
    let now = asked;
    for (let pass = 0; pass < ROUNDS_MAX; pass++) {
      const inOrder = [...locks].sort((a, b) => (a < b ? -1 : 1));
      const submitted = new Map(
        [...now].map(([id, commands]) => [id, commands.map((command) => ({ command, submittedMs: 0 }))]),
      );
      let decision: ReturnType<Core>;
      try {
        decision = this.#core(this.#read(inOrder, now, needed), submitted, {
          ...{ policy: POLICY, nowMs: 0, attempt: { mark: BigInt(pass) }, earlier: [] },
        });
      } catch (error) {
        // A planted core has a class of its own.
        if ((error as Error).constructor.name !== "RowsNeeded") throw error;
        const { sets } = error as { sets: readonly (readonly ClaimKey[])[] } & Error;
        const before = needed.size;
        for (const key of sets.flat()) {
          needed.set(keyText(key), key);
          locks.add(key.lockId);
        }
        if (needed.size === before) throw new Error("a decision needs rows that it has");
        continue;
      }
      this.#write(decision);
      looks.push(...decision.mayGoOn);
      if (decision.again.length === 0) return looks;
      locks = new Set(decision.again);
      now = new Map();
      needed.clear();
    }
    throw new Error("the decision stays unfinished");
  }

  #read(
    ids: readonly bigint[],
    asked: ReadonlyMap<bigint, readonly Command[]>,
    needed: ReadonlyMap<string, ClaimKey>,
  ): Rows {
    const all = [...this.#claims.values()];
    const read = all.filter((claim) => {
      const { lockId, deadlineUs, state, requestId } = claim;
      if (needed.has(keyText(claim))) return true;
      if (
        [...asked.values()]
          .flat()
          .some((command) => "requestId" in command && command.requestId === requestId)
      )
        return true;
      if (!ids.includes(lockId)) return false;
      if (state !== "ended" && deadlineUs !== null && deadlineUs <= this.#nowUs) return true;
      return (asked.get(lockId) ?? []).some((command) => isNamed(command, claim));
    });
    const queues = ids.map((id) => {
      const waiting = this.#live(id).filter(({ state }) => state === "waiting");
      const head = waiting.slice(0, this.#heads);
      return [id, { head: structuredClone(head), complete: head.length === waiting.length }] as const;
    });
    return {
      ...{ nowUs: this.#nowUs, atLeastUs: this.#nowUs, jumpedAtUs: null, skippedUs: 0, backAtUs: null },
      ...{ failOver: NO_FAIL_OVER, limitRules: [], takenRequestIds: undefined },
      locks: new Map(ids.map((id) => [id, structuredClone(this.#locks.get(id) as Lock)])),
      claims: structuredClone(read),
      queues: new Map(queues),
    };
  }

  #write({ locks, added, changed, events }: ReturnType<Core>): void {
    const before = new Map(this.#locks);
    for (const lock of locks) this.#locks.set(lock.id, structuredClone(lock));
    for (const claim of added) {
      if (this.#claims.has(keyText(claim))) throw new Error(`claim ${keyText(claim)} is added twice`);
      this.#claims.set(keyText(claim), structuredClone(claim));
    }
    for (const claim of changed) {
      if (this.#claims.get(keyText(claim))?.state === "ended")
        throw new Error(`claim ${keyText(claim)} has ended and changes`);
      this.#claims.set(keyText(claim), structuredClone(claim));
    }
    const locked = new Set(locks.map(({ id }) => id));
    const [torn] = tornSets([...added, ...changed], (key) => this.#claims.get(keyText(key)) ?? null, locked);
    if (torn) throw new Error(torn);
    for (const lock of locks) {
      const isGranted = events.some(
        ({ event }) => event.kind === "granted" && event.claim.lockId === lock.id,
      );
      const set = events.flatMap(({ event }) =>
        event.kind === "limit_set" && event.lock.id === lock.id ? event.lock.limit : [],
      );
      const limits = [before.get(lock.id)?.limit, ...set].map((limit) => limit ?? DEFAULT_LIMIT);
      if (isGranted && lock.heldPermits > Math.max(...limits))
        throw new Error(`${lock.name} has ${lock.heldPermits} permits held, which its limit does not allow`);
      this.#check(lock);
    }
  }

  #check(lock: Lock): void {
    const live = this.#live(lock.id);
    const held = live.filter(({ state }) => state === "held");
    const permits = held.reduce((sum, claim) => sum + claim.permits, 0);
    const waiting = live.length - held.length;
    if (
      lock.holders !== held.length ||
      lock.heldPermits + lock.sharedHolders + lock.exclusiveHolders !== permits
    )
      throw new Error(`${lock.name} counts ${lock.holders} holders, and has ${held.length}`);
    if (lock.waiting !== waiting)
      throw new Error(`${lock.name} counts ${lock.waiting} waiters, and has ${waiting}`);
    // A limit may have been lowered meanwhile.
    for (const [index, claim] of held.entries())
      if (!compatible(held.slice(0, index), claim, Number.POSITIVE_INFINITY))
        throw new Error(`${lock.name} has holders who do not fit together`);
    const granted = [...this.#claims.values()]
      .filter(({ lockId, fencingToken }) => lockId === lock.id && fencingToken > 0n)
      .sort((a, b) => (a.fencingToken < b.fencingToken ? -1 : 1));
    for (const [index, { ticketNumber, fencingToken }] of granted.entries()) {
      const before = granted[index - 1];
      if (before && (before.fencingToken === fencingToken || before.ticketNumber > ticketNumber))
        throw new Error(`${lock.name}: ticket ${ticketNumber} is granted after ${before.ticketNumber}`);
      const passed = live.find(
        ({ state, ticketNumber: waits }) => state === "waiting" && waits < ticketNumber,
      );
      if (passed) throw new Error(`${lock.name}: ticket ${ticketNumber} passes ${passed.ticketNumber}`);
    }
    const last = granted.at(-1)?.fencingToken ?? 0n;
    if (lock.lastToken !== last)
      throw new Error(`${lock.name} gave token ${last} last, and says ${lock.lastToken}`);
  }
}

function isNamed(command: Command, { state, ticketNumber }: Claim): boolean {
  if ("ref" in command) return command.ref.ticketNumber === ticketNumber;
  if (command.verb === "advance")
    return command.claims?.some((key) => key.ticketNumber === ticketNumber) === true;
  if (command.verb !== "force_release") return false;
  return command.ticketNumber === null ? state === "held" : command.ticketNumber === ticketNumber;
}
