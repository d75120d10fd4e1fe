// The log: it contains no secret, and it contains what operators look for.

import { createHash } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Claim, formatClaimId } from "../../server/core/claim.ts";
import type { Command, Event, Outcome } from "../../server/core/command.ts";
import type { LockRecord } from "../../server/core/lock.ts";
import type { EngineObserver } from "../../server/engine/answers.ts";
import { EventLog } from "../../server/log/event-log.ts";
import { createLog } from "../../server/log/log.ts";
import { OutageLog } from "../../server/log/outage-log.ts";
import { type Finding, StoreError } from "../../server/storage/store.ts";
import { ACQUIRE, CLAIM as ENDED, FREE_LOCK, RECORD } from "../support/claims.ts";
import { KeptSpan } from "../support/kept-span.ts";

const SECRET = "AbCdEfGhIjKlMnOpQr_-12";

const hashOf = (requestId: string) => createHash("sha256").update(requestId).digest("hex").slice(0, 16);

const CLAIM: Claim = {
  ...{ ...ENDED, lockId: 7n, ticketNumber: 9n, secret: SECRET, requestId: "hush-request" },
  ...{ owner: "worker-1", fencingToken: 4n, grantedAtUs: 1, endedAtUs: 2 },
};

function recorded(level = "info") {
  const lines: string[] = [];
  return { lines, log: createLog({ level, write: (line) => lines.push(line) }) };
}

describe("a line", () => {
  test("is JSON with a level, a time and what happened", () => {
    const { lines, log } = recorded();
    log.info({ lock: "etl/orders" }, "limit set");
    expect(JSON.parse(lines[0] as string)).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      lock: "etl/orders",
      msg: "limit set",
    });
  });

  test("holds no secret, in whatever field it stood", () => {
    const { lines, log } = recorded();
    const id = formatClaimId(CLAIM);
    const cause = new Error(`connect mysql://root:hu:s@h@db:3306/x failed for ${id}`);
    log.error({ err: new Error("away", { cause }) }, "failed");
    log.warn({ url: "mysql://root:hush@db/x", claim: CLAIM, deep: { lease_id: id, password: "hush" } }, id);
    log.info({ requestId: 'hush "quoted" hush', ticketId: id, authorization: "Bearer hush" }, "x");
    const text = lines.join("");
    for (const hidden of [SECRET, "hush", "hu:s", "s@h"]) expect(text).not.toContain(hidden);
    expect(text).toContain("mysql://root:***@db");
    expect(text).toContain("7.9.***");
    for (const line of lines) JSON.parse(line);
  });

  test("is left unchanged if there is nothing to hide", () => {
    const { lines, log } = recorded();
    log.info(
      { database: "sqlite:./a.b.db", address: "[::1]:50051", at: "http://127.0.0.1:9464/metrics" },
      "ok",
    );
    expect(lines[0]).not.toContain("***");
  });
});

describe("events", () => {
  const report = (log: EngineObserver) => {
    const event = (event: Event) => log({ kind: "event", event, lockName: "l" });
    const ended = (endReason: Claim["endReason"], was: "held" | "waiting" = "held", endNote = "") =>
      event({ kind: "ended", claim: { ...CLAIM, endReason, endNote }, was });
    event({ kind: "enqueued", claim: CLAIM });
    event({ kind: "granted", claim: CLAIM, waitedUs: 5, queued: true });
    ended("released");
    ended("timed_out", "waiting");
    ended("expired");
    ended("force_released", "held", "stuck");
    log({
      kind: "limit_rule_set",
      isPool: false,
      prefix: "etl/",
      set: { limit: 3 },
      version: 2n,
      reason: "more",
      serversBehind: 0,
      caller: undefined,
    });
    log({ kind: "loop_failed", loop: "sweep", error: new Error("away") });
    log({ kind: "clock_jumped", byUs: 3_600_000_000 });
    log({ kind: "retried", cause: "deadlock" });
    log({ kind: "batch", commands: 1, locks: 1 });
  };
  const messages = (lines: readonly string[]) =>
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg);

  test("at info are those that operators ask about", () => {
    const { lines, log } = recorded();
    report(new EventLog(log, { audit: false, outage: new OutageLog(log) }).observe);
    expect(messages(lines)).toEqual([
      "lease ended",
      "lease ended",
      "limit set",
      "background work failed, and will be tried again",
      "the database's clock jumped",
    ]);
    expect(JSON.parse(lines[1] as string)).toMatchObject({
      lock: "l",
      ticket: "9",
      owner: "worker-1",
      token: "4",
      reason: "force_released",
      note: "stuck",
    });
    expect(lines[2]).toContain('"pattern":"etl/*"');
  });

  test("with an audit include each grant and release at info, without secrets", () => {
    const { lines, log } = recorded();
    report(new EventLog(log, { audit: true, outage: new OutageLog(log) }).observe);
    expect(messages(lines).slice(0, 3)).toEqual(["granted", "lease ended", "lease ended"]);
    const told = { lock: "l", ticket: "9", owner: "worker-1", token: "4", mode: "permit", permits: 1 };
    expect(JSON.parse(lines[0] as string)).toEqual({
      ...told,
      level: "info",
      time: expect.any(String),
      requestHash: hashOf("hush-request"),
      waitedMs: 0.005,
      msg: "granted",
    });
    expect(JSON.parse(lines[1] as string)).toMatchObject({ ...told, level: "info", reason: "released" });
    expect(messages(lines)).not.toContain("queued");
    expect(messages(lines)).not.toContain("left the queue");
    for (const hidden of [SECRET, "hush"]) expect(lines.join("")).not.toContain(hidden);
  });

  test("at debug are all", () => {
    const { lines, log } = recorded("debug");
    report(new EventLog(log, { audit: false, outage: new OutageLog(log) }).observe);
    expect(messages(lines)).toEqual(
      expect.arrayContaining(["queued", "granted", "left the queue", "transaction repeated"]),
    );
    expect(lines.join("")).not.toContain(SECRET);
  });
});

const TODO: LockRecord = { ...RECORD, status: "todo", version: 7n };

describe("the caller", () => {
  const from = (address: string) => ({ caller: { getPeer: () => address } });
  const acquire = (claim: Claim) => ({ ...ACQUIRE, secret: claim.secret, ...from("asker") });
  const observing = ({ observe }: Pick<EventLog, "observe">) => ({
    answered: (command: Command, outcome: Outcome) =>
      observe({ kind: "answered", command, outcome, lockName: "l", seconds: 0 }),
    event: (event: Event, lockName: string) => observe({ kind: "event", event, lockName }),
  });
  const audited = () => {
    const { lines, log } = recorded();
    return { lines, events: observing(new EventLog(log, { audit: true, outage: new OutageLog(log) })) };
  };
  const peers = (lines: readonly string[]) =>
    lines
      .map((line) => JSON.parse(line) as { msg: string; peer?: string })
      .map(({ msg, peer }) => [msg, peer]);

  test("of a grant is the requester, even after a wait; that of an end is whoever ended it", () => {
    const { lines, events } = audited();
    const other = { ...CLAIM, ticketNumber: 10n };
    events.event({ kind: "granted", claim: CLAIM, waitedUs: 0, queued: false, ...from("asker") }, "l");
    events.answered(acquire(other), { kind: "waiting", claim: other, place: null });
    events.event({ kind: "enqueued", claim: other, ...from("asker") }, "l");
    const released: Claim = { ...CLAIM, endReason: "released" };
    events.event({ kind: "ended", claim: released, was: "held", ...from("holder") }, "l");
    events.event({ kind: "granted", claim: other, waitedUs: 5, queued: true }, "l");
    events.event({ kind: "ended", claim: other, was: "held" }, "l");
    expect(peers(lines)).toEqual([
      ["granted", "asker"],
      ["lease ended", "holder"],
      ["granted", "asker"],
      ["lease ended", undefined],
    ]);
  });

  test("of a line is known by its trace, if the call is traced", () => {
    const { lines, events } = audited();
    const traced = (name: string) => ({ caller: { getPeer: () => name, span: new KeptSpan(name) } });
    const other = { ...CLAIM, ticketNumber: 10n };
    const asked = { ...ACQUIRE, secret: other.secret, ...traced("waiter") };
    events.answered(asked, { kind: "waiting", claim: other, place: null });
    const released: Claim = { ...CLAIM, endReason: "released" };
    events.event({ kind: "ended", claim: released, was: "held", ...traced("holder") }, "l");
    events.event({ kind: "granted", claim: other, waitedUs: 5, queued: true }, "l");
    events.event({ kind: "ended", claim: other, was: "held", ...from("untraced") }, "l");
    const ids = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(ids.map(({ msg, trace_id, span_id }) => [msg, trace_id, span_id])).toEqual([
      ["lease ended", "trace of holder", "span of holder"],
      ["granted", "trace of waiter", "span of waiter"],
      ["lease ended", undefined, undefined],
    ]);
  });

  test("of a grant after a wait is the client that came back to the place last, and none once the wait has ended", () => {
    const { lines, events } = audited();
    const granted = { kind: "granted", claim: CLAIM, waitedUs: 5, queued: true } as const;
    const attach = { verb: "attach", ref: CLAIM, replica: 1n } as const;
    const waiting = { kind: "waiting", claim: CLAIM, place: null } as const;
    events.answered(acquire(CLAIM), waiting);
    events.answered({ ...attach, ...from("new connection") }, waiting);
    events.event(granted, "l");
    events.answered({ ...attach, ...from("new connection") }, waiting);
    events.event({ kind: "ended", claim: { ...CLAIM, endReason: "lapsed" }, was: "waiting" }, "l");
    events.event(granted, "l");
    expect(peers(lines)).toEqual([
      ["granted", "new connection"],
      ["granted", undefined],
    ]);
  });

  test("of each lock of a claim for several is the requester, and its line names the others", () => {
    const { lines, events } = audited();
    const member = (name: string, lockId: bigint) => ({
      ...{ lockId, ticketNumber: 9n, name, mode: "permit" as const, permits: 1, fencingToken: 4n },
    });
    const members = [member("a", 7n), member("b", 3n)];
    const lead = { ...CLAIM, members };
    const further = { ...CLAIM, members, lockId: 3n, requestId: "\0of the server" };
    events.answered(acquire(lead), { kind: "waiting", claim: lead, place: null });
    events.event({ kind: "granted", claim: further, waitedUs: 5, queued: true }, "b");
    events.event({ kind: "granted", claim: lead, waitedUs: 5, queued: true }, "a");
    expect(peers(lines)).toEqual([
      ["granted", "asker"],
      ["granted", "asker"],
    ]);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { lock: "b", also: ["a"] },
      { lock: "a", also: ["b"], requestHash: hashOf("hush-request") },
    ]);
  });

  test("of a change of a record is the client that set or deleted it", () => {
    const { lines, events } = audited();
    const second: LockRecord = { ...TODO, version: 8n, notBeforeUs: 1_800_000_000_000_000, attemptsLeft: 2 };
    const changed = (change: "set" | "deleted", lockId: bigint, record: LockRecord, by: string) =>
      events.event({ kind: "record_changed", change, lockId, record, ...from(by) }, "l");
    changed("set", 1n, TODO, "scheduler");
    changed("set", 1n, second, "other");
    changed("deleted", 2n, TODO, "operator");
    events.event({ kind: "ended", claim: CLAIM, was: "held", record: second }, "l");
    expect(peers(lines)).toEqual([
      ["record set", "scheduler"],
      ["record set", "other"],
      ["record deleted", "operator"],
      ["lease ended", undefined],
    ]);
    const told = { status: "todo", notBefore: "2027-01-15T08:00:00.000Z", attemptsLeft: 2, version: "8" };
    for (const at of [1, 3]) expect(JSON.parse(lines[at] as string)).toMatchObject(told);
  });

  test("of a rate is logged beside the limit if it has changed, and a spend is no end that operators ask about", () => {
    const { lines, log } = recorded();
    const { observe } = new EventLog(log, { audit: false, outage: new OutageLog(log) });
    const { event } = observing({ observe });
    const rate = { permits: 500, perUs: 60_000_000, burst: 20 };
    const lock = { ...FREE_LOCK, limit: 3, rate, limitVersion: 2n };
    event({ kind: "limit_set", lock, from: { limit: 3, rate: null, queueRules: null } }, "l");
    event({ kind: "limit_set", lock, from: { limit: 2, rate, queueRules: null } }, "l");
    for (const [isPool, set] of [
      [false, { rate }],
      [false, { rate: null, limit: 4 }],
      [true, { limit: 50 }],
    ] as const)
      observe({
        ...{
          kind: "limit_rule_set",
          isPool,
          prefix: "etl/",
          set,
          version: 2n,
          reason: "",
          serversBehind: 0,
        },
        caller: undefined,
      });
    event({ kind: "ended", claim: { ...CLAIM, endReason: "spent" }, was: "held" }, "l");
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { from: 3, to: 3, rateFrom: null, rate: "500 per 60 s, burst 20" },
      { from: 2, to: 3 },
      { pattern: "etl/*", rate: "500 per 60 s, burst 20" },
      { pattern: "etl/*", to: 4, rate: null },
      { pool: "etl/*", to: 50 },
    ]);
    expect(lines).toHaveLength(5);
    expect(lines[1]).not.toContain("rate");
    expect(lines[2]).not.toContain('"to"');
  });

  test("of an operator's action is logged even without an audit", () => {
    const { lines, log } = recorded();
    const { observe } = new EventLog(log, { audit: false, outage: new OutageLog(log) });
    const ended: Claim = { ...CLAIM, endReason: "force_released" };
    observing({ observe }).event({ kind: "ended", claim: ended, was: "held", ...from("operator") }, "l");
    observe({
      kind: "limit_rule_set",
      isPool: false,
      prefix: "etl/",
      set: { limit: 3 },
      version: 2n,
      reason: "more",
      serversBehind: 0,
      caller: { getPeer: () => "operator" },
    });
    expect(peers(lines)).toEqual([
      ["lease ended", "operator"],
      ["limit set", "operator"],
    ]);
  });
});

describe("a loop that goes on failing", () => {
  afterEach(() => vi.useRealTimers());
  const busy = (reason: string) => new StoreError("unavailable", reason, "The database is busy.");

  test("is logged at once and then seldom, with the number of failures in between", () => {
    vi.useFakeTimers();
    const { lines, log } = recorded();
    const events = new EventLog(log, { audit: false, outage: new OutageLog(log) });
    for (let tick = 0; tick < 201; tick++) {
      events.observe({ kind: "loop_failed", loop: "poll", error: busy("pool_exhausted") });
      vi.advanceTimersByTime(100);
    }
    expect(lines.map((line) => (JSON.parse(line) as { suppressed: number }).suppressed)).toEqual([0, 99, 99]);
  });

  test("does not hide another one, or another reason", () => {
    const { lines, log } = recorded();
    const events = new EventLog(log, { audit: false, outage: new OutageLog(log) });
    for (let round = 0; round < 3; round++) {
      events.observe({ kind: "loop_failed", loop: "poll", error: busy("pool_exhausted") });
      events.observe({ kind: "loop_failed", loop: "sweep", error: busy("pool_exhausted") });
      events.observe({ kind: "loop_failed", loop: "poll", error: busy("deadlock") });
      events.observe({ kind: "loop_failed", loop: "poll", error: new Error("a bug") });
    }
    expect(lines).toHaveLength(4);
  });
});

test("damaged rows are logged once for each finding, until it is gone", () => {
  const { lines, log } = recorded();
  const { observe } = new EventLog(log, { audit: false, outage: new OutageLog(log) });
  const [one, other] = ["of a", "of b"].map((message) => ({
    severity: "error" as const,
    check: "counters",
    message,
  })) as [Finding, Finding];
  for (const findings of [[one], [one, other], [one], [], [one]]) observe({ kind: "checked", findings });
  observe({ kind: "not_checked", why: "other_server" });
  const said = lines.map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
  expect(said.map(({ level, finding, msg }) => `${level} ${finding ?? msg}`)).toEqual([
    "error of a",
    "error of b",
    "info the rows agree with each other again",
    "error of a",
  ]);
  expect(said[0]).toMatchObject({ check: "counters", msg: "the rows are damaged: run `rowlock doctor`" });
  observe({ kind: "not_checked", why: "too_much" });
  expect(lines.at(-1)).toContain("too much to check");
});
