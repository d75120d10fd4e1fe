// Runs one random history through the core and through the reference model, and compares them after every step. Throws
// if they differ or if an invariant is broken.

import { isDeepStrictEqual } from "node:util";
import { CLOCK_JUMP_US_MIN } from "../../server/core/bounds.ts";
import { type Claim, type ClaimRef, isSpend, SERVER_MADE_PREFIX, SPENDS } from "../../server/core/claim.ts";
import type { Acquire, Command, Outcome } from "../../server/core/command.ts";
import type { Clock } from "../../server/core/database-clock.ts";
import type { EffectiveRate } from "../../server/core/limit.ts";
import { type LockRecord, NO_FAIL_OVER } from "../../server/core/lock.ts";
import type { NotedChange } from "../../server/core/noted-change.ts";
import type { QueueRules } from "../../server/core/queue-rules.ts";
import { checkInvariants, RateWindows } from "./invariants.ts";
import {
  type ModelNote,
  type ModelOutcome,
  type ModelRate,
  type ModelRecord,
  type ModelRow,
  ReferenceModel,
} from "./reference-model.ts";
import { type Core, type Decided, type Look, RowsInMemory } from "./rows-in-memory.ts";
import { type Ask, LOCKS, type Pause, REPLICAS, SETTINGS, type Step, TOKEN_FLOORS } from "./steps.ts";

type Looking = Pick<Extract<Step, { step: "transact" }>, "replica" | "heads" | "unsureUs">;
type Picked = Extract<Ask, { ask: "attach" }>["pick"];

export interface SimulationOptions {
  readonly core?: Core;
  /**
   * Due claims that one decision reads. With a bound, the other due claims end later, which the reference model does
   * not know: then only the invariants are checked.
   */
  readonly dueMax?: number;
  /** Called with each situation reached, so that a test can check that the histories cover enough. */
  readonly reached?: (what: string) => void;
}

export function simulate(history: readonly Step[], options: SimulationOptions = {}): void {
  const simulation = new Simulation(options);
  for (const step of history) simulation.run(step);
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #rows: RowsInMemory;
  readonly #model = new ReferenceModel(SETTINGS, TOKEN_FLOORS);
  readonly #tokensGiven = new Set<string>();
  readonly #rateWindows = new RateWindows();
  #nowUs = 1_000_000_000;
  /** Each replica sees steps of the clock in its own next transaction: how far they go in all. */
  readonly #stepsUnseenBy = new Map<bigint, number>();
  readonly #jumpedAtUs = new Map<bigint, number>();
  readonly #skippedUs = new Map<bigint, number>();
  /** Replicas that were away from the database since their last transaction, and when each one came back. */
  readonly #away = new Set<bigint>();
  readonly #backAtUs = new Map<bigint, number>();
  #failOver = NO_FAIL_OVER;
  #made = 0;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#rows = new RowsInMemory(SETTINGS, options.core);
    for (const name of LOCKS) this.#rows.addLock(name, TOKEN_FLOORS.get(name));
  }

  run(step: Step): void {
    this.#pass(step.pause);
    switch (step.step) {
      case "transact": {
        const commands = step.asks.flatMap((ask) => this.#resolve(step.lock, ask));
        this.#transact(step.lock, commands, step);
        break;
      }
      case "set_pattern":
        this.#setPattern(step);
        break;
      case "heartbeat":
        this.#rows.heartbeat(step.replica, this.#nowUs);
        this.#model.heartbeat(step.replica, this.#nowUs);
        break;
      case "purge":
        this.#rows.purge(this.#nowUs);
        this.#model.purge(this.#nowUs);
        break;
    }
    for (const name of LOCKS) this.#compareRows(name);
  }

  #transact(name: string, commands: readonly Command[], step: Looking): void {
    const before = this.#state(name);
    const look = this.#look(step);
    const decided = this.#rows.transact(name, commands, look);
    this.#check(name, { before, decided, look });
    if (this.#options.dueMax !== undefined) return;
    const { seenUpTo } = decided;
    const expected = this.#model.transact(name, commands, { ...look, seenUpTo });
    expectEqual(decided.noted.map(seenNote), this.#model.takeNotes(), `notes of ${name}`);
    decided.outcomes.forEach((outcome, at) => {
      expectEqual(seenOutcome(outcome), expected[at], `outcome of ${commands[at]?.verb}`);
      const detail = outcome.kind === "refused" ? ` ${outcome.reason}` : "";
      this.#options.reached?.(`${commands[at]?.verb}: ${outcome.kind}${detail}`);
    });
  }

  #setPattern(step: Extract<Step, { step: "set_pattern" }>): void {
    const before = new Map(LOCKS.map((name) => [name as string, this.#state(name)]));
    const look = this.#look(step);
    const decided = this.#rows.setPattern(step.prefix, step, look);
    for (const [name, one] of decided) {
      this.#check(name, { before: before.get(name) as State, decided: one, look });
    }
    if (this.#options.dueMax !== undefined) return;
    this.#model.setPattern(step.prefix, step);
    for (const [name, { seenUpTo }] of decided) this.#model.transact(name, [], { ...look, seenUpTo });
  }

  #look({ replica, heads, unsureUs }: Looking): Look {
    const { dueMax } = this.#options;
    const look = { clock: this.#readClock(replica, unsureUs), failOver: this.#failOver, heads };
    return dueMax === undefined ? look : { ...look, dueMax };
  }

  #readClock(replica: bigint, unsureUs: number): Clock {
    const skippedUs = (this.#skippedUs.get(replica) ?? 0) + (this.#stepsUnseenBy.get(replica) ?? 0);
    const isJump = skippedUs >= CLOCK_JUMP_US_MIN;
    if (isJump) this.#jumpedAtUs.set(replica, this.#nowUs);
    this.#skippedUs.set(replica, isJump ? 0 : skippedUs);
    this.#stepsUnseenBy.delete(replica);
    if (this.#away.delete(replica)) this.#backAtUs.set(replica, this.#nowUs);
    return {
      nowUs: this.#nowUs,
      atLeastUs: this.#nowUs - unsureUs,
      jumpedAtUs: this.#jumpedAtUs.get(replica) ?? null,
      skippedUs: this.#skippedUs.get(replica) ?? 0,
      backAtUs: this.#backAtUs.get(replica) ?? null,
    };
  }

  #check(name: string, { before, decided, look }: { before: State; decided: Decided; look: Look }): void {
    const { dueMax } = this.#options;
    const { limitRules, settings } = this.#rows;
    const { events } = decided;
    const after = this.#state(name);
    const allDueRead = dueMax === undefined;
    const { clock } = look;
    const failOver = this.#failOver;
    const transition = { clock, failOver, settings, before, after, limitRules, events, allDueRead };
    checkInvariants(transition);
    this.#rateWindows.check(transition);
    for (const event of events) {
      if (event.kind !== "granted") continue;
      const token = `${name} ${event.claim.fencingToken}`;
      if (this.#tokensGiven.has(token)) throw new Error(`token ${token} is given twice`);
      this.#tokensGiven.add(token);
    }
    this.#tell(decided, before, after);
  }

  /** Reports the notable situations that the transaction reached. */
  #tell({ passes, events }: Decided, before: State, after: State): void {
    const { reached, dueMax } = this.#options;
    if (!reached) return;
    if (passes > 1) reached("read further heads");
    for (const event of events) {
      if (event.kind === "ended") {
        const unfetched = event.claim.provisional ? ", never fetched" : "";
        reached(`${event.was} claim ended: ${event.claim.endReason}${unfetched}`);
      } else if (event.kind === "granted") {
        const how = isSpend(event.claim) ? "spent" : extent(event.claim);
        reached(event.queued ? `granted from the queue, ${how}` : "granted at once");
      }
    }
    for (const now of after.claims) {
      const past = now.deadlineUs !== null && now.deadlineUs <= this.#nowUs;
      if (now.state !== "ended" && past && dueMax === undefined) reached(`${now.state} claim kept`);
      const old = before.claims.find((claim) => claim.ticketNumber === now.ticketNumber);
      if (old?.state !== "held" || now.state !== "held") continue;
      if (old.provisional && !now.provisional) reached("provisional lease fetched");
    }
  }

  #compareRows(name: string): void {
    const requestIds = this.#rows.claims.map((claim) => claim.requestId);
    if (new Set(requestIds).size < requestIds.length) throw new Error("a request id has two claims");
    if (this.#options.dueMax !== undefined) return;
    expectEqual(this.#rows.claimsOf(name).map(seenRow), this.#model.rows(name), `rows of ${name}`);
    expectEqual(seenRecord(this.#rows.lock(name).record), this.#model.record(name), `record of ${name}`);
    expectEqual(this.#rows.lock(name).rateUntilUs, this.#model.allBackAt(name), `rate of ${name}`);
    expectEqual(this.#rows.lock(name).lastToken, this.#model.lastToken(name), `last token of ${name}`);
  }

  #state(name: string): State {
    return structuredClone({ lock: this.#rows.lock(name), claims: this.#rows.claimsOf(name) });
  }

  #pass(pause: Pause): void {
    if (pause.to !== "deadline") {
      if (pause.to !== "fail_over") this.#nowUs += pause.us;
      if (pause.to === "jump")
        for (const replica of REPLICAS)
          this.#stepsUnseenBy.set(replica, (this.#stepsUnseenBy.get(replica) ?? 0) + pause.us);
      if (pause.to === "back") this.#away.add(pause.replica);
      if (pause.to === "fail_over") {
        const grantsFromUs = Math.max(this.#failOver.grantsFromUs, this.#nowUs + pause.us);
        this.#failOver = { epoch: this.#failOver.epoch + 1n, atUs: this.#nowUs, grantsFromUs };
      }
      return;
    }
    const deadlines = this.#rows.claims.map((claim) => claim.deadlineUs ?? 0);
    const due = [...this.#rows.locks.values()].map(({ record }) => record?.notBeforeUs ?? 0);
    const wakes = [...this.#rows.locks.values()].map(({ wakesAtUs }) => wakesAtUs ?? 0);
    const ahead = [...deadlines, ...due, ...wakes]
      .filter((deadline) => deadline > this.#nowUs)
      .sort((a, b) => a - b);
    const deadline = ahead[pause.nth % ahead.length];
    if (deadline !== undefined) this.#nowUs = Math.max(this.#nowUs, deadline + pause.offsetUs);
  }

  #resolve(name: string, ask: Ask): Command[] {
    switch (ask.ask) {
      case "acquire": {
        const { ask: _, twice, spends, by, ...asked } = ask;
        const caller = { getPeer: () => "192.0.2.1:5", principal: by, maySupersede: () => by !== "guest" };
        const requestId = this.#freshRequest();
        const once = () =>
          this.#acquire({
            ...asked,
            name,
            ttlUs: spends ? SPENDS : asked.ttlUs,
            permits: asked.mode === "permit" ? asked.permits : 1,
            maxWaitUs: asked.mayWait ? asked.maxWaitUs : null,
            requestId,
            ...(by !== "" && { caller }),
          });
        return twice ? [once(), once()] : [once()];
      }
      case "acquire_again": {
        const claim = this.#pick(ask.elsewhere ? null : name, ask.pick);
        if (!claim) return [];
        const { requestId } = claim;
        const { mode, permits } = ask.changed ? { mode: "exclusive" as const, permits: 1 } : claim;
        const { replica } = ask;
        const again = {
          name,
          mode,
          permits,
          ttlUs: isSpend(claim) === ask.otherKind ? 5_000_000 : SPENDS,
          mayWait: true,
          maxWaitUs: null,
          replica,
          requestId,
        };
        return [this.#acquire(again)];
      }
      case "attach":
        return this.#withRef(name, ask.pick, (ref) => ({ verb: "attach", ref, replica: ask.replica }));
      case "detach": {
        const { replica } = ask;
        return this.#withRef(name, ask.pick, (ref) => ({ verb: "detach", ref, replica }));
      }
      case "withdraw": {
        const claim = this.#pick(name, ask.pick);
        if (!claim) return [];
        const secret = ask.ofAnother ? this.#fresh("secret") : claim.secret;
        return [{ verb: "withdraw", requestId: claim.requestId, secret }];
      }
      case "renew":
        return this.#withRef(name, ask.pick, (ref) => ({ verb: "renew", ref, ttlUs: ask.ttlUs }));
      case "release":
        return this.#withRef(name, ask.pick, (ref) => {
          const { result, failed, repeated } = ask;
          return { verb: "release", ref, result, failed, repeated };
        });
      case "update_record": {
        const { ask: _, expected, notBefore, ...update } = ask;
        const expectedVersion = this.#expected(name, expected);
        const instant =
          notBefore && "atInUs" in notBefore ? { atUs: this.#nowUs + notBefore.atInUs } : notBefore;
        return [{ ...update, verb: "update_record", name, notBefore: instant, expectedVersion }];
      }
      case "delete_record": {
        const expectedVersion = this.#expected(name, ask.expected);
        return [{ verb: "delete_record", name, expectedVersion }];
      }
      case "set_limit": {
        const { limit, rate, queueRules, expected } = ask;
        const version = this.#rows.lock(name).limitVersion;
        const expectedVersion =
          expected === undefined || version + expected < 0n ? undefined : version + expected;
        const caller = { getPeer: () => "192.0.2.1:5", principal: "ops" };
        return [{ verb: "set_limit", name, limit, rate, queueRules, expectedVersion, reason: "", caller }];
      }
      case "force_release": {
        const claim = ask.pick && this.#pick(name, ask.pick);
        if (ask.pick && !claim) return [];
        const ticketNumber = claim?.ticketNumber ?? null;
        const caller = { getPeer: () => "192.0.2.1:5" };
        return [{ verb: "force_release", name, ticketNumber, reason: "stuck", caller }];
      }
      case "advance":
        return [{ verb: "advance" }];
    }
  }

  #acquire(asked: Omit<Acquire, "verb" | "secret" | "owner" | "labels">): Acquire {
    return { verb: "acquire", ...asked, secret: this.#fresh("secret"), owner: "", labels: {} };
  }

  /** The record's version plus an offset. */
  #expected(name: string, offset: bigint | undefined): bigint | undefined {
    const version = this.#rows.lock(name).record?.version ?? 0n;
    return offset === undefined || version + offset < 0n ? undefined : version + offset;
  }

  #withRef(name: string, picked: Picked, make: (ref: ClaimRef, claim: Claim) => Command): Command[] {
    const claim = this.#pick(name, picked);
    if (!claim) return [];
    const { lockId, ticketNumber } = claim;
    const secret = picked.wrongSecret ? this.#fresh("secret") : claim.secret;
    return [make({ lockId, ticketNumber, secret }, claim)];
  }

  /** A claim of the lock, or of any lock if null. */
  #pick(name: string | null, { nth, among }: Picked): Claim | undefined {
    const all = name === null ? this.#rows.claims : this.#rows.claimsOf(name);
    const live = all.filter((claim) => claim.state !== "ended");
    const candidates = among === "live" && live.length > 0 ? live : all;
    return candidates[nth % candidates.length];
  }

  /** Every other one is made by the server. */
  #freshRequest(): string {
    const requestId = this.#fresh("request");
    return this.#made % 2 === 0 ? requestId : SERVER_MADE_PREFIX + requestId;
  }

  #fresh(what: string): string {
    this.#made += 1;
    return `${what}${this.#made}`.padEnd(22, "-");
  }
}

type State = ReturnType<typeof structuredClone<{ lock: ReturnType<RowsInMemory["lock"]>; claims: Claim[] }>>;

/** Whether a grant lasts for the whole time to live. */
function extent({ ttlUs, deadlineUs, grantedAtUs }: Claim): string {
  const wholeEndUs = ttlUs === null ? null : (grantedAtUs as number) + ttlUs;
  return deadlineUs === wholeEndUs ? "whole" : "cut short";
}

/** The fields of a row that the model knows. */
function seenRow(claim: Claim): ModelRow {
  const {
    lockId: _lock,
    owner: _owner,
    principal: _by,
    labels: _labels,
    terms: _terms,
    turn: _turn,
    group: _group,
    levels: _levels,
    members: _members,
    ...seen
  } = claim;
  return seen;
}

/** The fields of a note that the model knows. */
function seenNote({ kind, target, by, from, to }: NotedChange): ModelNote {
  if (kind === "policy" || kind === "pool") throw new Error("a decision about a lock notes a policy");
  return { kind, lock: target, by, from, to };
}

/** The fields of a record that the model knows. */
function seenRecord(record: LockRecord | null): ModelRecord | null {
  if (!record) return null;
  const { principal: _principal, ...seen } = record;
  return seen;
}

/** The fields of a rate in force that the model knows. */
function seenRate({ permits, perUs, burst, source }: EffectiveRate): ModelRate {
  if (source === "pool") throw new Error("the locks of this simulation are under no pool");
  return { permits, perUs, burst, source };
}

function seenQueueRules({ waitingMax, whenFull, shareBy, headStartMaxUs }: QueueRules): QueueRules {
  return { waitingMax, whenFull, shareBy, headStartMaxUs };
}

/** The fields of an outcome that the model knows. */
function seenOutcome(outcome: Outcome): ModelOutcome {
  switch (outcome.kind) {
    case "held":
    case "ended":
      return { kind: outcome.kind, claim: seenRow(outcome.claim) };
    case "waiting":
      return { ...outcome, claim: seenRow(outcome.claim) };
    case "limit": {
      const { limit, source } = outcome.limit;
      const rate = outcome.rate && seenRate(outcome.rate);
      const queueRules = outcome.queueRules && seenQueueRules(outcome.queueRules);
      return { kind: "limit", limit, source, rate, queueRules, version: outcome.version };
    }
    case "refused": {
      const { limit, rate, queueRules, ...seen } = outcome;
      return {
        ...seen,
        limit: limit.limit,
        ...(rate && { rate: seenRate(rate) }),
        ...(queueRules && { queueRules: seenQueueRules(queueRules) }),
      };
    }
    case "record":
      return { kind: "record", record: seenRecord(outcome.record) as ModelRecord };
    case "deleted":
      return { kind: "deleted", byThisCall: outcome.byThisCall };
    case "forced":
      return { kind: "forced", ended: outcome.ended.map(seenRow) };
    case "unknown_lock":
      throw new Error("a decision about a lock that is there says that nobody has named it");
    case "in_doubt":
      throw new Error("a command that was not repeated has found an earlier attempt");
    default:
      return outcome;
  }
}

function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${what}:\n  core:  ${show(actual)}\n  model: ${show(expected)}`);
}

function show(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === "bigint" ? `${part}n` : part));
}
