// The metrics: what they count, that their names follow the conventions, and that no lock name becomes a label.

import { Registry } from "prom-client";
import { describe, expect, test, vi } from "vitest";
import { CLASS_OTHER } from "../../server/config/settings.ts";
import type { BoundUse } from "../../server/core/bound-use.ts";
import { type Claim, SPENDS } from "../../server/core/claim.ts";
import type { Command, Event, Outcome } from "../../server/core/command.ts";
import type { Lock } from "../../server/core/lock.ts";
import { poolName } from "../../server/core/pools.ts";
import type { EngineObserver } from "../../server/engine/answers.ts";
import type { StoreSource } from "../../server/metrics/metrics.ts";
import { Metrics } from "../../server/metrics/metrics.ts";
import { ByLabel, LockClasses } from "../../server/metrics/series.ts";
import { METRICS } from "../../server/metrics/table.ts";
import type { StoreObserver } from "../../server/storage/store.ts";
import { ACQUIRE, CLAIM, FREE_LOCK, RECORD } from "../support/claims.ts";

const LOCK: Lock = {
  ...{ ...FREE_LOCK, name: "etl/orders", limit: 3, limitVersion: 1n, nextTicket: 5n, lastToken: 4n },
  ...{ heldPermits: 2, holders: 2, waiting: 1, waitingPermits: 1, revision: 9n },
};

const REPLICA = { id: 1n, address: "127.0.0.1:1", version: "1", secret: "" };
const registered = (deadlineUs: number) => ({
  ...{ ...REPLICA, sinceUs: 0, rulesRevision: 0n, level: 0, deadlineUs },
});

function source(over: Partial<StoreSource> = {}): StoreSource {
  return {
    busyLocks: async (see) =>
      see([
        { lock: LOCK, firstHolderLabels: { team: "etl" }, oldestWaiterSinceUs: (Date.now() - 5_000) * 1_000 },
      ]),
    furtherClaims: async (see) =>
      see([
        { labels: { team: "web" }, state: "held" },
        { labels: { team: "etl" }, state: "waiting" },
        { labels: { host: "a1" }, state: "waiting" },
      ]),
    limitRules: async () => [],
    find: async () => new Map(),
    views: async () => [],
    historyStats: async () => ({ rows: 12, overdueUs: 2_500_000 }),
    replicas: async () => ({ nowUs: 5, replicas: [registered(10), registered(6), registered(5)] }),
    servers: () => [],
    bounds: () => [{ bound: "database_connections", kind: "turns", used: 6, max: 10 }],
    ...over,
  };
}

const LIMIT = { limit: 1, source: "default", pattern: "", version: 0n, reason: "" } as const;

/** Reports answers, and events at `etl/orders` by default. */
function reporting(engine: EngineObserver) {
  return {
    answered: (command: Command, outcome: Outcome, lockName: string) =>
      engine({ kind: "answered", command, outcome, lockName, seconds: 0.002 }),
    event: (event: Event, lockName = "etl/orders") => engine({ kind: "event", event, lockName }),
  };
}

/** Metrics after everything was reported once, through the reporters' interfaces. */
function reported(over: Partial<StoreSource> = {}): Metrics {
  const metrics = new Metrics({ classes: ["etl/*"], label: "team", nodeMetrics: false });
  const engine: EngineObserver = metrics.engine;
  const store: StoreObserver = metrics.store;
  const { answered, event } = reporting(engine);
  answered(ACQUIRE, { kind: "held", claim: CLAIM }, "etl/orders");
  answered(ACQUIRE, { kind: "refused", reason: "busy", limit: LIMIT }, "web/1");
  answered({ verb: "renew", ref: CLAIM, ttlUs: undefined }, { kind: "ended", claim: CLAIM }, "web/1");
  event({ kind: "granted", claim: CLAIM, waitedUs: 1_000_000, queued: true });
  event({ kind: "enqueued", claim: CLAIM });
  event({ kind: "ended", claim: CLAIM, was: "held" });
  event({ kind: "ended", claim: { ...CLAIM, endReason: "timed_out" }, was: "waiting" }, "web/1");
  event({ kind: "limit_set", lock: LOCK, from: { limit: null, rate: null, queueRules: null } });
  const record = { ...RECORD, attemptsLeft: 3, version: 7n };
  for (const change of ["set", "deleted"] as const)
    event({ kind: "record_changed", change, lockId: 1n, record });
  engine({
    kind: "limit_rule_set",
    isPool: false,
    prefix: "etl/",
    set: { limit: 3 },
    version: 1n,
    reason: "",
    serversBehind: 0,
    caller: undefined,
  });
  engine({ kind: "batch", commands: 7, locks: 3 });
  engine({ kind: "retried", cause: "deadlock" });
  engine({ kind: "clock_jumped", byUs: -2_000_000 });
  engine({ kind: "failed_over", pauseUs: 1_000_000 });
  engine({ kind: "captured", outcome: "some", refused: 2 });
  engine({ kind: "watch_opened" });
  engine({ kind: "watch_sent", locks: 5, deleted: 1 });
  engine({ kind: "watch_began_anew", cause: "outage" });
  engine({ kind: "loop_failed", loop: "sweep", error: new Error("away") });
  engine({ kind: "checked", findings: [] });
  engine({ kind: "deleted", what: "ended_claims", rows: 7 });
  store.statement("lock.take", 0.0004);
  store.transaction(0.003, 2, "committed");
  store.connection("opened");
  metrics.calls.call("Acquire", "OK", 0.002, "call");
  metrics.calls.streamOpened();
  metrics.observeStore(source(over), { version: "1.2.3", node: "26", database: "MariaDB 10.11" });
  metrics.observeReadiness({ latest: { ready: true } });
  metrics.filesRead({ kind: "first", what: "certificate" });
  metrics.certificatesInForce([{ file: "certificate", end: new Date(2_000_000_000_000) }]);
  return metrics;
}

/** Kind, name without its prefix, labels. */
const RELIED_ON = `
  counter acquires_total class mode outcome
  counter capture_refusals_total
  counter captures_total outcome
  counter clock_jumps_total direction
  counter connection_events_total event
  counter database_moves_total
  counter deleted_rows_total what
  counter enqueued_total class
  counter fail_overs_total
  counter grpc_calls_total code method via
  counter leases_ended_total class reason
  counter limit_changes_total target
  counter loop_failures_total loop
  counter pokes_total event
  counter record_changes_total change
  counter renewals_total class outcome
  counter session_bytes_total direction
  counter tickets_ended_total class reason
  counter transaction_retries_total cause
  counter watch_locks_told_total event
  counter watches_begun_anew_total cause
  gauge bound_max bound kind
  gauge bound_used bound kind
  gauge build_info database node version
  gauge busy_locks class
  gauge certificate_expires_timestamp_seconds file
  gauge database_server_chosen address
  gauge database_server_usable address
  gauge grpc_open_streams
  gauge held_permits class
  gauge history_overdue_seconds
  gauge history_rows
  gauge holders_by_label label value
  gauge invariant_findings check
  gauge job_failures job_name
  gauge job_last_success_timestamp_seconds job_name
  gauge job_ok_within_seconds job_name
  gauge limit_permits class
  gauge lock_gauges_complete
  gauge oldest_waiter_age_seconds class
  gauge pool_held_permits pool
  gauge pool_limit pool
  gauge pool_waiting pool
  gauge ready
  gauge reload_failed file
  gauge reload_success_timestamp_seconds file
  gauge replicas
  gauge waiters class
  gauge waiters_by_label label value
  histogram command_duration_seconds verb
  histogram grpc_call_duration_seconds method
  histogram hold_duration_seconds class
  histogram session_duration_seconds code
  histogram session_message_items direction
  histogram statement_duration_seconds statement
  histogram transaction_commands
  histogram transaction_duration_seconds outcome
  histogram transaction_locks
  histogram transaction_round_trips
  histogram wait_duration_seconds class queued
`;

interface Family {
  readonly type: string;
  readonly help: string;
}

/** The families and lines of an exposition. */
async function scrape(metrics: Metrics): Promise<{ families: Map<string, Family>; lines: string[] }> {
  const families = new Map<string, Family>();
  const lines: string[] = [];
  let help = "";
  for (const line of (await metrics.render()).text.split("\n")) {
    const words = line.split(" ");
    if (line.startsWith("# HELP")) help = words.slice(3).join(" ");
    else if (line.startsWith("# TYPE")) families.set(words[2] as string, { type: words[3] as string, help });
    else if (line !== "") lines.push(line);
  }
  return { families, lines };
}

describe("the counters", () => {
  test("count claims by outcome, mode and class", async () => {
    const { lines } = await scrape(reported());
    expect(lines).toEqual(
      expect.arrayContaining([
        'rowlock_acquires_total{class="etl/*",mode="permit",outcome="granted"} 1',
        'rowlock_acquires_total{class="other",mode="permit",outcome="busy"} 1',
        'rowlock_renewals_total{class="other",outcome="lost"} 1',
        'rowlock_enqueued_total{class="etl/*"} 1',
        'rowlock_leases_ended_total{class="etl/*",reason="expired"} 1',
        'rowlock_tickets_ended_total{class="other",reason="timed_out"} 1',
        'rowlock_wait_duration_seconds_sum{class="etl/*",queued="true"} 1',
        'rowlock_hold_duration_seconds_sum{class="etl/*"} 3',
        'rowlock_limit_changes_total{target="name"} 1',
        'rowlock_limit_changes_total{target="pattern"} 1',
        'rowlock_record_changes_total{change="set"} 1',
        'rowlock_record_changes_total{change="deleted"} 1',
      ]),
    );
  });

  test("count a claim for several locks at each of them", async () => {
    const metrics = new Metrics({ classes: ["etl/*"], nodeMetrics: false });
    const { answered } = reporting(metrics.engine);
    const member = (name: string, mode: Claim["mode"]) => ({
      ...{ lockId: 1n, ticketNumber: 1n, fencingToken: 1n },
      ...{ name, mode, permits: 1 },
    });
    const members = [member("etl/a", "permit"), member("web/b", "shared"), member("etl/c", "exclusive")];
    answered({ ...ACQUIRE, also: members.slice(1) }, { kind: "held", claim: { ...CLAIM, members } }, "etl/a");
    const renewal = { verb: "renew", ref: CLAIM, ttlUs: undefined } as const;
    answered(renewal, { kind: "held", claim: { ...CLAIM, members } }, "etl/a");
    const { lines } = await scrape(metrics);
    expect(lines).toEqual(
      expect.arrayContaining([
        'rowlock_acquires_total{class="etl/*",mode="permit",outcome="granted"} 1',
        'rowlock_acquires_total{class="etl/*",mode="exclusive",outcome="granted"} 1',
        'rowlock_acquires_total{class="other",mode="shared",outcome="granted"} 1',
        'rowlock_renewals_total{class="etl/*",outcome="renewed"} 2',
        'rowlock_renewals_total{class="other",outcome="renewed"} 1',
      ]),
    );
  });

  test("distinguish repeated requests from new ones", async () => {
    const metrics = new Metrics({ classes: [], nodeMetrics: false });
    const earlier = { ...CLAIM, secret: "another" };
    const { answered } = reporting(metrics.engine);
    answered(ACQUIRE, { kind: "held", claim: earlier }, "x");
    answered(ACQUIRE, { kind: "waiting", claim: earlier, place: null }, "x");
    const { lines } = await scrape(metrics);
    expect(lines).toContain('rowlock_acquires_total{class="other",mode="permit",outcome="granted_before"} 1');
    expect(lines).toContain('rowlock_acquires_total{class="other",mode="permit",outcome="queued_before"} 1');
  });

  test("distinguish spends from repeated requests of claims that have ended, and from leases that were held", async () => {
    const metrics = new Metrics({ classes: [], nodeMetrics: false });
    const spent: Claim = { ...CLAIM, ttlUs: SPENDS, endReason: "spent" };
    const { answered, event } = reporting(metrics.engine);
    const spend = { ...ACQUIRE, ttlUs: SPENDS };
    event({ kind: "granted", claim: spent, waitedUs: 0, queued: false }, "x");
    event({ kind: "ended", claim: spent, was: "held" }, "x");
    answered(spend, { kind: "ended", claim: spent }, "x");
    answered(spend, { kind: "ended", claim: { ...spent, secret: "another" } }, "x");
    answered(ACQUIRE, { kind: "ended", claim: CLAIM }, "x");
    const { lines } = await scrape(metrics);
    for (const outcome of ["spent", "spent_before", "ended"])
      expect(lines).toContain(`rowlock_acquires_total{class="other",mode="permit",outcome="${outcome}"} 1`);
    expect(lines).toContain('rowlock_leases_ended_total{class="other",reason="spent"} 1');
    expect(lines).toContain('rowlock_hold_duration_seconds_count{class="other"} 0');
  });

  test("count transactions, calls and background work", async () => {
    const { lines } = await scrape(reported());
    expect(lines).toEqual(
      expect.arrayContaining([
        "rowlock_transaction_commands_sum 7",
        "rowlock_transaction_locks_sum 3",
        "rowlock_transaction_round_trips_sum 2",
        'rowlock_transaction_duration_seconds_count{outcome="committed"} 1',
        'rowlock_transaction_retries_total{cause="deadlock"} 1',
        "rowlock_fail_overs_total 1",
        'rowlock_statement_duration_seconds_count{statement="lock.take"} 1',
        'rowlock_connection_events_total{event="opened"} 1',
        'rowlock_clock_jumps_total{direction="behind"} 1',
        'rowlock_loop_failures_total{loop="sweep"} 1',
        'rowlock_deleted_rows_total{what="ended_claims"} 7',
        'rowlock_deleted_rows_total{what="idle_locks"} 0',
        'rowlock_grpc_calls_total{method="Acquire",via="call",code="OK"} 1',
        "rowlock_grpc_open_streams 1",
        'rowlock_captures_total{outcome="some"} 1',
        "rowlock_capture_refusals_total 2",
        'rowlock_watch_locks_told_total{event="stands"} 5',
        'rowlock_watch_locks_told_total{event="deleted"} 1',
        'rowlock_watches_begun_anew_total{cause="outage"} 1',
        'rowlock_build_info{version="1.2.3",node="26",database="MariaDB 10.11"} 1',
        'rowlock_bound_used{bound="database_connections",kind="turns"} 6',
        'rowlock_bound_max{bound="database_connections",kind="turns"} 10',
      ]),
    );
  });
});

test("rare events are counted from 0, so that the first one is an increase", async () => {
  const { lines } = await scrape(new Metrics({ classes: ["etl/*"], nodeMetrics: false }));
  expect(lines).toEqual(
    expect.arrayContaining([
      'rowlock_leases_ended_total{class="etl/*",reason="expired"} 0',
      'rowlock_tickets_ended_total{class="other",reason="timed_out"} 0',
      'rowlock_limit_changes_total{target="pattern"} 0',
      "rowlock_fail_overs_total 0",
      'rowlock_transaction_retries_total{cause="deadlock"} 0',
      'rowlock_clock_jumps_total{direction="ahead"} 0',
      'rowlock_loop_failures_total{loop="poll"} 0',
      'rowlock_connection_events_total{event="destroyed"} 0',
    ]),
  );
});

test("the runs of jobs are gauges, also of one of which nothing is known", async () => {
  const jobs = [
    { name: "cron/nightly", okWithinMs: 93_600_000 },
    { name: "cron/never", okWithinMs: 60_000 },
  ];
  const metrics = new Metrics({ classes: [], nodeMetrics: false, jobs });
  const run = {
    owner: "a",
    fencingToken: 7n,
    grantedAtUs: 1,
    endedAtUs: 2_000_000_500_000,
    end: "released",
    status: "",
  } as const;
  const record = { ...RECORD, lastSuccess: run, failures: 3 };
  const found = source({
    find: async (names) => {
      expect(names).toEqual(["cron/nightly", "cron/never"]);
      return new Map([["cron/nightly", 5n]]);
    },
    views: async (ids) =>
      ids.length === 0
        ? []
        : [{ lock: { ...FREE_LOCK, name: "cron/nightly", record }, holders: [], waiters: [] }],
  });
  metrics.observeStore(found, { version: "", node: "", database: "" });
  expect((await scrape(metrics)).lines.filter((line) => line.startsWith("rowlock_job_"))).toEqual([
    'rowlock_job_last_success_timestamp_seconds{job_name="cron/nightly"} 2000000.5',
    'rowlock_job_last_success_timestamp_seconds{job_name="cron/never"} 0',
    'rowlock_job_ok_within_seconds{job_name="cron/nightly"} 93600',
    'rowlock_job_ok_within_seconds{job_name="cron/never"} 60',
    'rowlock_job_failures{job_name="cron/nightly"} 3',
    'rowlock_job_failures{job_name="cron/never"} 0',
  ]);
});

test("readiness is a gauge", async () => {
  const rowlockReady = async (ready: boolean) => {
    const metrics = new Metrics({ classes: [], nodeMetrics: false });
    metrics.observeReadiness({ latest: { ready } });
    return (await scrape(metrics)).lines;
  };
  expect(await rowlockReady(true)).toContain("rowlock_ready 1");
  expect(await rowlockReady(false)).toContain("rowlock_ready 0");
});

test("files that are read again have failed until they are in force", async () => {
  const metrics = new Metrics({ classes: [], nodeMetrics: false });
  const series = async () => (await scrape(metrics)).lines.filter((line) => /_reload_|_expires_/.test(line));
  expect(await series()).toEqual([]);
  metrics.filesRead({ kind: "failed", what: "certificate", faults: ["bad"], holds: "nothing" });
  expect(await series()).toEqual(['rowlock_reload_failed{file="certificate"} 1']);
  metrics.filesRead({ kind: "new", what: "certificate" });
  metrics.certificatesInForce([{ file: "certificate", end: new Date(2_000_000_000_000) }]);
  expect(await series()).toEqual([
    'rowlock_reload_failed{file="certificate"} 0',
    expect.stringMatching(/^rowlock_reload_success_timestamp_seconds\{file="certificate"\} \d+/),
    'rowlock_certificate_expires_timestamp_seconds{file="certificate"} 2000000000',
  ]);
});

describe("as OpenMetrics", () => {
  const PROMETHEUS =
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5";

  test("there are the same samples, then the end; and scrapes as text are as before", async () => {
    const metrics = new Metrics({ classes: [], nodeMetrics: true });
    metrics.engine({ kind: "retried", cause: "deadlock" });
    const { text: before } = await metrics.render();
    const open = await metrics.render(PROMETHEUS);
    expect(open.contentType).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
    expect(open.text).toMatch(/\n# EOF\n$/);
    expect(open.text).toContain(
      '# TYPE rowlock_transaction_retries counter\nrowlock_transaction_retries_total{cause="deadlock"} 1\n',
    );
    expect(open.text).toContain("# TYPE process_cpu_seconds counter\nprocess_cpu_seconds_total ");
    expect(open.text.split("# EOF")).toHaveLength(2);
    expect(open.text).not.toMatch(/\n\n|_total_total|^# TYPE \w+_total counter/m);
    const samplesOf = (text: string) =>
      text
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"))
        .map((line) => line.replace(/ [^ ]+$/, ""))
        .sort();
    expect(samplesOf(open.text)).toEqual(samplesOf(before));
    expect(samplesOf((await metrics.render()).text)).toEqual(samplesOf(before));
    expect((await metrics.render()).contentType).toBe(new Registry().contentType);
  });

  test("a bucket has its latest traced call as an exemplar", async () => {
    const metrics = new Metrics({ classes: [], nodeMetrics: false });
    const traced = (traceId: string, seconds: number) =>
      metrics.calls.call("Acquire", "OK", seconds, "call", { traceId, spanId: "b7" });
    traced("a0", 0.002);
    traced("a1", 0.0021);
    metrics.calls.call("Acquire", "OK", 0.0022, "call");
    traced("a2", 90);
    const { text } = await metrics.render(PROMETHEUS);
    const exemplars = text.split("\n").filter((line) => line.includes(" # {"));
    expect(exemplars).toEqual([
      expect.stringMatching(/le="0\.0025"\} 3 # \{trace_id="a1",span_id="b7"\} 0\.0021 \d+\.?\d*$/),
      expect.stringMatching(/le="\+Inf"\} 4 # \{trace_id="a2",span_id="b7"\} 90 \d+\.?\d*$/),
    ]);
    expect((await metrics.render()).text).not.toContain("trace_id");
  });
});

test("a bound is shown while its keeper reports it and there is one", async () => {
  const metrics = new Metrics({ classes: [], nodeMetrics: false });
  let reported: BoundUse[] = [
    { bound: "quota_claims", kind: "client", used: 3, max: 4 },
    { bound: "names_created", kind: "room", used: 3, max: Number.POSITIVE_INFINITY },
  ];
  metrics.observeBounds(() => reported);
  const bounds = async () =>
    (await scrape(metrics)).lines.filter((line) => line.startsWith("rowlock_bound_"));
  expect(await bounds()).toEqual([
    'rowlock_bound_used{bound="quota_claims",kind="client"} 3',
    'rowlock_bound_max{bound="quota_claims",kind="client"} 4',
  ]);
  reported = [];
  expect(await bounds()).toEqual([]);
});

test("findings are counted by what was checked, at the server that checked last", async () => {
  const metrics = new Metrics({ classes: [], nodeMetrics: false });
  const found = async () =>
    (await scrape(metrics)).lines
      .filter((line) => line.startsWith("rowlock_invariant_findings") && !line.endsWith(" 0"))
      .map((line) => line.slice("rowlock_invariant_findings".length));
  const finding = { severity: "error", check: "counters", message: "" } as const;
  metrics.engine({ kind: "checked", findings: [finding, { ...finding, check: "tokens" }, finding] });
  expect(await found()).toEqual(['{check="counters"} 2', '{check="tokens"} 1']);
  metrics.engine({ kind: "checked", findings: [finding] });
  expect(await found()).toEqual(['{check="counters"} 1']);
  metrics.engine({ kind: "not_checked", why: "other_server" });
  expect((await scrape(metrics)).families.has("rowlock_invariant_findings")).toBe(true);
  expect((await metrics.render()).text.includes("rowlock_invariant_findings{")).toBe(false);
});

describe("the gauges of locks", () => {
  test("sum what is busy by class", async () => {
    const { lines } = await scrape(reported());
    expect(lines).toEqual(
      expect.arrayContaining([
        'rowlock_busy_locks{class="etl/*"} 1',
        'rowlock_waiters{class="etl/*"} 1',
        'rowlock_waiters{class="other"} 0',
        'rowlock_held_permits{class="etl/*"} 2',
        'rowlock_limit_permits{class="etl/*"} 3',
        "rowlock_lock_gauges_complete 1",
        "rowlock_replicas 2",
        "rowlock_history_rows 12",
        "rowlock_history_overdue_seconds 2.5",
      ]),
    );
    const age = lines.find((line) => line.startsWith('rowlock_oldest_waiter_age_seconds{class="etl/*"}'));
    expect(Number(age?.split(" ")[1])).toBeCloseTo(5, 0);
  });

  test("count claims by the label that the operator has named, and those of a value no longer than there are some", async () => {
    const byLabel = async (metrics: Metrics) =>
      (await scrape(metrics)).lines.filter((line) => line.includes("_by_label"));
    expect(await byLabel(reported())).toEqual([
      'rowlock_holders_by_label{label="team",value="etl"} 1',
      'rowlock_holders_by_label{label="team",value="web"} 1',
      'rowlock_waiters_by_label{label="team",value="etl"} 1',
      'rowlock_waiters_by_label{label="team",value="web"} 0',
    ]);
    vi.useFakeTimers({ toFake: ["performance"] });
    let values = ["a", "b"];
    const metrics = reported({
      busyLocks: async () => {},
      furtherClaims: async (see) => see(values.map((team) => ({ labels: { team }, state: "held" }))),
    });
    expect(await byLabel(metrics)).toHaveLength(4);
    values = ["b"];
    vi.advanceTimersByTime(10_000);
    expect(await byLabel(metrics)).toEqual([
      'rowlock_holders_by_label{label="team",value="b"} 1',
      'rowlock_waiters_by_label{label="team",value="b"} 0',
    ]);
    vi.useRealTimers();
  });

  test("count pools by their patterns, idle ones too, and those beyond 50 together, apart from locks", async () => {
    const pool = (id: number, name: string, more: Partial<Lock>): Lock => ({
      ...{ ...FREE_LOCK, id: BigInt(id), name: poolName(name), ...more },
    });
    const rule = (prefix: string, poolId: bigint) => ({
      ...{
        prefix,
        poolId,
        limit: null,
        rate: null,
        queueRules: null,
        version: 1n,
        reason: "",
        changeMark: 0n,
      },
    });
    const busy = pool(1, "openai/", { limit: 50, heldPermits: 12, holders: 9, waiting: 3 });
    const withoutLimit = pool(2, "mail/", { limit: null, heldPermits: 1, holders: 1 });
    const idle = pool(3, "idle/", { limit: 5 });
    let crowd: Lock[] = [];
    const metrics = reported({
      busyLocks: async (see) => {
        const entering = { ...LOCK, entering: 1, enteringPermits: 1 };
        const lockOf = (lock: Lock) => ({ lock, firstHolderLabels: null, oldestWaiterSinceUs: null });
        see([entering, busy, withoutLimit, ...crowd].map(lockOf));
      },
      limitRules: async () => [rule("openai/", 1n), rule("mail/", 2n), rule("idle/", 3n)],
      views: async (ids) => {
        const shown = ids.includes(idle.id) ? [idle] : [];
        return shown.map((lock) => ({ lock: { ...lock, record: null }, holders: [], waiters: [] }));
      },
    });
    vi.useFakeTimers({ toFake: ["performance"] });
    const { lines } = await scrape(metrics);
    expect(lines.filter((line) => line.startsWith("rowlock_pool"))).toEqual([
      'rowlock_pool_limit{pool="openai/*"} 50',
      'rowlock_pool_limit{pool="idle/*"} 5',
      'rowlock_pool_held_permits{pool="openai/*"} 12',
      'rowlock_pool_held_permits{pool="mail/*"} 1',
      'rowlock_pool_held_permits{pool="idle/*"} 0',
      'rowlock_pool_waiting{pool="openai/*"} 3',
      'rowlock_pool_waiting{pool="mail/*"} 0',
      'rowlock_pool_waiting{pool="idle/*"} 0',
    ]);
    // One of its two holders waits at a pool.
    expect(lines).toContain('rowlock_waiters{class="etl/*"} 2');
    expect(lines).toContain('rowlock_held_permits{class="etl/*"} 1');
    expect(lines).toContain('rowlock_busy_locks{class="other"} 0');
    crowd = Array.from({ length: 60 }, (_, at) => pool(10 + at, `t${at}/`, { holders: 2, heldPermits: 2 }));
    vi.advanceTimersByTime(10_000);
    const crowded = (await scrape(metrics)).lines.filter((line) => line.startsWith("rowlock_pool_held"));
    expect(crowded).toHaveLength(51);
    expect(crowded).toContain('rowlock_pool_held_permits{pool="openai/*"} 12');
    expect(crowded.at(-1)).toBe('rowlock_pool_held_permits{pool="other"} 23');
    vi.useRealTimers();
  });

  test("are read once for many scrapes", async () => {
    let reads = 0;
    const metrics = reported({
      busyLocks: async () => {
        reads += 1;
      },
    });
    await Promise.all([metrics.render(), metrics.render()]);
    await metrics.render();
    expect(reads).toBe(1);
  });

  test("are left out while the database is away, and the rest is served", async () => {
    const away = () => Promise.reject(new Error("away"));
    const { lines } = await scrape(reported({ busyLocks: away }));
    expect(lines).toContain("rowlock_lock_gauges_complete 0");
    expect(lines).toContain("rowlock_transaction_commands_sum 7");
    expect(lines.filter((line) => /^rowlock_(waiters|history)/.test(line))).toEqual([]);
  });

  test("do not delay a scrape if the database hangs", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const scraped = scrape(reported({ busyLocks: () => new Promise(() => {}) }));
    await vi.advanceTimersByTimeAsync(2_000);
    vi.useRealTimers();
    const { lines } = await scraped;
    expect(lines).toContain("rowlock_lock_gauges_complete 0");
  });

  test("keep the last count for a minute while a new one takes long, and are then left out", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const busyLocks = reportedBusy();
    const metrics = reported({ busyLocks: (see) => busyLocks.count(see) });
    const complete = async () => {
      const scraped = scrape(metrics);
      await vi.advanceTimersByTimeAsync(2_000);
      const { lines } = await scraped;
      return [
        lines.includes("rowlock_lock_gauges_complete 1"),
        lines.includes('rowlock_waiters{class="etl/*"} 1'),
      ];
    };
    expect(await complete()).toEqual([true, true]);
    busyLocks.hangs = true;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await complete()).toEqual([true, true]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await complete()).toEqual([false, false]);
    vi.useRealTimers();
  });

  function reportedBusy() {
    const busy = {
      hangs: false,
      count: async (see: Parameters<StoreSource["busyLocks"]>[0]) => {
        if (busy.hangs) await new Promise(() => {});
        see([{ lock: LOCK, firstHolderLabels: null, oldestWaiterSinceUs: 0 }]);
      },
    };
    return busy;
  }
});

describe("classes", () => {
  test("an exact name beats the longest pattern, which beats other", () => {
    const classes = new LockClasses(["etl/*", "etl/night/*", "etl/night/load", "*x"]);
    const classOf = (name: string) => classes.labels[classes.indexOf(name)];
    expect(classOf("etl/a")).toBe("etl/*");
    expect(classOf("etl/night/a")).toBe("etl/night/*");
    expect(classOf("etl/night/load")).toBe("etl/night/load");
    expect(classOf("ETL/a")).toBe(CLASS_OTHER);
    expect(classOf("")).toBe(CLASS_OTHER);
  });

  test("an unbounded label is cut off", () => {
    const labelled = new ByLabel((value) => value);
    const seen = new Set(Array.from({ length: 1_000 }, (_, index) => labelled.of(`v${index}`)));
    expect(seen.size).toBe(101);
    expect(seen).toContain("other");
  });
});

test("names, kinds and labels are those that dashboards and alerts of users rely on", () => {
  const rows = Object.values(METRICS).map(({ name, kind, labels }) =>
    [kind, name.replace(/^rowlock_/, ""), ...[...labels].sort()].join(" "),
  );
  expect(rows.sort()).toEqual(RELIED_ON.trim().split(/\n\s*/));
});

describe("conventions", () => {
  test("names have the prefix, snake case, base units, and counters end in _total", async () => {
    const { families } = await scrape(reported());
    expect(families.size).toBeGreaterThan(25);
    for (const [name, { type, help }] of families) {
      expect(name).toMatch(/^rowlock(_[a-z]+)+$/);
      expect(name, "base units only").not.toMatch(
        /(_ms|_us|_milliseconds|_minutes|_percent|_kilobytes)(_|$)/,
      );
      expect(name, "no type in the name").not.toMatch(
        /_(counter|gauge|histogram|summary|count|sum|bucket)(_|$)/,
      );
      expect(name.endsWith("_total"), name).toBe(type === "counter");
      expect(help, name).toMatch(/^[A-Z0-9].{9,}\.$/);
    }
  });

  test("no label takes the name of a lock, an owner or a secret", async () => {
    const { text } = await reported().render();
    for (const hidden of ["etl/orders", "web/1", CLAIM.secret]) expect(text).not.toContain(hidden);
  });

  test("Node's own metrics are included on request", async () => {
    const metrics = new Metrics({ classes: [], nodeMetrics: true });
    const { text, contentType } = await metrics.render();
    expect(text).toContain("process_resident_memory_bytes");
    expect(contentType).toBe(new Registry().contentType);
  });
});
