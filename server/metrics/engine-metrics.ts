// Counts what the engine reports of claims: acquires, waits, holds, ends, batches. It runs on the hot path, so label
// objects are made once and kept. Never throws, and never lets a lock's name become a label.

import type { Registry } from "prom-client";
import type { Claim, EndReason } from "../core/claim.ts";
import type { Acquire, Command, Event, Outcome } from "../core/command.ts";
import type { EngineObserver } from "../engine/lock-engine.ts";
import { BATCH_SIZE, CALL_SECONDS, LOCK_SECONDS } from "./buckets.ts";
import { CaptureMetrics } from "./capture-metrics.ts";
import { type HotCounter, type HotHistogram, hotCounter, hotHistogram } from "./hot-metrics.ts";
import { Labelled } from "./labelled.ts";
import type { LockClasses } from "./lock-classes.ts";
import { WatchMetrics } from "./watch-metrics.ts";

const RENEWALS: Partial<Record<Outcome["kind"], string>> = {
  held: "renewed",
  waiting: "not_held",
  ended: "lost",
  unknown_claim: "unknown",
};

/** Background work that may fail: its counters exist from the start. */
const LOOPS: readonly string[] = [
  "poll",
  "poke",
  "heartbeat",
  "departures",
  "sweep",
  "purge",
  "beat",
  "places",
  "advance",
  "watches",
];

export class EngineMetrics {
  readonly #classes: LockClasses;
  /** The children for each class, in the order of the classes' labels. */
  readonly #byClass: readonly ClassMetrics[];
  readonly #watches: WatchMetrics;
  readonly #captures: CaptureMetrics;
  readonly #commands: Labelled<HotHistogram>;
  readonly #limitChanges: Labelled<HotCounter>;
  readonly #recordChanges: Labelled<HotCounter>;
  readonly #retries: Labelled<HotCounter>;
  readonly #failOvers: HotCounter;
  readonly #clockJumps: Labelled<HotCounter>;
  readonly #loopFailures: Labelled<HotCounter>;
  readonly #batchCommands: HotHistogram;
  readonly #batchLocks: HotHistogram;

  constructor(registry: Registry, classes: LockClasses) {
    this.#classes = classes;
    this.#byClass = classMetrics(registry, classes);
    this.#watches = new WatchMetrics(registry);
    this.#captures = new CaptureMetrics(registry);
    const commands = hotHistogram({
      name: "rowlock_command_duration_seconds",
      help: "From the submission of a command to its committed answer, without waiting for the lock.",
      labelNames: ["verb"],
      buckets: CALL_SECONDS,
      registry,
    });
    const limitChanges = hotCounter({
      name: "rowlock_limit_changes_total",
      help: "Limits that were set or taken away, of single names and of patterns.",
      labelNames: ["target"],
      registry,
    });
    const recordChanges = hotCounter({
      name: "rowlock_record_changes_total",
      help: "Records of locks that were set by UpdateLock, or deleted by DeleteLock.",
      labelNames: ["change"],
      registry,
    });
    const retries = hotCounter({
      name: "rowlock_transaction_retries_total",
      help: "Transactions that were repeated, by the cause.",
      labelNames: ["cause"],
      registry,
    });
    this.#failOvers = hotCounter({
      name: "rowlock_fail_overs_total",
      help: "Fail-overs and restores of the database that this server noticed; each pauses grants.",
      labelNames: [],
      registry,
    })({});
    const clockJumps = hotCounter({
      name: "rowlock_clock_jumps_total",
      help: "Jumps of the database's clock against this process's own, by direction: ahead or behind.",
      labelNames: ["direction"],
      registry,
    });
    const loopFailures = hotCounter({
      name: "rowlock_loop_failures_total",
      help: "Runs of background loops that failed; the loop goes on.",
      labelNames: ["loop"],
      registry,
    });
    this.#commands = new Labelled((verb) => commands({ verb }));
    this.#limitChanges = new Labelled((target) => limitChanges({ target }), ["name", "pattern"]);
    this.#recordChanges = new Labelled((change) => recordChanges({ change }), ["set", "deleted"]);
    this.#retries = new Labelled((cause) => retries({ cause }), ["deadlock"]);
    this.#clockJumps = new Labelled((direction) => clockJumps({ direction }), ["ahead", "behind"]);
    this.#loopFailures = new Labelled((loop) => loopFailures({ loop }), LOOPS);
    this.#batchCommands = hotHistogram({
      name: "rowlock_transaction_commands",
      help: "Commands that were decided in one transaction.",
      labelNames: [],
      buckets: BATCH_SIZE,
      registry,
    })({});
    this.#batchLocks = hotHistogram({
      name: "rowlock_transaction_locks",
      help: "Locks that were decided about in one transaction.",
      labelNames: [],
      buckets: BATCH_SIZE,
      registry,
    })({});
  }

  readonly observe: EngineObserver = (event) => {
    switch (event.kind) {
      case "batch":
        this.#batchCommands.observe(event.commands);
        this.#batchLocks.observe(event.locks);
        return;
      case "answered":
        this.#answered(event.command, event.outcome, event.lockName, event.seconds);
        return;
      case "event":
        this.#event(event.event, event.lockName);
        return;
      case "limit_rule_set":
        this.#limitChanges.of("pattern").inc();
        return;
      case "retried":
        this.#retries.of(event.cause).inc();
        return;
      case "clock_jumped":
        this.#clockJumps.of(event.byUs > 0 ? "ahead" : "behind").inc();
        return;
      case "failed_over":
        this.#failOvers.inc();
        return;
      case "captured":
        this.#captures.observe(event);
        return;
      case "watch_opened":
      case "watch_closed":
      case "watch_told":
      case "watch_began_anew":
        this.#watches.observe(event);
        return;
      case "loop_failed":
        this.#loopFailures.of(event.loop).inc();
        return;
    }
  };

  #answered(command: Command, outcome: Outcome, lockName: string, seconds: number): void {
    this.#commands.of(command.verb).observe(seconds);
    if (command.verb === "acquire") {
      this.#of(lockName).acquires.of(command.mode).of(acquireOutcome(command, outcome)).inc();
    } else if (command.verb === "renew") {
      this.#of(lockName)
        .renewals.of(RENEWALS[outcome.kind] ?? outcome.kind)
        .inc();
    }
  }

  #event(event: Event, lockName: string): void {
    switch (event.kind) {
      case "granted":
        this.#of(lockName)
          .waits.of(String(event.queued))
          .observe(event.waitedUs / 1e6);
        return;
      case "enqueued":
        this.#of(lockName).enqueued.inc();
        return;
      case "ended":
        this.#of(lockName).ended(event.claim, event.was);
        return;
      case "limit_set":
        this.#limitChanges.of("name").inc();
        return;
      case "record_set":
        this.#recordChanges.of("set").inc();
        return;
      case "record_deleted":
        this.#recordChanges.of("deleted").inc();
        return;
    }
  }

  #of(lockName: string): ClassMetrics {
    return this.#byClass[this.#classes.indexOf(lockName)] as ClassMetrics;
  }
}

/** A request that returned to its claim by its request id is `granted_before` or `queued_before`: no new claim. */
function acquireOutcome(command: Acquire, outcome: Outcome): string {
  switch (outcome.kind) {
    case "held":
      return outcome.claim.secret === command.secret ? "granted" : "granted_before";
    case "waiting":
      return outcome.claim.secret === command.secret ? "queued" : "queued_before";
    case "refused":
      return outcome.reason;
    default:
      return outcome.kind;
  }
}

/** The metric children of one class. */
interface ClassMetrics {
  readonly acquires: Labelled<Labelled<HotCounter>>;
  readonly renewals: Labelled<HotCounter>;
  readonly waits: Labelled<HotHistogram>;
  readonly enqueued: HotCounter;
  ended(claim: Claim, was: "waiting" | "held"): void;
}

const LEASE_ENDS: readonly EndReason[] = ["released", "expired", "force_released", "lapsed", "cancelled"];
const TICKET_ENDS: readonly EndReason[] = [
  "cancelled",
  "timed_out",
  "lapsed",
  "never_fits",
  "exhausted",
  "status_mismatch",
  "force_released",
];

function classMetrics(registry: Registry, classes: LockClasses): ClassMetrics[] {
  const acquires = hotCounter({
    name: "rowlock_acquires_total",
    help:
      "Requests for a lock, by their first answer: granted, queued, a refusal, or, for a request id that was known, " +
      "what had become of its claim.",
    labelNames: ["class", "mode", "outcome"],
    registry,
  });
  const renewals = hotCounter({
    name: "rowlock_renewals_total",
    help: "Renewals, by outcome: renewed, lost (the lease had ended), not_held (it still waits), unknown.",
    labelNames: ["class", "outcome"],
    registry,
  });
  const waits = hotHistogram({
    name: "rowlock_wait_duration_seconds",
    help: "From the request to the grant, for those who were granted, whether they stood in the queue or not.",
    labelNames: ["class", "queued"],
    buckets: LOCK_SECONDS,
    registry,
  });
  const holds = hotHistogram({
    name: "rowlock_hold_duration_seconds",
    help: "From the grant to the end of a lease, whatever ended it.",
    labelNames: ["class"],
    buckets: LOCK_SECONDS,
    registry,
  });
  const enqueued = hotCounter({
    name: "rowlock_enqueued_total",
    help: "Requests that took a place in a queue.",
    labelNames: ["class"],
    registry,
  });
  const leasesEnded = hotCounter({
    name: "rowlock_leases_ended_total",
    help: "Leases that ended, by reason: released, expired, force_released, lapsed or cancelled (never fetched).",
    labelNames: ["class", "reason"],
    registry,
  });
  const ticketsEnded = hotCounter({
    name: "rowlock_tickets_ended_total",
    help:
      "Waiters that left a queue without the lock, by reason: cancelled, timed_out, lapsed, never_fits, exhausted, " +
      "status_mismatch, force_released.",
    labelNames: ["class", "reason"],
    registry,
  });
  return classes.labels.map((label) => {
    const of = { class: label };
    const held = holds(of);
    const leaseEnds = new Labelled((reason) => leasesEnded({ ...of, reason }), LEASE_ENDS);
    const ticketEnds = new Labelled((reason) => ticketsEnded({ ...of, reason }), TICKET_ENDS);
    return {
      acquires: new Labelled((mode) => new Labelled((outcome) => acquires({ ...of, mode, outcome }))),
      renewals: new Labelled((outcome) => renewals({ ...of, outcome })),
      waits: new Labelled((queued) => waits({ ...of, queued })),
      enqueued: enqueued(of),
      ended(claim, was) {
        const reason: EndReason = claim.endReason ?? "released";
        if (was === "waiting") ticketEnds.of(reason).inc();
        else {
          leaseEnds.of(reason).inc();
          held.observe(Math.max(0, (claim.endedAtUs ?? 0) - (claim.grantedAtUs ?? 0)) / 1e6);
        }
      },
    };
  });
}
