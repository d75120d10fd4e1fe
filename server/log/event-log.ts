// Logs what happens to locks: at level info what an operator would ask about, at level debug grants and releases,
// unless they are audited. A line names the owner and the lock, never an id that proves a right.

import { createHash } from "node:crypto";
import type { Claim } from "../core/claim.ts";
import { callersRequestId } from "../core/claim.ts";
import type { Command, Event, Outcome } from "../core/command.ts";
import { patternOf } from "../core/limit.ts";
import type { LockRecord } from "../core/record.ts";
import type { EngineObserver } from "../engine/lock-engine.ts";
import { Callers } from "./callers.ts";
import type { Log } from "./log.ts";
import type { OutageLog } from "./outage-log.ts";
import { Seldom } from "./seldom.ts";

/** A loop that keeps failing for the same reason is logged again after this time: some loops run ten times a second. */
const LOOP_FAILURE_INTERVAL_MS = 10_000;

/** Hexadecimal digits of a request id's hash: 64 bits distinguish all requests in any log. */
const REQUEST_HASH_DIGITS = 16;

export interface EventLogOptions {
  /** Whether grants and releases are also logged at level info. */
  readonly audit: boolean;
  /** Takes the failures of loops that are part of an outage of the database. */
  readonly outage: OutageLog;
}

export class EventLog {
  readonly #log: Log;
  readonly #outage: OutageLog;
  /** The level of grants and releases. */
  readonly #dailyLevel: "info" | "debug";
  /** Kept because every command asks for it, and the level of a log does not change. */
  readonly #tellsDaily: boolean;
  readonly #tellsOperators: boolean;
  readonly #callers = new Callers();
  readonly #loopFailures = new Seldom(LOOP_FAILURE_INTERVAL_MS);

  constructor(log: Log, { audit, outage }: EventLogOptions) {
    this.#log = log;
    this.#outage = outage;
    this.#dailyLevel = audit ? "info" : "debug";
    this.#tellsDaily = log.isLevelEnabled(this.#dailyLevel);
    this.#tellsOperators = log.isLevelEnabled("info");
  }

  readonly observe: EngineObserver = (event) => {
    switch (event.kind) {
      case "answered":
        this.#answered(event.command, event.outcome);
        return;
      case "event":
        this.#event(event.event, event.lockName);
        return;
      case "limit_rule_set": {
        const { prefix, limit, version, reason, serversBehind, caller } = event;
        const change = { pattern: patternOf({ prefix }), to: limit, version: String(version), reason };
        this.#log.info({ ...change, peer: caller?.getPeer() }, "limit set");
        if (serversBehind > 0)
          this.#log.warn(
            { pattern: change.pattern, servers: serversBehind },
            "registered servers have not confirmed this limit: they have just died, are frozen, or are cut off",
          );
        return;
      }
      case "retried":
        this.#log.debug({ cause: event.cause }, "transaction repeated");
        return;
      case "clock_jumped":
        this.#log.warn({ byMs: Math.round(event.byUs / 1_000) }, "the database's clock jumped");
        return;
      case "failed_over":
        this.#log.warn(
          { pauseMs: Math.round(event.pauseUs / 1_000) },
          "the database has failed over or was restored: grants are paused until leases that it may have lost have ended",
        );
        return;
      case "loop_failed":
        this.#loopFailed(event.loop, event.error);
        return;
    }
  };

  #answered(command: Command, outcome: Outcome): void {
    // Addresses are kept only if the events will be logged: changes by an operator at info, all others at their own
    // level.
    const byOperator =
      command.verb === "set_limit" || command.verb === "force_release" || command.verb === "delete_lock";
    if (byOperator ? this.#tellsOperators : this.#tellsDaily) this.#callers.answered(command, outcome);
  }

  #event(event: Event, lockName: string): void {
    switch (event.kind) {
      case "granted":
        if (!this.#tellsDaily) return;
        this.#log[this.#dailyLevel](
          { ...who(event.claim, lockName), peer: this.#callers.of(event), waitedMs: event.waitedUs / 1_000 },
          "granted",
        );
        return;
      case "enqueued":
        if (!this.#log.isLevelEnabled("debug")) return;
        this.#log.debug({ ...who(event.claim, lockName), peer: this.#callers.of(event) }, "queued");
        return;
      case "ended":
        this.#ended(event, lockName);
        return;
      case "limit_set": {
        const { limit, limitVersion, limitReason } = event.lock;
        const change = { lock: lockName, from: event.from, to: limit, version: String(limitVersion) };
        this.#log.info({ ...change, reason: limitReason, peer: this.#callers.of(event) }, "limit set");
        return;
      }
      case "record_set":
        // Schedulers do this as often as jobs run.
        if (!this.#tellsDaily) return;
        this.#log[this.#dailyLevel](
          { lock: lockName, ...remembered(event.record), peer: this.#callers.of(event) },
          "record set",
        );
        return;
      case "record_deleted":
        this.#log.info(
          { lock: lockName, ...remembered(event.record), peer: this.#callers.of(event) },
          "record deleted",
        );
        return;
    }
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
    const peer = this.#callers.of(event);
    const level = this.#endLevel(reason, was);
    if (!this.#log.isLevelEnabled(level)) return;
    const note = claim.endNote === "" ? {} : { note: claim.endNote };
    const left = event.record ? remembered(event.record) : {};
    this.#log[level](
      { ...who(claim, lockName), peer, reason, ...note, ...left },
      was === "held" ? "lease ended" : "left the queue",
    );
  }

  /** Info if somebody may still work without the lease, because it ended by itself or an operator ended it. */
  #endLevel(reason: Claim["endReason"], was: "waiting" | "held"): "info" | "debug" {
    if (reason === "force_released") return "info";
    if (was === "waiting") return "debug";
    return reason === "released" ? this.#dailyLevel : "info";
  }
}

/** One of a few words, because messages may differ each time. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error && "reason" in error ? error.reason : undefined;
  return typeof reason === "string" ? reason : "unexpected";
}

function remembered({ status, notBeforeUs, attemptsLeft, version }: LockRecord) {
  return {
    status,
    ...(notBeforeUs !== null && { notBefore: new Date(notBeforeUs / 1_000).toISOString() }),
    ...(attemptsLeft !== null && { attemptsLeft }),
    version: String(version),
  };
}

function who(claim: Claim, lockName: string) {
  const requestId = callersRequestId(claim);
  return {
    lock: lockName,
    ticket: String(claim.ticketNumber),
    owner: claim.owner,
    mode: claim.mode,
    permits: claim.permits,
    token: String(claim.fencingToken),
    ...(requestId !== "" && { requestHash: hashOf(requestId) }),
  };
}

/** A reader who knows the request id finds its lines. A reader of the lines cannot get at the lease. */
function hashOf(requestId: string): string {
  return createHash("sha256").update(requestId).digest("hex").slice(0, REQUEST_HASH_DIGITS);
}
