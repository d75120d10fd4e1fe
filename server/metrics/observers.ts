// Adds what the engine, the store and gRPC report to the series of the table. Runs on the hot path and never throws.

import type { Acquire, Command, Event, Outcome } from "../core/command.ts";
import type { EngineObserver } from "../engine/answers.ts";
import type { CallObserver } from "../grpc/call-observer.ts";
import type { StoreObserver } from "../storage/store.ts";
import { type AllSeries, INVARIANTS } from "./table.ts";

export function engineObserver(series: AllSeries): EngineObserver {
  return (event) => {
    switch (event.kind) {
      case "batch":
        series.transactionCommands.observe(event.commands);
        series.transactionLocks.observe(event.locks);
        return;
      case "answered":
        answered(series, event.command, event.outcome, event.lockName);
        series.commandSeconds.of(event.command.verb).observe(event.seconds);
        return;
      case "event":
        happened(series, event.event, event.lockName);
        return;
      case "limit_rule_set":
        series.limitChanges.of("pattern").inc();
        return;
      case "retried":
        series.transactionRetries.of(event.cause).inc();
        return;
      case "clock_jumped":
        series.clockJumps.of(event.byUs > 0 ? "ahead" : "behind").inc();
        return;
      case "failed_over":
        series.failOvers.inc();
        return;
      case "captured":
        series.captures.of(event.outcome).inc();
        series.captureRefusals.inc(event.refused);
        return;
      case "watch_sent":
        series.watchLocks.of("stands").inc(event.locks);
        series.watchLocks.of("deleted").inc(event.deleted);
        return;
      case "watch_began_anew":
        series.watchesBegunAnew.of(event.cause).inc();
        return;
      case "deleted":
        series.deletedRows.of(event.what).inc(event.rows);
        return;
      case "checked":
        checked(series, event.findings);
        return;
      case "not_checked":
        series.invariantFindings.replace([]);
        return;
      case "loop_failed":
        series.loopFailures.of(event.loop).inc();
        return;
    }
  };
}

function checked({ invariantFindings }: AllSeries, findings: readonly { readonly check: string }[]): void {
  const counts = new Map(INVARIANTS.map((check) => [check, 0]));
  for (const { check } of findings) counts.set(check, (counts.get(check) ?? 0) + 1);
  invariantFindings.replace([...counts].map(([check, value]) => ({ labels: { check }, value })));
}

function answered(series: AllSeries, command: Command, outcome: Outcome, lockName: string): void {
  if (command.verb === "acquire")
    series.acquires.of(lockName).of(command.mode).of(acquireOutcome(command, outcome)).inc();
  else if (command.verb === "renew")
    series.renewals
      .of(lockName)
      .of(RENEWALS[outcome.kind] ?? outcome.kind)
      .inc();
}

const RENEWALS: Partial<Record<Outcome["kind"], string>> = {
  held: "renewed",
  waiting: "not_held",
  ended: "lost",
  unknown_claim: "unknown",
};

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

function happened(series: AllSeries, event: Event, lockName: string): void {
  switch (event.kind) {
    case "granted":
      series.waitSeconds
        .of(lockName)
        .of(event.queued ? "true" : "false")
        .observe(event.waitedUs / 1e6);
      return;
    case "enqueued":
      series.enqueued.of(lockName).inc();
      return;
    case "ended": {
      const { endReason, endedAtUs, grantedAtUs } = event.claim;
      const ends = event.was === "waiting" ? series.ticketsEnded : series.leasesEnded;
      ends
        .of(lockName)
        .of(endReason ?? "released")
        .inc();
      if (event.was === "held")
        series.holdSeconds.of(lockName).observe(Math.max(0, (endedAtUs ?? 0) - (grantedAtUs ?? 0)) / 1e6);
      return;
    }
    case "limit_set":
      series.limitChanges.of("name").inc();
      return;
    case "record_changed":
      series.recordChanges.of(event.change).inc();
      return;
  }
}

export function storeObserver(series: AllSeries): StoreObserver {
  return {
    statement: (name, seconds) => series.statementSeconds.of(name).observe(seconds),
    transaction(seconds, roundTrips, outcome) {
      series.transactionSeconds.of(outcome).observe(seconds);
      series.roundTrips.observe(roundTrips);
    },
    connection: (event) => series.connectionEvents.of(event).inc(),
    servers(event) {
      if (event.kind === "moved" && event.from !== null) series.databaseMoves.inc();
    },
  };
}

export function callObserver(series: AllSeries): CallObserver {
  return {
    call(method, code, seconds, via, span) {
      series.calls.of(method).of(via).of(code).inc();
      series.callSeconds.of(method).observe(seconds, span);
    },
    streamOpened: () => series.openStreams.inc(),
    streamClosed: () => series.openStreams.inc(-1),
    sessionClosed: (code, seconds) => series.sessionSeconds.of(code).observe(seconds),
    poke: (event, claims) => series.pokes.of(event).inc(claims),
    sessionMessage(direction, items, bytes) {
      series.messageItems.of(direction).observe(items);
      series.sessionBytes.of(direction).inc(bytes);
    },
  };
}
