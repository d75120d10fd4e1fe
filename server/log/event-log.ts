// Logs what happens to locks: at level info what an operator would ask about, at level debug grants and releases,
// unless they are audited. A line names the owner and the lock, never an id that proves a right.

import { createHash } from "node:crypto";
import { type Claim, callersRequestId, keyText, type Member } from "../core/claim.ts";
import type { Caller, Command, Event } from "../core/command.ts";
import { patternOf } from "../core/limit.ts";
import type { LockRecord } from "../core/lock.ts";
import { type QueueRules, queueRulesWords, sameQueueRules } from "../core/queue-rules.ts";
import { type Rate, rateText, sameRate } from "../core/rate.ts";
import { RecentMap } from "../core/recent-map.ts";
import type { CheckEvent, EngineObserver } from "../engine/answers.ts";
import { type Log, Seldom, traceIds } from "./log.ts";
import type { OutageLog } from "./outage-log.ts";

/** A loop that keeps failing for the same reason is logged again after this time: some loops run ten times a second. */
const LOOP_FAILURE_INTERVAL_MS = 10_000;

type Finding = Extract<CheckEvent, { readonly kind: "checked" }>["findings"][number];

/** Waiters whose addresses are remembered. Beyond this, the lines about the longest waits have no address. */
const WAITERS_MAX = 10_000;

/** Hexadecimal digits of a request id's hash: 64 bits distinguish all requests in any log. */
const REQUEST_HASH_DIGITS = 16;

export interface EventLogOptions {
  /** Whether grants and releases are also logged at level info. */
  readonly audit: boolean;
  readonly outage: OutageLog;
}

type Origin = { readonly peer: string } & Partial<NonNullable<ReturnType<typeof traceIds>>>;

export class EventLog {
  readonly #log: Log;
  readonly #outage: OutageLog;
  readonly #dailyLevel: "info" | "debug";
  /** Kept because every command asks for it, and the level of a log does not change. */
  readonly #logsDaily: boolean;
  /** Callers by the claims that wait for them: another caller's command makes room for the grant. */
  readonly #waiters = new RecentMap<string, Origin>(WAITERS_MAX);
  #findings: ReadonlySet<string> = new Set();
  readonly #loopFailures = new Seldom(LOOP_FAILURE_INTERVAL_MS);

  constructor(log: Log, { audit, outage }: EventLogOptions) {
    this.#log = log;
    this.#outage = outage;
    this.#dailyLevel = audit ? "info" : "debug";
    this.#logsDaily = log.isLevelEnabled(this.#dailyLevel);
  }

  readonly observe: EngineObserver = (event) => {
    switch (event.kind) {
      case "answered":
        if (this.#logsDaily && event.outcome.kind === "waiting")
          this.#waits(event.command, event.outcome.claim);
        return;
      case "event":
        return this.#event(event.event, event.lockName);
      case "limit_rule_set": {
        const { prefix, isPool, set, version, reason, serversBehind, caller } = event;
        const target = { [isPool ? "pool" : "pattern"]: patternOf({ prefix }) };
        const to = {
          ...(set.limit !== undefined && { to: set.limit }),
          ...loggedRate("rate", set.rate),
          ...loggedQueueRules("queueRules", set.queueRules),
        };
        const change = { ...target, ...to, version: String(version), reason };
        this.#log.info({ ...change, ...originOf(caller) }, "limit set");
        if (serversBehind > 0)
          this.#log.warn(
            { ...target, servers: serversBehind },
            "registered servers have not confirmed this limit: they have just died, are frozen, or are cut off",
          );
        return;
      }
      case "retried":
        return this.#log.debug({ cause: event.cause }, "transaction repeated");
      case "clock_jumped":
        return this.#log.warn({ byMs: Math.round(event.byUs / 1_000) }, "the database's clock jumped");
      case "failed_over":
        this.#log.warn(
          { pauseMs: Math.round(event.pauseUs / 1_000) },
          "the database has failed over or was restored: grants are paused until leases that it may have lost have ended",
        );
        return;
      case "checked":
        return this.#checked(event.findings);
      case "not_checked":
        if (event.why === "too_much")
          this.#log.info("there is too much to check beside decisions: run `rowlock doctor` now and then");
        return;
      case "loop_failed":
        return this.#loopFailed(event.loop, event.error);
    }
  };

  #waits(command: Command, claim: Claim): void {
    const origin = "caller" in command ? originOf(command.caller) : undefined;
    // Each lock of a claim for several has lines of its own.
    if (origin) for (const key of claim.members ?? [claim]) this.#waiters.set(keyText(key), origin);
  }

  #event(event: Event, lockName: string) {
    switch (event.kind) {
      case "granted": {
        if (!this.#logsDaily) return;
        const origin = event.caller ? originOf(event.caller) : this.#waiters.take(keyText(event.claim));
        const waitedMs = event.waitedUs / 1_000;
        this.#log[this.#dailyLevel]({ ...who(event.claim, lockName), ...origin, waitedMs }, "granted");
        return;
      }
      case "enqueued":
        if (!this.#log.isLevelEnabled("debug")) return;
        this.#log.debug({ ...who(event.claim, lockName), ...originOf(event.caller) }, "queued");
        return;
      case "ended":
        return this.#ended(event, lockName);
      case "limit_set": {
        const { limit, rate, queueRules, limitVersion, limitReason } = event.lock;
        const { from } = event;
        const ofRate = sameRate(from.rate, rate)
          ? {}
          : { ...loggedRate("rateFrom", from.rate), ...loggedRate("rate", rate) };
        const ofQueue = sameQueueRules(from.queueRules, queueRules)
          ? {}
          : {
              ...loggedQueueRules("queueRulesFrom", from.queueRules),
              ...loggedQueueRules("queueRules", queueRules),
            };
        const change = {
          lock: lockName,
          from: from.limit,
          to: limit,
          ...ofRate,
          ...ofQueue,
          version: String(limitVersion),
        };
        this.#log.info({ ...change, reason: limitReason, ...originOf(event.caller) }, "limit set");
        return;
      }
      case "record_changed": {
        const { change, record, caller } = event;
        // Schedulers set records as often as jobs run. An operator deletes one.
        const level = change === "set" ? this.#dailyLevel : "info";
        if (!this.#log.isLevelEnabled(level)) return;
        this.#log[level]({ lock: lockName, ...remembered(record), ...originOf(caller) }, `record ${change}`);
        return;
      }
    }
  }

  #checked(findings: readonly Finding[]): void {
    const known = this.#findings;
    this.#findings = new Set(findings.map(({ message }) => message));
    for (const { check, message } of findings)
      if (!known.has(message))
        this.#log.error({ check, finding: message }, "the rows are damaged: run `rowlock doctor`");
    if (known.size > 0 && findings.length === 0) this.#log.info("the rows agree with each other again");
  }

  #loopFailed(loop: string, error: unknown): void {
    if (this.#outage.failed({ loop }, error)) return;
    const suppressed = this.#loopFailures.suppressed(`${loop} ${reasonOf(error)}`);
    if (suppressed === null) return;
    this.#log.warn({ loop, suppressed, err: error }, "background work failed, and will be tried again");
  }

  #ended(event: Event & { readonly kind: "ended" }, lockName: string): void {
    const { claim, was } = event;
    const reason = claim.endReason;
    if (was === "waiting") this.#waiters.delete(keyText(claim));
    const level = this.#endLevel(reason, was);
    if (!this.#log.isLevelEnabled(level)) return;
    const note = claim.endNote === "" ? {} : { note: claim.endNote };
    const left = event.record ? remembered(event.record) : {};
    this.#log[level](
      { ...who(claim, lockName), ...originOf(event.caller), reason, ...note, ...left },
      was === "held" ? "lease ended" : "left the queue",
    );
  }

  /** Info if somebody may still work without the lease, because it ended by itself or an operator ended it. */
  #endLevel(reason: Claim["endReason"], was: "waiting" | "held"): "info" | "debug" {
    if (reason === "force_released") return "info";
    if (was === "waiting") return "debug";
    return reason === "released" || reason === "spent" ? this.#dailyLevel : "info";
  }
}

/** One of a few words, because messages may differ each time. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error && "reason" in error ? error.reason : undefined;
  return typeof reason === "string" ? reason : "unexpected";
}

function loggedRate(field: string, rate: Rate | null | undefined) {
  return rate === undefined ? {} : { [field]: rate && rateText(rate) };
}

function loggedQueueRules(field: string, rules: QueueRules | null | undefined) {
  return rules === undefined ? {} : { [field]: rules && queueRulesWords(rules) };
}

function remembered({ status, notBeforeUs, attemptsLeft, version }: LockRecord) {
  return {
    status,
    ...(notBeforeUs !== null && { notBefore: new Date(notBeforeUs / 1_000).toISOString() }),
    ...(attemptsLeft !== null && { attemptsLeft }),
    version: String(version),
  };
}

function originOf(caller: Caller | undefined): Origin | undefined {
  return caller && { peer: caller.getPeer(), ...traceIds(caller.span) };
}

function who(claim: Claim, lockName: string) {
  const requestId = callersRequestId(claim);
  return {
    lock: lockName,
    ticket: String(claim.ticketNumber),
    owner: claim.owner,
    ...(claim.principal !== "" && { principal: claim.principal }),
    mode: claim.mode,
    permits: claim.permits,
    ...(claim.members && { also: othersOf(claim.members, claim) }),
    token: String(claim.fencingToken),
    ...(requestId !== "" && { requestHash: hashOf(requestId) }),
  };
}

function othersOf(members: readonly Member[], { lockId }: Claim): readonly string[] {
  return members.flatMap((member) => (member.lockId === lockId ? [] : [member.name]));
}

/** A reader who knows the request id finds its lines. A reader of the lines cannot get at the lease. */
function hashOf(requestId: string): string {
  return createHash("sha256").update(requestId).digest("hex").slice(0, REQUEST_HASH_DIGITS);
}
