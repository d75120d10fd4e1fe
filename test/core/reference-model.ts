// What a lock server should do, written from the promises and as naively as possible: one array keeps every claim ever
// made, there are no counters, and everything is computed from that array on demand. It must share no code with the
// core, only the shape of the commands.

import { RETRY_AFTER_US_MIN } from "../../server/core/bounds.ts";
import type { ClaimRef, EndReason, Mode, Terms } from "../../server/core/claim.ts";
import type { Acquire, Command, Release, UpdateRecord } from "../../server/core/command.ts";
import type { Clock } from "../../server/core/database-clock.ts";
import { type FailOver, NO_FAIL_OVER, type RunResult } from "../../server/core/lock.ts";
import type { QueueRules } from "../../server/core/queue-rules.ts";
import type { Rate } from "../../server/core/rate.ts";

export interface ModelSettings {
  readonly graceUs: number;
  readonly attachedForUs: number;
  readonly keptForUs: (name: string) => number;
  readonly queueMax: number;
}

/** One claim as a row shows it. */
export interface ModelRow {
  readonly ticketNumber: bigint;
  readonly secret: string;
  readonly requestId: string;
  readonly mode: Mode;
  readonly permits: number;
  readonly state: "waiting" | "held" | "ended";
  readonly ttlUs: number | null;
  readonly waitUntilUs: number | null;
  readonly deadlineUs: number | null;
  readonly replica: bigint | null;
  readonly provisional: boolean;
  readonly fencingToken: bigint;
  readonly requestedAtUs: number;
  readonly grantedAtUs: number | null;
  readonly endedAtUs: number | null;
  readonly endReason: EndReason | null;
  readonly endNote: string;
  readonly endedBy: string;
}

/** A change of a lock as the history should keep it. */
export interface ModelNote {
  readonly kind: "limit" | "record" | "forced_release";
  readonly lock: string;
  readonly by: string;
  readonly from: string;
  readonly to: string;
}

export type ModelOutcome =
  | { readonly kind: "held" | "ended"; readonly claim: ModelRow }
  | {
      readonly kind: "waiting";
      readonly claim: ModelRow;
      readonly place: {
        readonly ahead: number;
        readonly permitsAhead: number;
        readonly queueLength: number;
        readonly rateWaitUs?: number;
      } | null;
    }
  | {
      readonly kind: "refused";
      readonly reason: string;
      readonly limit: number;
      readonly rate?: ModelRate;
      readonly queueRules?: QueueRules;
      readonly forUs?: number;
      readonly status?: string;
    }
  | { readonly kind: "released"; readonly byThisCall: boolean }
  | {
      readonly kind: "limit";
      readonly limit: number;
      readonly source: string;
      readonly rate: ModelRate | null;
      readonly queueRules: QueueRules | null;
      readonly version: bigint;
    }
  | { readonly kind: "version_mismatch"; readonly version: bigint }
  | { readonly kind: "forced"; readonly ended: readonly ModelRow[] }
  | { readonly kind: "record"; readonly record: ModelRecord }
  | { readonly kind: "deleted"; readonly byThisCall: boolean }
  | { readonly kind: "request_id_reused" | "unknown_claim" | "in_use" | "no_record" | "done" };

/** A rate in force. */
export interface ModelRate extends Rate {
  readonly source: "name" | "pattern";
}

/** What a lock remembers. */
export interface ModelRecord {
  readonly notBeforeUs: number | null;
  readonly attemptsLeft: number | null;
  readonly attemptsSince: bigint;
  readonly status: string;
  readonly lastRun: object | null;
  readonly lastSuccess: object | null;
  readonly failures: number;
  readonly version: bigint;
}

/** Something that changes what a lock remembers. The record is the result of all facts, in order. */
type What =
  | { readonly what: "set"; readonly update: UpdateRecord; readonly lastToken: bigint }
  | { readonly what: "deleted" | "granted" }
  | { readonly what: "unused"; readonly token: bigint }
  | {
      readonly what: "run";
      readonly claim: ModelClaim;
      readonly end: EndReason;
      readonly result: RunResult;
      readonly lastToken: bigint;
    };
type Fact = { readonly lock: string; readonly at: number; readonly epoch: bigint } & What;

interface ModelClaim {
  readonly lock: string;
  readonly number: bigint;
  readonly asked: Acquire;
  readonly arrivedAt: number;
  ttl: number | null;
  /** The replica that listens for the waiter, and until when its signs of life keep the place. */
  listener: bigint | null;
  aliveUntil: number;
  granted: { readonly at: number; readonly token: bigint } | null;
  /** Whether the lease is known to be fetched, and the time from which its time to live counts. */
  fetched: boolean;
  /** Without a time to live, granted immediately, and no sign of life has come since. */
  unclaimed: boolean;
  countsFrom: number;
  ended: {
    readonly at: number;
    readonly reason: EndReason;
    readonly note: string;
    readonly by: string;
  } | null;
  forgotten: boolean;
}

/** Whether a server made the id. No client knows such an id, so no client can repeat the request. */
function isServers(requestId: string): boolean {
  return requestId.startsWith("\0");
}

/** The order of a queue. `key`: the one that was given last. */
interface Order {
  readonly by: string | null;
  /** Of groups, or with head starts of claims by their numbers. */
  readonly turns: Map<string, bigint>;
  key: number;
}
const HEAD_STARTS = "head starts";

/** Gives a claim its turn: later than all before, less its head start. */
function keyed(order: Order, { number, arrivedAt }: ModelClaim, headStartUs: number): void {
  order.key = Math.max(order.key + 1, arrivedAt);
  order.turns.set(String(number), BigInt(order.key - headStartUs));
}

function principalOf({ caller }: Acquire): string {
  return caller?.principal ?? "";
}

/** Who gave a command: the principal, or the address of a caller without one. */
function whoOf({ caller }: Pick<UpdateRecord, "caller">): string {
  return caller?.principal || caller?.getPeer() || "";
}

/** A record as a note shows it: what is set. */
function noted(record: ModelRecord | null): string {
  if (!record) return "";
  const { status, attemptsLeft, notBeforeUs, version } = record;
  const shown: Record<string, unknown> = {};
  if (status) shown.status = status;
  if (attemptsLeft !== null) shown.attempts_left = attemptsLeft;
  if (notBeforeUs !== null) {
    const text = new Date(Math.floor(notBeforeUs / 1_000)).toISOString().slice(0, -1);
    shown.not_before = `${text}${`${notBeforeUs % 1_000}`.padStart(3, "0")}Z`;
  }
  return JSON.stringify({ ...shown, version: `${version}` });
}

/** What a name or a prefix has after one change. The last change is in force. */
interface Setting {
  readonly target: "name" | "prefix";
  readonly text: string;
  readonly limit: number | null;
  readonly rate: Rate | null;
  readonly queueRules: QueueRules | null;
}

/** What a change sets: null removes it, undefined leaves it alone. */
export interface NewLimits {
  readonly limit?: number | null | undefined;
  readonly rate?: Rate | null | undefined;
  readonly queueRules?: QueueRules | null | undefined;
}

/** What happens to the rate of a lock: a grant takes permits, or another rate applies from now on. */
type RateFact =
  | {
      readonly what: "taken";
      readonly lock: string;
      readonly surely: number;
      readonly rate: Rate;
      readonly permits: number;
    }
  | { readonly what: "applies"; readonly lock: string; readonly now: number; readonly rate: Rate };

/** The rate in force: an exact name beats the longest pattern that has one. */
export function rateInForce(
  name: string,
  exact: Rate | null,
  patterns: readonly { readonly prefix: string; readonly rate: Rate | null }[],
): ModelRate | null {
  if (exact !== null) return { ...numbersOf(exact), source: "name" };
  const matching = patterns.filter((pattern) => pattern.rate !== null && name.startsWith(pattern.prefix));
  const longest = matching.toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
  return longest?.rate ? { ...numbersOf(longest.rate), source: "pattern" } : null;
}

function numbersOf({ permits, perUs, burst }: Rate): Rate {
  return { permits, perUs, burst };
}

/** Whole microseconds until so many permits are back, and no less. */
export function backAfter({ permits, perUs }: Rate, taken: number): number {
  const product = BigInt(taken) * BigInt(perUs);
  return Number((product + BigInt(permits) - 1n) / BigInt(permits));
}

/** From when on the rate lets so many permits be taken, if all that were taken are back at this time. */
export function ratedFrom(rate: Rate, allBackAt: number, permits: number): number {
  return allBackAt + backAfter(rate, permits) - wholeBurst(rate);
}

/** A burst of single permits, each rounded up, but less than another permit's time longer than it takes. */
function wholeBurst(rate: Rate): number {
  const { burst } = rate;
  const singles = Array.from({ length: burst }, () => backAfter(rate, 1)).reduce((sum, us) => sum + us, 0);
  return Math.min(singles, backAfter(rate, burst + 1) - 1);
}

/** The limit in force: an exact name beats the longest pattern, which beats the default of 1. */
export function limitInForce(
  name: string,
  exact: number | null,
  patterns: readonly { readonly prefix: string; readonly limit: number | null }[],
): { limit: number; source: "name" | "pattern" | "default" } {
  if (exact !== null) return { limit: exact, source: "name" };
  const matching = patterns.filter((pattern) => pattern.limit !== null && name.startsWith(pattern.prefix));
  const longest = matching.toSorted((a, b) => b.prefix.length - a.prefix.length)[0];
  if (longest) return { limit: longest.limit as number, source: "pattern" };
  return { limit: 1, source: "default" };
}

/** What a request wants of a lock. */
interface Wanted {
  readonly mode: Mode;
  readonly permits: number;
  readonly ttlUs?: number | null;
}

/** Whether a request is compatible with the holders. One that wants no lease is compatible with all. */
export function compatible(
  holders: readonly { readonly mode: Mode; readonly permits: number }[],
  asked: Wanted,
  limit: number,
): boolean {
  if (limit === 0) return false;
  if (isSpend(asked)) return true;
  if (asked.mode === "exclusive") return holders.length === 0;
  if (holders.some((holder) => holder.mode !== asked.mode)) return false;
  if (asked.mode === "shared") return true;
  return holders.reduce((sum, holder) => sum + holder.permits, asked.permits) <= limit;
}

export class ReferenceModel {
  readonly #settings: ModelSettings;
  readonly #tokenFloors: ReadonlyMap<string, bigint>;
  readonly #claims: ModelClaim[] = [];
  readonly #changes: Setting[] = [];
  readonly #facts: Fact[] = [];
  readonly #rateFacts: RateFact[] = [];
  #notes: ModelNote[] = [];
  /** Latest and earliest possible time: grants count from the latest, and claims end by the earliest. */
  #now = 0;
  #surely = 0;
  #jumpedAt: number | null = null;
  #skipped = 0;
  #backAt: number | null = null;
  #failOver = NO_FAIL_OVER;
  #seenUpTo: bigint | null = null;
  /** By what each lock's waiters share it, and since which number each group waits for its turn. */
  readonly #orders = new Map<string, Order>();

  /** `tokenFloors`: the lowest token that each lock may give. */
  constructor(settings: ModelSettings, tokenFloors: ReadonlyMap<string, bigint>) {
    this.#settings = settings;
    this.#tokenFloors = tokenFloors;
  }

  /**
   * One transaction. `seenUpTo` is the last waiter that the decision sees while it runs the commands (null: all). After
   * the commands, waiters behind it are granted what is still free, in the same transaction.
   */
  transact(
    lock: string,
    commands: readonly Command[],
    context: { readonly clock: Clock; readonly failOver: FailOver; readonly seenUpTo: bigint | null },
  ): ModelOutcome[] {
    this.#now = context.clock.nowUs;
    this.#surely = context.clock.atLeastUs;
    this.#jumpedAt = context.clock.jumpedAtUs;
    this.#skipped = context.clock.skippedUs;
    this.#backAt = context.clock.backAtUs;
    this.#failOver = context.failOver;
    this.#seenUpTo = context.seenUpTo;
    this.#applyRate(lock);
    if (commands.length > 0 && this.#waiters(lock).length > 0) this.#setOrder(lock);
    for (const claim of this.#live(lock)) {
      if (this.#isDue(claim)) this.#end(claim, this.#reasonOfDue(claim));
    }
    this.#grantInOrder(lock, context.seenUpTo);
    const outcomes = commands.map((command) => {
      const outcome = this.#apply(lock, command);
      this.#grantInOrder(lock, context.seenUpTo);
      return outcome;
    });
    this.#grantInOrder(lock, null);
    return outcomes;
  }

  /** The changes that were made since they were asked for last. */
  takeNotes(): ModelNote[] {
    const notes = this.#notes;
    this.#notes = [];
    return notes;
  }

  /** Sets what a pattern has. The caller then runs empty transactions to update the locks that it matches. */
  setPattern(prefix: string, set: NewLimits): void {
    this.#set("prefix", prefix, set);
  }

  #set(target: Setting["target"], text: string, set: NewLimits): { from: Setting; to: Setting } {
    const before = this.#changes.findLast((change) => change.target === target && change.text === text);
    const from = before ?? { target, text, limit: null, rate: null, queueRules: null };
    const { limit = from.limit, rate = from.rate, queueRules = from.queueRules } = set;
    const to = { target, text, limit, rate, queueRules };
    this.#changes.push(to);
    return { from, to };
  }

  heartbeat(replica: bigint, nowUs: number): void {
    for (const claim of this.#claims) {
      if (claim.ended || claim.granted || claim.listener !== replica) continue;
      claim.aliveUntil = nowUs + this.#settings.attachedForUs;
    }
  }

  /** Forgets claims that ended longer than the retention time ago. */
  purge(nowUs: number): void {
    for (const claim of this.#claims) {
      if (claim.ended && claim.ended.at + this.#settings.keptForUs(claim.lock) <= nowUs)
        claim.forgotten = true;
    }
  }

  /** The remembered claims of a lock, in order. */
  rows(lock: string): ModelRow[] {
    return this.#of(lock)
      .filter((claim) => !claim.forgotten)
      .map((claim) => this.#row(claim));
  }

  limit(lock: string): { limit: number; source: "name" | "pattern" | "default" } {
    const exact = this.#changes.findLast((change) => change.target === "name" && change.text === lock);
    return limitInForce(lock, exact?.limit ?? null, this.#patterns());
  }

  rate(lock: string): ModelRate | null {
    const exact = this.#changes.findLast((change) => change.target === "name" && change.text === lock);
    return rateInForce(lock, exact?.rate ?? null, this.#patterns());
  }

  /** An exact name beats the longest pattern that has any. */
  queueRules(lock: string): QueueRules | null {
    const exact = this.#changes.findLast((change) => change.target === "name" && change.text === lock);
    if (exact?.queueRules) return exact.queueRules;
    const matching = this.#patterns().filter(
      (each) => each.queueRules !== null && lock.startsWith(each.prefix),
    );
    return matching.toSorted((a, b) => b.prefix.length - a.prefix.length)[0]?.queueRules ?? null;
  }

  #patterns(): (Omit<Setting, "target" | "text"> & { readonly prefix: string })[] {
    const patterns = new Map<string, Setting>();
    for (const change of this.#changes) if (change.target === "prefix") patterns.set(change.text, change);
    return [...patterns].map(([prefix, { limit, rate, queueRules }]) => ({
      prefix,
      limit,
      rate,
      queueRules,
    }));
  }

  /** When all permits are back that were taken of the lock's rate. */
  allBackAt(lock: string): number {
    let at = 0;
    for (const fact of this.#rateFacts) {
      if (fact.lock !== lock) continue;
      if (fact.what === "taken") at = Math.max(at, fact.surely) + backAfter(fact.rate, fact.permits);
      else at = Math.min(at, fact.now + wholeBurst(fact.rate));
    }
    return at;
  }

  /** Another rate than the last one applies: nobody waits for longer than a whole burst of it. */
  #applyRate(lock: string): void {
    const rate = this.rate(lock);
    const last = this.#rateFacts.findLast((fact) => fact.lock === lock)?.rate;
    if (rate && JSON.stringify(last) !== JSON.stringify(numbersOf(rate)))
      this.#rateFacts.push({ what: "applies", lock, now: this.#now, rate: numbersOf(rate) });
  }

  #ratedFrom(lock: string, permits: number): number {
    const rate = this.rate(lock);
    return rate ? ratedFrom(rate, this.allBackAt(lock), permits) : 0;
  }

  /** How long the rate alone keeps these permits, those of everybody ahead among them. */
  #rateWait(rate: Rate, lock: string, permits: number): number {
    return Math.max(0, ratedFrom(rate, Math.max(this.allBackAt(lock), this.#now), permits) - this.#now);
  }

  #isHopeless(lock: string, asked: Acquire): boolean {
    return (
      neverFits(asked, this.limit(lock).limit) || asked.permits > (this.rate(lock)?.burst ?? asked.permits)
    );
  }

  lastToken(lock: string): bigint {
    let last = this.#tokenFloors.get(lock) ?? 0n;
    for (const claim of this.#of(lock))
      if (claim.granted && claim.granted.token > last) last = claim.granted.token;
    return last;
  }

  /** What the lock remembers; null: nothing was ever set, or it has been deleted since. */
  record(lock: string): ModelRecord | null {
    let record: ModelRecord | null = null;
    let highest = 0n;
    for (const fact of this.#facts) {
      if (fact.lock !== lock) continue;
      record = remember(record, fact, highest);
      highest = record?.version ?? highest;
    }
    return record;
  }

  #happens(lock: string, what: What): void {
    this.#facts.push({ lock, at: this.#now, epoch: this.#failOver.epoch, ...what });
  }

  #isDueNow(lock: string): boolean {
    return (this.record(lock)?.notBeforeUs ?? 0) <= this.#surely;
  }

  #isExhausted(lock: string): boolean {
    return this.record(lock)?.attemptsLeft === 0;
  }

  #isWanted(lock: string, asked: Acquire): boolean {
    const wanted = asked.terms?.ifStatus ?? [];
    return wanted.length === 0 || wanted.includes(this.record(lock)?.status ?? "");
  }

  #update(lock: string, update: UpdateRecord): ModelOutcome {
    const record = this.record(lock);
    const version = record?.version ?? 0n;
    if ((update.expectedVersion ?? version) !== version) return { kind: "version_mismatch", version };
    this.#happens(lock, { what: "set", update, lastToken: this.lastToken(lock) });
    return { kind: "record", record: this.record(lock) as ModelRecord };
  }

  #delete(lock: string, expected: bigint | undefined): ModelOutcome {
    if (this.#live(lock).length > 0) return { kind: "in_use" };
    const version = this.record(lock)?.version ?? 0n;
    if ((expected ?? version) !== version) return { kind: "version_mismatch", version };
    if (version > 0n) this.#happens(lock, { what: "deleted" });
    return { kind: "deleted", byThisCall: version > 0n };
  }

  #release(claim: ModelClaim | undefined, { repeated, result, failed = false }: Release): ModelOutcome {
    const reason = failed ? "failed" : "released";
    if (!claim) return { kind: "unknown_claim" };
    if (claim.ended) {
      const own = claim.ended.reason === reason || claim.ended.reason === "cancelled";
      return { kind: "released", byThisCall: repeated === true && own };
    }
    if (!claim.granted && (result || failed))
      return { kind: "waiting", claim: this.#row(claim), place: null };
    this.#end(claim, claim.granted ? reason : "cancelled", "", result ?? null);
    return { kind: "released", byThisCall: true };
  }

  #apply(lock: string, command: Command): ModelOutcome {
    switch (command.verb) {
      case "end_counting":
        return { kind: "done" };
      case "acquire":
        return this.#acquire(lock, command);
      case "attach": {
        const claim = this.#find(lock, command.ref);
        return claim ? this.#returns(claim, command.replica) : { kind: "unknown_claim" };
      }
      case "detach":
        return this.#detach(this.#find(lock, command.ref), command.replica);
      case "renew":
        return this.#renew(this.#find(lock, command.ref), command.ttlUs);
      case "release":
        return this.#release(this.#find(lock, command.ref), command);
      case "withdraw": {
        const claim = this.#live(lock).find(({ asked }) => asked.requestId === command.requestId);
        if (claim && (isServers(command.requestId) || this.#isUnheard(claim, command.secret)))
          this.#end(claim, "cancelled");
        return { kind: "done" };
      }
      case "set_limit": {
        const changes = this.#changes.filter((change) => change.target === "name" && change.text === lock);
        const version = BigInt(changes.length);
        const expected = command.expectedVersion ?? version;
        if (expected !== version) return { kind: "version_mismatch", version };
        const { from, to } = this.#set("name", lock, command);
        this.#notes.push({
          kind: "limit",
          lock,
          by: whoOf(command),
          from: settingText(from),
          to: settingText(to),
        });
        this.#applyRate(lock);
        if (this.#waiters(lock).length > 0) this.#setOrder(lock);
        const queueRules = this.queueRules(lock);
        return {
          kind: "limit",
          ...this.limit(lock),
          rate: this.rate(lock),
          queueRules,
          version: version + 1n,
        };
      }
      case "force_release": {
        const meant = this.#live(lock).filter((claim) =>
          command.ticketNumber === null ? claim.granted : claim.number === command.ticketNumber,
        );
        const by = whoOf(command);
        for (const claim of meant) {
          const state = claim.granted ? "held" : "waiting";
          const principal = claim.asked.caller?.principal ?? "";
          const from = JSON.stringify({ ticket_number: `${claim.number}`, state, owner: "", principal });
          this.#notes.push({ kind: "forced_release", lock, by, from, to: "" });
          this.#end(claim, "force_released", command.reason, null, by);
        }
        return { kind: "forced", ended: meant.map((claim) => this.#row(claim)) };
      }
      case "update_record": {
        const from = noted(this.record(lock));
        const outcome = this.#update(lock, command);
        if (outcome.kind !== "record") return outcome;
        this.#notes.push({ kind: "record", lock, by: whoOf(command), from, to: noted(outcome.record) });
        // The answer shows the lock after the grants that this update made possible.
        this.#grantInOrder(lock, this.#seenUpTo);
        return { kind: "record", record: this.record(lock) as ModelRecord };
      }
      case "delete_record": {
        const from = noted(this.record(lock));
        const outcome = this.#delete(lock, command.expectedVersion);
        if (outcome.kind === "deleted" && outcome.byThisCall)
          this.#notes.push({ kind: "record", lock, by: whoOf(command), from, to: "" });
        return outcome;
      }
      case "advance":
        return { kind: "done" };
    }
  }

  /** Whether the request with this secret was granted, and its lease is as it was then. */
  #isUnheard({ asked, granted, fetched, unclaimed, ttl, countsFrom }: ModelClaim, secret: string): boolean {
    if (asked.secret !== secret || !granted) return false;
    return !fetched || unclaimed || (ttl !== null && countsFrom === granted.at);
  }

  #acquire(lock: string, asked: Acquire): ModelOutcome {
    const known = this.#claims.find((claim) => !claim.forgotten && claim.asked.requestId === asked.requestId);
    if (known) {
      const same =
        known.lock === lock &&
        known.asked.mode === asked.mode &&
        known.asked.permits === asked.permits &&
        isSpend(known.asked) === isSpend(asked);
      return same ? this.#returns(known, asked.replica) : { kind: "request_id_reused" };
    }
    const { limit } = this.limit(lock);
    const rate = this.rate(lock);
    const waiters = this.#waiters(lock);
    const fits = compatible(this.#holders(lock), asked, limit);
    const free = waiters.length === 0 && fits;
    if (neverFits(asked, limit)) return { kind: "refused", reason: "never_fits", limit };
    if (rate && this.#isHopeless(lock, asked)) return { kind: "refused", reason: "never_fits", limit, rate };
    if (this.#isExhausted(lock)) return { kind: "refused", reason: "exhausted", limit };
    const grantsFrom = Math.max(this.#failOver.grantsFromUs, this.record(lock)?.notBeforeUs ?? 0);
    if (free && grantsFrom <= this.#surely) {
      const status = this.record(lock)?.status ?? "";
      if (!this.#isWanted(lock, asked)) return { kind: "refused", reason: "status_mismatch", limit, status };
      if (this.#ratedFrom(lock, asked.permits) <= this.#surely) {
        const claim = this.#arrive(lock, asked);
        this.#grant(claim, true);
        return { kind: claim.ended ? "ended" : "held", claim: this.#row(claim) };
      }
    }
    const permitsAhead = waiters.reduce((sum, waiter) => sum + waiter.asked.permits, 0);
    const rateWaitUs = rate ? this.#rateWait(rate, lock, permitsAhead + asked.permits) : 0;
    if (!asked.mayWait) {
      if (limit === 0) return { kind: "refused", reason: "paused", limit };
      const forUs = Math.max(RETRY_AFTER_US_MIN, grantsFrom - this.#now);
      if (!this.#isDueNow(lock)) return { kind: "refused", reason: "not_before", limit, forUs };
      if (free && grantsFrom > this.#surely) return { kind: "refused", reason: "failed_over", limit, forUs };
      if (free && rate) {
        const forRateUs = this.#ratedFrom(lock, asked.permits) - this.#surely;
        return {
          kind: "refused",
          reason: "rate",
          limit,
          rate,
          forUs: Math.max(RETRY_AFTER_US_MIN, forRateUs),
        };
      }
      return { kind: "refused", reason: "busy", limit, ...(fits && rateWaitUs > 0 && { forUs: rateWaitUs }) };
    }
    const refused = this.#makeRoom(lock, asked);
    if (refused) return { kind: "refused", reason: "queue_full", limit, ...refused };
    const left = this.#waiters(lock);
    const permitsLeft = left.reduce((sum, waiter) => sum + waiter.asked.permits, 0);
    if (left.length === 0) this.#setOrder(lock);
    const claim = this.#arrive(lock, asked);
    const group = principalOf(asked);
    const order = this.#orders.get(lock);
    const allowedUs = this.queueRules(lock)?.headStartMaxUs ?? 0;
    if (order?.by === HEAD_STARTS) keyed(order, claim, Math.min(asked.headStartUs ?? 0, allowedUs));
    else if (!left.some((other) => principalOf(other.asked) === group))
      order?.turns.set(group, claim.number + this.lastToken(lock));
    this.#signOfLife(claim, asked.replica);
    const place = { ahead: left.length, permitsAhead: permitsLeft, queueLength: left.length + 1 };
    const ofRate = rate && { rateWaitUs: this.#rateWait(rate, lock, permitsLeft + asked.permits) };
    return { kind: "waiting", claim: this.#row(claim), place: { ...place, ...(limit > 0 && ofRate) } };
  }

  /** The longest waiting end for a newer request, as far as they are seen and it may end them. null: there is room. */
  #makeRoom(lock: string, { caller }: Acquire): { readonly queueRules?: QueueRules } | null {
    const rules = this.queueRules(lock);
    const max = Math.min(rules?.waitingMax ?? this.#settings.queueMax, this.#settings.queueMax);
    let isRoom = this.#waiters(lock).length < max;
    while (this.#waiters(lock).length >= max && rules?.whenFull === "end_longest_waiting") {
      const longest = this.#waiters(lock).find(({ number }) => number <= (this.#seenUpTo ?? number));
      const isOwn =
        longest !== undefined && (longest.asked.caller?.principal ?? "") === (caller?.principal ?? "");
      if (!isOwn && caller?.maySupersede?.(lock) === false) break;
      isRoom = true;
      if (!longest) break;
      this.#end(longest, "superseded", "", null, caller?.principal ?? "");
    }
    if (isRoom) return null;
    return rules?.waitingMax && this.#waiters(lock).length >= rules.waitingMax ? { queueRules: rules } : {};
  }

  #returns(claim: ModelClaim, replica: bigint | null): ModelOutcome {
    if (claim.ended) return { kind: "ended", claim: this.#row(claim) };
    if (claim.granted) {
      if (!claim.fetched) claim.countsFrom = Math.max(claim.countsFrom, this.#jumpedAt ?? 0);
      claim.fetched = true;
      claim.unclaimed = false;
      return { kind: "held", claim: this.#row(claim) };
    }
    this.#signOfLife(claim, replica);
    return { kind: "waiting", claim: this.#row(claim), place: null };
  }

  #detach(claim: ModelClaim | undefined, replica: bigint): ModelOutcome {
    if (claim && !claim.ended && !claim.granted && claim.listener === replica) {
      claim.listener = null;
      claim.aliveUntil = this.#now + this.#settings.graceUs;
    }
    return { kind: "done" };
  }

  #renew(claim: ModelClaim | undefined, ttl: number | undefined): ModelOutcome {
    if (!claim) return { kind: "unknown_claim" };
    if (claim.ended) return { kind: "ended", claim: this.#row(claim) };
    if (!claim.granted) return { kind: "waiting", claim: this.#row(claim), place: null };
    if (ttl !== undefined) claim.ttl = ttl;
    claim.fetched = true;
    claim.unclaimed = false;
    // It never ends exactly as it was granted.
    claim.countsFrom = Math.max(this.#now, claim.granted.at + 1);
    return { kind: "held", claim: this.#row(claim) };
  }

  #arrive(lock: string, asked: Acquire): ModelClaim {
    const claim: ModelClaim = {
      lock,
      number: BigInt(this.#of(lock).length + 1),
      asked,
      arrivedAt: this.#now,
      ttl: asked.ttlUs,
      listener: asked.replica,
      aliveUntil: 0,
      granted: null,
      fetched: false,
      unclaimed: false,
      countsFrom: 0,
      ended: null,
      forgotten: false,
    };
    this.#claims.push(claim);
    return claim;
  }

  #signOfLife(claim: ModelClaim, replica: bigint | null): void {
    const { attachedForUs, graceUs } = this.#settings;
    if (replica === null) claim.aliveUntil = Math.max(claim.aliveUntil, this.#now + graceUs);
    else {
      claim.listener = replica;
      claim.aliveUntil = this.#now + attachedForUs;
    }
  }

  /** Puts the waiters in the order that is in force: in each group, whoever came first has a turn since it came. */
  #setOrder(lock: string): void {
    const rules = this.queueRules(lock);
    const by = rules?.shareBy ?? (rules?.headStartMaxUs ? HEAD_STARTS : null);
    const before = this.#orders.get(lock);
    if ((before?.by ?? null) === by) return;
    const order: Order = { by, turns: new Map(), key: before?.key ?? 0 };
    this.#orders.set(lock, order);
    const waiters = this.#waiters(lock);
    for (const waiter of by === HEAD_STARTS ? waiters : []) keyed(order, waiter, 0);
    for (const { asked, number } of by === HEAD_STARTS ? [] : waiters.toReversed())
      order.turns.set(principalOf(asked), number + this.lastToken(lock));
  }

  /** Who is next: of the group that holds least, and of several such the one that has waited longest for its turn. */
  #next(lock: string): ModelClaim | undefined {
    const waiters = this.#waiters(lock);
    const order = this.#orders.get(lock);
    if (!order?.by) return waiters[0];
    const turnOf = ({ number }: ModelClaim) => order.turns.get(String(number)) ?? 0n;
    if (order.by === HEAD_STARTS) return waiters.toSorted((a, b) => Number(turnOf(a) - turnOf(b)))[0];
    const heldBy = (group: string) =>
      this.#live(lock)
        .filter((claim) => claim.granted && principalOf(claim.asked) === group)
        .reduce((sum, { asked }) => sum + asked.permits, 0);
    const [group] = [...new Set(waiters.map(({ asked }) => principalOf(asked)))]
      .sort((a, b) => Number((order.turns.get(a) ?? 0n) - (order.turns.get(b) ?? 0n)))
      .sort((a, b) => heldBy(a) - heldBy(b));
    return waiters.find(({ asked }) => principalOf(asked) === group);
  }

  #grantInOrder(lock: string, seenUpTo: bigint | null): void {
    const { limit } = this.limit(lock);
    for (let waiter = this.#next(lock); waiter; waiter = this.#next(lock)) {
      if (seenUpTo !== null && waiter.number > seenUpTo) return;
      if (this.#isHopeless(lock, waiter.asked)) {
        this.#end(waiter, "never_fits");
        continue;
      }
      if (!compatible(this.#holders(lock), waiter.asked, limit)) return;
      const mayGrant = this.#failOver.grantsFromUs <= this.#surely && this.#isDueNow(lock);
      if (this.#isExhausted(lock)) this.#end(waiter, "exhausted");
      else if (!mayGrant) return;
      else if (!this.#isWanted(lock, waiter.asked)) {
        this.#end(waiter, "status_mismatch", this.record(lock)?.status ?? "");
      } else if (this.#ratedFrom(lock, waiter.asked.permits) > this.#surely) return;
      else this.#grant(waiter, isSpend(waiter.asked));
    }
  }

  #grant(claim: ModelClaim, fetched: boolean): void {
    const next = BigInt(this.#of(claim.lock).length + 1);
    this.#orders.get(claim.lock)?.turns.set(principalOf(claim.asked), next + this.lastToken(claim.lock));
    const tokens = [this.lastToken(claim.lock), this.#failOver.epoch * 2n ** 36n];
    claim.granted = { at: this.#now, token: tokens.reduce((a, b) => (a > b ? a : b)) + 1n };
    claim.fetched = fetched;
    claim.unclaimed = fetched && claim.ttl === null;
    claim.countsFrom = this.#now;
    const { lock, asked } = claim;
    const rate = this.rate(lock);
    if (rate)
      this.#rateFacts.push({
        ...{ what: "taken", lock, surely: this.#surely, rate: numbersOf(rate), permits: asked.permits },
      });
    this.#happens(lock, { what: "granted" });
    if (isSpend(asked)) this.#end(claim, "spent");
  }

  #end(claim: ModelClaim, reason: EndReason, note = "", result: RunResult | null = null, by = ""): void {
    claim.ended = { at: this.#now, reason, note, by };
    claim.unclaimed = false;
    if (!claim.granted) return;
    const { lock } = claim;
    // A lease is used only once it was fetched; a release implies that.
    const isUsed =
      reason === "released" ||
      reason === "failed" ||
      (claim.fetched && ["expired", "force_released"].includes(reason));
    // A client may have received a lease that lapsed, so only a cancelled one counts as unused.
    if (reason === "cancelled") this.#happens(lock, { what: "unused", token: claim.granted.token });
    if (!isUsed) return;
    if (!this.record(claim.lock) && !claim.asked.terms && !result) return;
    this.#happens(lock, {
      ...{ what: "run", claim, end: reason, result: result ?? {}, lastToken: this.lastToken(lock) },
    });
    claim.ended = { ...claim.ended, note: note || (this.record(lock)?.status ?? "") };
  }

  /** When the claim's present state runs out. */
  #deadline(claim: ModelClaim): number | null {
    if (claim.ended) return claim.ended.at + this.#settings.keptForUs(claim.lock);
    if (!claim.granted) return Math.min(claim.aliveUntil, waitUntil(claim) ?? Number.POSITIVE_INFINITY);
    return this.#isCutShort(claim) ? this.#graceEnd(claim) : wholeEnd(claim);
  }

  /**
   * After a jump of the clock or a fail-over, a claim's time counts again from then. What short steps skipped is added to it. A replica that has just come back
   * also keeps places for one more grace period.
   */
  #isDue(claim: ModelClaim): boolean {
    const deadline = this.#deadline(claim);
    if (deadline === null || deadline + this.#skipped > this.#surely) return false;
    const { graceUs, attachedForUs } = this.#settings;
    const held = this.#isCutShort(claim) ? graceUs : (claim.ttl ?? graceUs);
    const given = claim.granted ? held : attachedForUs;
    const until = waitUntil(claim);
    const waitOver = until !== null && until <= this.#surely;
    const justBack = this.#backAt !== null && this.#surely < this.#backAt + graceUs;
    if (!claim.granted && justBack && !waitOver) return false;
    return this.#surely >= Math.max(this.#jumpedAt ?? 0, this.#failOver.atUs) + given;
  }

  #reasonOfDue(claim: ModelClaim): EndReason {
    if (claim.granted) return claim.fetched ? "expired" : "lapsed";
    const until = waitUntil(claim);
    return until !== null && until <= claim.aliveUntil ? "timed_out" : "lapsed";
  }

  /** Whether the lease ends before its time to live, because no client has fetched it. */
  #isCutShort(claim: ModelClaim): boolean {
    return !claim.fetched && this.#graceEnd(claim) < (wholeEnd(claim) ?? Number.POSITIVE_INFINITY);
  }

  #graceEnd(claim: ModelClaim): number {
    return (claim.granted?.at ?? 0) + this.#settings.graceUs;
  }

  #row(claim: ModelClaim): ModelRow {
    return {
      ticketNumber: claim.number,
      secret: claim.asked.secret,
      requestId: claim.asked.requestId,
      mode: claim.asked.mode,
      permits: claim.asked.permits,
      state: claim.ended ? "ended" : claim.granted ? "held" : "waiting",
      ttlUs: claim.ttl,
      waitUntilUs: waitUntil(claim),
      deadlineUs: this.#deadline(claim),
      replica: claim.listener,
      provisional: claim.granted !== null && (!claim.fetched || claim.unclaimed),
      fencingToken: claim.granted?.token ?? 0n,
      requestedAtUs: claim.arrivedAt,
      grantedAtUs: claim.granted?.at ?? null,
      endedAtUs: claim.ended?.at ?? null,
      endReason: claim.ended?.reason ?? null,
      endNote: claim.ended?.note ?? "",
      endedBy: claim.ended?.by ?? "",
    };
  }

  #of(lock: string): ModelClaim[] {
    return this.#claims.filter((claim) => claim.lock === lock);
  }

  #live(lock: string): ModelClaim[] {
    return this.#of(lock).filter((claim) => !claim.ended);
  }

  #holders(lock: string): { mode: Mode; permits: number }[] {
    return this.#live(lock)
      .filter((claim) => claim.granted)
      .map((claim) => claim.asked);
  }

  #waiters(lock: string): ModelClaim[] {
    return this.#live(lock).filter((claim) => !claim.granted);
  }

  #find(lock: string, ref: ClaimRef): ModelClaim | undefined {
    return this.#of(lock).find(
      (claim) => !claim.forgotten && claim.number === ref.ticketNumber && claim.asked.secret === ref.secret,
    );
  }
}

/** A request without any time to live wants no lease. */
function isSpend({ ttlUs }: Pick<Wanted, "ttlUs">): boolean {
  return ttlUs === 0;
}

function orderText({ shareBy, headStartMaxUs }: QueueRules): string {
  const text = headStartMaxUs > 0 ? `head_start:${headStartMaxUs}` : shareBy;
  return text ? `/${text}` : "";
}

/** Such as `3 5/1000000/5` and `3  1/refuse`. */
function settingText({ limit, rate, queueRules }: Setting): string {
  const numbers = rate ? ` ${rate.permits}/${rate.perUs}/${rate.burst}` : "";
  const rules = queueRules
    ? `${rate ? "" : " "} ${queueRules.waitingMax ?? ""}/${queueRules.whenFull}${orderText(queueRules)}`
    : "";
  return `${limit ?? ""}${numbers}${rules}`;
}

function waitUntil(claim: ModelClaim): number | null {
  return claim.asked.maxWaitUs === null ? null : claim.arrivedAt + claim.asked.maxWaitUs;
}

function wholeEnd(claim: ModelClaim): number | null {
  return claim.ttl === null ? null : claim.countsFrom + claim.ttl;
}

export function neverFits(asked: Wanted, limit: number): boolean {
  return limit > 0 && asked.mode === "permit" && asked.permits > limit && !isSpend(asked);
}

/** What a lock remembers after one more fact. `highest`: the highest version that any of its records had. */
function remember(record: ModelRecord | null, fact: Fact, highest: bigint): ModelRecord | null {
  const { at } = fact;
  // Those of an epoch are above all before, like tokens.
  const floor = fact.epoch * 2n ** 36n;
  const version = (highest > floor ? highest : floor) + 1n;
  const nothing = {
    notBeforeUs: null,
    attemptsLeft: null,
    attemptsSince: 0n,
    status: "",
    lastRun: null,
    lastSuccess: null,
    failures: 0,
  };
  const old = record ?? nothing;
  switch (fact.what) {
    case "deleted":
      return null;
    case "granted":
      return record && record.attemptsLeft !== null
        ? { ...record, attemptsLeft: record.attemptsLeft - 1, version }
        : record;
    case "unused":
      return record && record.attemptsLeft !== null && fact.token > record.attemptsSince
        ? { ...record, attemptsLeft: record.attemptsLeft + 1, version }
        : record;
    case "set": {
      const { notBefore, attemptsLeft = old.attemptsLeft, status = old.status } = fact.update;
      const instant = notBefore && ("atUs" in notBefore ? notBefore.atUs : at + notBefore.inUs);
      const notBeforeUs = instant === undefined ? old.notBeforeUs : instant;
      const attemptsSince = fact.update.attemptsLeft === undefined ? old.attemptsSince : fact.lastToken;
      return { ...old, notBeforeUs, attemptsLeft, attemptsSince, status, version };
    }
    case "run": {
      const { claim, end, result } = fact;
      const { terms, owner } = claim.asked;
      const given = claim.granted as { at: number; token: bigint };
      const isGivenBack = end === "released" || end === "failed";
      const status = (isGivenBack ? result.status : terms?.statusIfLost) ?? old.status;
      const isSet = isGivenBack && result.attemptsLeft !== undefined;
      const attemptsLeft = isSet ? (result.attemptsLeft as number) : old.attemptsLeft;
      const attemptsSince = isSet ? fact.lastToken : old.attemptsSince;
      const failures = end === "released" ? 0 : old.failures + 1;
      const rest = end === "released" ? null : after(at, restUs(terms?.backoff, failures));
      const next = isGivenBack
        ? nextRun(given.at, at, terms, result, rest)
        : later(after(at, terms?.lockDelayUs), rest);
      const lastRun = { owner, fencingToken: given.token, grantedAtUs: given.at, endedAtUs: at, end, status };
      const lastSuccess = end === "released" ? lastRun : old.lastSuccess;
      const notBeforeUs = later(old.notBeforeUs, next);
      return { notBeforeUs, attemptsLeft, attemptsSince, status, lastRun, lastSuccess, failures, version };
    }
  }
}

function nextRun(
  grantedAt: number,
  endedAt: number,
  terms: Terms | null | undefined,
  { coolDownUs }: RunResult,
  rest: number | null,
): number | null {
  return coolDownUs === undefined
    ? (rest ?? after(grantedAt, terms?.minIntervalUs))
    : after(endedAt, coolDownUs);
}

/** Doubled as often as there were failures before this one. */
function restUs(backoff: Terms["backoff"], failures: number): number | null {
  if (!backoff) return null;
  let us = backoff.firstUs;
  for (let more = 1; more < failures && us < backoff.maxUs; more++) us *= 2;
  return Math.min(us, backoff.maxUs);
}

function later(a: number | null, b: number | null): number | null {
  const instants = [a, b].filter((instant) => instant !== null);
  return instants.length === 0 ? null : Math.max(...instants);
}

/** A time of zero leaves nothing to wait for. */
function after(from: number, us: number | null | undefined): number | null {
  return us ? from + us : null;
}
