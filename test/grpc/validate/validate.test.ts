// What each request must be: one table per message, mapping a change to a good request to its violations.

import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { LeaseTermsSchema, Mode } from "#proto/rowlock/v1/lock_pb.js";
import * as requests from "#proto/rowlock/v1/lock_service_pb.js";
import { ListOrder } from "#proto/rowlock/v1/lock_service_pb.js";
import { SPENDS } from "../../../server/core/claim.ts";
import { CallError } from "../../../server/grpc/messages/call-error.ts";
import { checkAcquire } from "../../../server/grpc/methods/acquire.ts";
import { checkCapture } from "../../../server/grpc/methods/capture.ts";
import { Check as FieldChecks } from "../../../server/grpc/methods/fields.ts";
import {
  checkListLimits,
  checkListLocks,
  limitsTokenAfter,
  pageTokenAfter,
} from "../../../server/grpc/methods/listings.ts";
import {
  checkDeleteRecord,
  checkForceRelease,
  checkSetLimit,
  checkUpdateRecord,
} from "../../../server/grpc/methods/operators.ts";
import {
  checkRelease,
  checkRenew,
  checkRenewLeases,
} from "../../../server/grpc/methods/renew-and-release.ts";
import { checkWaitInQueue } from "../../../server/grpc/methods/wait-in-queue.ts";
import { checkOpen, checkTimeout } from "../../../server/grpc/session/session.ts";

const DAY_S = 86_400;
const span = (seconds: number | bigint, nanos = 0) => ({ seconds: BigInt(seconds), nanos });
/** Terms of a lease that lasts so long. */
const ttl = (value: ReturnType<typeof span>) => ({ lasting: { case: "ttl", value } }) as const;
const withTtl = (seconds: number, nanos?: number) => ({ name: "a", terms: ttl(span(seconds, nanos)) });
const named = (value: string) => ({ target: { case: "name" as const, value } });
const prefix = (value: string) => ({ from: { case: "prefix" as const, value }, maxLeases: 1 });
const names = (value: string[]) => ({
  from: { case: "names" as const, value: { names: value } },
  maxLeases: 1,
});
const limit = (value: number) => ({ newLimit: { case: "limit" as const, value } });
const unset = { newLimit: { case: "unsetLimit" as const, value: {} } };
const waiting = (of: "enqueue" | "wait", seconds: number, nanos?: number) => ({
  name: "a",
  whenBusy: { case: of, value: { maxWait: span(seconds, nanos) } },
});
const notBefore = (seconds: number | bigint, nanos?: number) => ({
  newNotBefore: { case: "notBefore" as const, value: span(seconds, nanos) },
});
const ID = "1.z.abcdefghijklmnopqrstuv";
const REF = { lockId: 1n, ticketNumber: 35n, secret: "abcdefghijklmnopqrstuv" };
const DURATION = /is not a valid Duration/;
const REQUIRED = /^is required/;

type Row<Schema extends DescMessage> = [
  title: string,
  request: MessageInitShape<Schema>,
  violations: Record<string, RegExp | string>,
];

type Check<Schema extends DescMessage, Request = unknown> = (
  message: MessageShape<Schema>,
  fields: FieldChecks,
) => Request;

/** All violations that a check throws. */
function violationsOf(check: () => unknown) {
  try {
    check();
  } catch (error) {
    if (error instanceof CallError && error.reason === "BAD_REQUEST") return error.details.violations ?? [];
    throw error;
  }
  return [];
}

/** Each row is refused with exactly these violations. */
function refuses<Schema extends DescMessage>(
  schema: Schema,
  check: Check<Schema>,
  rows: Row<Schema>[],
): void {
  const accept = accepted(schema, check);
  test.each(rows)("refuses %s", (_, request, expected) => {
    const violations = violationsOf(() => accept(request));
    expect(violations.map(({ field }) => field).sort()).toEqual(Object.keys(expected).sort());
    for (const { field, description } of violations) expect(description).toMatch(expected[field] as RegExp);
  });
}

/** The decoded request; fields that are not given have valid values. */
function accepted<Schema extends DescMessage, Request>(
  schema: Schema,
  check: Check<Schema, Request>,
): (request: MessageInitShape<Schema>) => Request {
  return (request) => {
    const fields = new FieldChecks();
    return fields.checked(check(create(schema, request), fields));
  };
}

describe("AcquireRequest", () => {
  const schema = requests.AcquireRequestSchema;
  const accept = accepted(schema, checkAcquire);
  const labels = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, ""]));

  test("needs no more than a name", () => {
    expect(accept({ name: "a" })).toEqual({
      whenBusy: "refuse",
      ask: {
        name: "a",
        mode: "permit",
        permits: 1,
        ttlUs: 30_000_000,
        requestId: "",
        owner: "",
        labels: {},
        terms: null,
        mayWait: false,
        maxWaitUs: null,
      },
    });
  });

  test("accepts everything up to its bounds", () => {
    const text = (bytes: number) => `${"é".repeat((bytes - 1) / 2)}x`;
    const atBounds = {
      name: text(255),
      permits: 1_000_000,
      requestId: "r".repeat(100),
      whenBusy: { case: "wait" as const, value: { maxWait: span(0, 1_000_000) } },
      terms: {
        ...ttl(span(24 * DAY_S)),
        owner: text(255),
        labels: { ...labels(15), [text(63)]: text(255) },
      },
    };
    expect(accept(atBounds)).toMatchObject({
      whenBusy: "wait",
      ask: { permits: 1_000_000, ttlUs: 24 * DAY_S * 1e6, mayWait: true, maxWaitUs: 1_000 },
    });
  });

  test("that only spends has no time to live", () => {
    expect(
      accept({ name: "a", spendOnly: true, terms: { owner: "me", ifStatus: ["new"] } }).ask,
    ).toMatchObject({
      ...{ ttlUs: SPENDS, owner: "me", terms: { ifStatus: ["new"] } },
    });
  });

  test.each([
    [0, "permit"],
    [1, "permit"],
    [2, "shared"],
    [3, "exclusive"],
  ])("reads mode %i as %s", (mode, expected) => {
    expect(accept({ name: "a", mode, permits: 1 }).ask.mode).toBe(expected);
  });

  test.each([
    ["1 s", withTtl(1), 1_000_000],
    ["parts of a microsecond, rounded up", withTtl(1, 1), 1_000_001],
    ["the longest time there is", withTtl(24 * DAY_S), 2_073_600_000_000],
    ["just under it", withTtl(24 * DAY_S - 1, 999_999_999), 2_073_600_000_000],
    ["no end", { name: "a", terms: { lasting: { case: "noExpiry" as const, value: {} } } }, null],
  ])("accepts a ttl of %s", (_, request, ttlUs) => {
    expect(accept(request).ask.ttlUs).toBe(ttlUs);
  });

  refuses(schema, checkAcquire, [
    ["an empty name", {}, { name: REQUIRED }],
    ["a name of 256 bytes", { name: "n".repeat(256) }, { name: /^is 256 bytes long; use at most 255/ }],
    [
      "a mode that nobody knows",
      { name: "a", mode: 4 as Mode },
      { mode: /^is 4, which is not a known value/ },
    ],
    ["a negative mode", { name: "a", mode: -1 as Mode }, { mode: /^is -1/ }],
    ["more permits than there are", { name: "a", permits: 1_000_001 }, { permits: /at most 1000000/ }],
    ["permits of a reader", { name: "a", mode: 2, permits: 2 }, { permits: /not counted/ }],
    ["permits of a writer", { name: "a", mode: 3, permits: 2_000_000 }, { permits: /not counted/ }],
    ["a ttl below 1 s", withTtl(0, 999_999_999), { "terms.ttl": "is 0.999999999 s; use" }],
    ["a ttl of 24 days and a nanosecond", withTtl(24 * DAY_S, 1), { "terms.ttl": /24 days/ }],
    ["max_wait below 1 ms", waiting("enqueue", 0, 999_999), { "enqueue.max_wait": /1 ms/ }],
    ["max_wait of 25 days", waiting("wait", 25 * DAY_S), { "wait.max_wait": /24 days/ }],
    ["a request id of 101 bytes", { name: "a", requestId: "r".repeat(101) }, { request_id: /100/ }],
    ["a name that the servers keep for themselves", { name: "\0a" }, { name: /NUL/ }],
    ["a request id with a NUL before it", { name: "a", requestId: "\0r" }, { request_id: /NUL/ }],
    ["an owner of 256 bytes", { name: "a", terms: { owner: "o".repeat(256) } }, { "terms.owner": /255/ }],
    ["17 labels", { name: "a", terms: { labels: labels(17) } }, { "terms.labels": /^has 17 entries/ }],
    [
      "text that was no text for its caller",
      {
        name: "caf\ufffd",
        requestId: "r\ufffd",
        terms: {
          owner: "\ufffd",
          statusIfLost: "\ufffd",
          ifStatus: ["\ufffd"],
          labels: { "k\ufffd": "v", k: "\ufffd" },
        },
      },
      {
        name: /^has U\+FFFD/,
        request_id: /U\+FFFD/,
        "terms.owner": /U\+FFFD/,
        "terms.status_if_lost": /U\+FFFD/,
        "terms.if_status[0]": /U\+FFFD/,
        'terms.labels["k\ufffd"]': /U\+FFFD/,
        'terms.labels["k"]': /U\+FFFD/,
      },
    ],
    [
      "a label without a key",
      { name: "a", terms: { labels: { "": "v" } } },
      { 'terms.labels[""]': /0 bytes/ },
    ],
    [
      "everything at once",
      {
        permits: 2_000_000,
        requestId: "\0",
        whenBusy: { case: "wait", value: { maxWait: span(0) } },
        terms: { ...ttl(span(0)), owner: "o".repeat(256) },
      },
      {
        name: REQUIRED,
        permits: /2000000/,
        request_id: /NUL/,
        "wait.max_wait": /0 s/,
        "terms.ttl": /0 s/,
        "terms.owner": /255/,
      },
    ],
  ]);

  test("refuses a label for its key and for its value", () => {
    const labels = { ["k".repeat(64)]: "v".repeat(256), good: "x" };
    const field = `terms.labels["${"k".repeat(24)}"]`;
    expect(violationsOf(() => accept({ name: "a", terms: { labels: labels } }))).toEqual([
      { field, description: "has a key of 64 bytes; use 1 to 63 bytes of UTF-8" },
      { field, description: "is 256 bytes long; use at most 255 bytes of UTF-8" },
    ]);
  });
});

describe("WaitInQueueRequest", () => {
  const schema = requests.WaitInQueueRequestSchema;
  const accept = accepted(schema, checkWaitInQueue);
  const target = (value: MessageInitShape<typeof requests.QueueRequestSchema>) => ({
    target: { case: "request" as const, value },
  });

  test("waits, with positions once a second", () => {
    expect(accept(target({ name: "a", maxWait: span(5) }))).toMatchObject({
      target: { kind: "ask", ask: { name: "a", mayWait: true, maxWaitUs: 5_000_000 } },
      updateIntervalMs: 1_000,
    });
  });

  test("accepts a ticket, and any interval of positions", () => {
    const request = { target: { case: "ticketId" as const, value: ID }, minUpdateInterval: span(0) };
    expect(accept(request)).toEqual({ target: { kind: "ticket", ref: REF }, updateIntervalMs: 0 });
    expect(accept({ ...request, minUpdateInterval: span(3_600) }).updateIntervalMs).toBe(3_600_000);
  });

  refuses(schema, checkWaitInQueue, [
    ["no target", {}, { target: /^is required/ }],
    ["a ticket that is none", { target: { case: "ticketId", value: "x" } }, { ticket_id: /not an id/ }],
    ["an empty ticket", { target: { case: "ticketId", value: "" } }, { ticket_id: REQUIRED }],
    [
      "updates once a day",
      { ...target({ name: "a" }), minUpdateInterval: span(DAY_S) },
      { min_update_interval: /60 min/ },
    ],
    [
      "everything at once",
      { ...target({ terms: { ...ttl(span(0)), labels: { "": "" } } }), minUpdateInterval: span(1, -1) },
      {
        "request.name": REQUIRED,
        "request.terms.ttl": /0 s/,
        'request.terms.labels[""]': /key/,
        min_update_interval: DURATION,
      },
    ],
  ]);
});

describe("RenewRequest and ReleaseRequest", () => {
  const renewal = accepted(requests.RenewRequestSchema, checkRenew);
  const release = accepted(requests.ReleaseRequestSchema, checkRelease);

  test("have an id, and perhaps a ttl", () => {
    expect(renewal({ leaseId: ID })).toEqual({ ref: REF, ttlUs: undefined });
    expect(renewal({ leaseId: ID, ttl: span(2) })).toEqual({ ref: REF, ttlUs: 2_000_000 });
    expect(release({ leaseId: ID })).toEqual({ ref: REF, result: null });
    expect(release({ leaseId: ID, failed: true })).toEqual({ ref: REF, result: null, failed: true });
  });

  refuses(requests.RenewRequestSchema, checkRenew, [
    ["no id and no ttl", { ttl: span(0) }, { lease_id: REQUIRED, ttl: /1 s to 24 days/ }],
    ["an id of another kind", { leaseId: "0198c1ce-0000-7000-8000-000000000000" }, { lease_id: /not an id/ }],
    ["an id that is cut off", { leaseId: ID.slice(0, -1) }, { lease_id: /unchanged/ }],
    ["an id beyond 64 bits", { leaseId: `zzzzzzzzzzzzz.1.${ID.slice(4)}` }, { lease_id: /not an id/ }],
    ["an id with something behind it", { leaseId: `${ID}\n` }, { lease_id: /not an id/ }],
  ]);
  refuses(requests.ReleaseRequestSchema, checkRelease, [
    ["no id", {}, { lease_id: REQUIRED }],
    ["an id that is none", { leaseId: "../x" }, { lease_id: /not an id/ }],
  ]);
});

describe("SetLimitRequest", () => {
  const schema = requests.SetLimitRequestSchema;
  const accept = accepted(schema, checkSetLimit);
  const pattern = (value: string) => ({ target: { case: "pattern" as const, value }, ...limit(1) });

  test("sets a limit, 0 included, or removes it", () => {
    const target = { kind: "name", name: "a" };
    const set = { target, limit: 0, expectedVersion: undefined, reason: "" };
    expect(accept({ ...named("a"), ...limit(0) })).toEqual(set);
    expect(accept({ ...named("a"), ...limit(1_000_000) }).limit).toBe(1_000_000);
    const removed = { target, limit: null, expectedVersion: 0n };
    expect(accept({ ...named("a"), ...unset, expectedVersion: 0n })).toMatchObject(removed);
  });

  test("sets a rate, whose burst is as many permits by default, or removes it, and leaves alone what it does not name", () => {
    const rate = (permits: number, per: number, burst: number) =>
      ({ newRate: { case: "rate", value: { permits, per: span(per), burst } } }) as const;
    const set = accept({ ...named("a"), ...rate(500, 60, 0) });
    expect(set).toMatchObject({ limit: undefined, rate: { permits: 500, perUs: 60_000_000, burst: 500 } });
    const { rate: largest } = accept({ ...named("a"), ...rate(1_000_000, 24 * DAY_S, 1_000_000) });
    expect(largest).toEqual({ permits: 1_000_000, perUs: 24 * DAY_S * 1e6, burst: 1_000_000 });
    const removed = accept({ ...named("a"), ...limit(2), newRate: { case: "unsetRate", value: {} } });
    expect(removed).toMatchObject({ limit: 2, rate: null });
    expect(accept({ ...named("a"), ...limit(2) }).rate).toBeUndefined();
  });

  test.each([
    ["etl/*", "etl/"],
    ["*", ""],
    [`${"p".repeat(254)}*`, "p".repeat(254)],
  ])("accepts the pattern %s, and a name with a star as the name that it is", (value, prefix) => {
    expect(accept(pattern(value)).target).toEqual({ kind: "pattern", prefix });
    expect(accept({ ...named(value), ...limit(1) }).target).toEqual({ kind: "name", name: value });
  });

  const ONE_STAR = /one star, at its end/;
  refuses(schema, checkSetLimit, [
    ["nothing at all", {}, { target: REQUIRED, limit: /^or another field must be set/ }],
    ["an empty name", { ...named(""), ...limit(1) }, { name: REQUIRED }],
    ["an empty pattern", pattern(""), { pattern: ONE_STAR }],
    ["a star in the middle and one at the end", pattern("e*l/*"), { pattern: ONE_STAR }],
    ["a pattern of 256 bytes", pattern(`${"p".repeat(255)}*`), { pattern: /256 bytes/ }],
    ["a limit beyond the highest", { ...named("a"), ...limit(1_000_001) }, { limit: /0 to 1000000/ }],
    ["a long reason", { ...named("a"), ...limit(3), reason: "r".repeat(256) }, { reason: /255/ }],
  ]);
});

describe("ForceReleaseRequest", () => {
  const schema = requests.ForceReleaseRequestSchema;
  const claim = (lockName: string, ticketNumber: bigint) => ({
    target: { case: "claim" as const, value: { lockName, ticketNumber } },
  });

  test("names a lock or a claim", () => {
    const accept = accepted(schema, checkForceRelease);
    expect(accept({ ...named("a"), reason: "r" })).toEqual({ name: "a", ticketNumber: null, reason: "r" });
    expect(accept({ ...claim("a", 7n), reason: "r" })).toEqual({ name: "a", ticketNumber: 7n, reason: "r" });
  });

  refuses(schema, checkForceRelease, [
    ["nothing at all", {}, { target: REQUIRED, reason: REQUIRED }],
    ["an empty name", { ...named(""), reason: "r" }, { name: REQUIRED }],
    [
      "a claim without a lock and a number",
      { ...claim("", 0n), reason: "r" },
      { "claim.lock_name": REQUIRED, "claim.ticket_number": /^is 0/ },
    ],
    ["a too high number", { ...claim("a", 2n ** 63n), reason: "r" }, { "claim.ticket_number": /no claim/ }],
    ["a reason of 256 bytes", { ...claim("a", 1n), reason: "r".repeat(256) }, { reason: /255/ }],
  ]);
});

const FOREIGN = /not one of this server/;

describe("ListLocksRequest", () => {
  const schema = requests.ListLocksRequestSchema;
  const accept = accepted(schema, checkListLocks);

  test("lists everything, 100 at a time, by default", () => {
    const unasked = { prefix: "", afterName: null, pageSize: 100, busyOnly: false, order: "name" };
    expect(accept({})).toEqual(unasked);
    expect(accept({ order: ListOrder.NAME })).toEqual(unasked);
    expect(accept({ prefix: "a/", pageSize: 1_000, busyOnly: true })).toMatchObject({
      pageSize: 1_000,
      busyOnly: true,
    });
  });

  test.each(["a", "etl/é", "\u{1f512}", "n".repeat(255), "\ufeffb", "a\0"])(
    "goes on after the name %j",
    (name) => {
      expect(accept({ pageToken: pageTokenAfter(name) }).afterName).toBe(name);
    },
  );

  refuses(schema, checkListLocks, [
    ["a negative page size", { pageSize: -1 }, { page_size: /^is -1; use 1 to 1000/ }],
    ["a page size of 1,001", { pageSize: 1_001 }, { page_size: /1000/ }],
    ["a prefix of 256 bytes", { prefix: "p".repeat(256) }, { prefix: /256/ }],
    ["a token that is no base64url", { pageToken: "a+b/" }, { page_token: FOREIGN }],
    ["a token with something behind it", { pageToken: `${pageTokenAfter("abc")}=` }, { page_token: FOREIGN }],
    ["a token of a long name", { pageToken: pageTokenAfter("n".repeat(256)) }, { page_token: FOREIGN }],
    [
      "another listing's token",
      { prefix: "b/", pageToken: pageTokenAfter("a/1") },
      { page_token: /another prefix/ },
    ],
    ["an order that nobody knows", { order: 4 as ListOrder }, { order: /^is 4, which is not a known value/ }],
    [
      "a token with an order that has one page",
      { order: ListOrder.LONGEST_WAIT, pageToken: pageTokenAfter("a") },
      { page_token: /one page/ },
    ],
  ]);

  test("lists by waiters", () => {
    expect(accept({ order: ListOrder.LONGEST_WAIT }).order).toBe("longest_wait");
    expect(accept({ order: ListOrder.MOST_WAITERS }).order).toBe("most_waiters");
  });
});

describe("ListLimitsRequest", () => {
  const schema = requests.ListLimitsRequestSchema;
  const accept = accepted(schema, checkListLimits);

  test("lists everything, 100 at a time, by default", () => {
    expect(accept({})).toEqual({ prefix: "", after: null, pageSize: 100 });
    expect(accept({ prefix: "a/", pageSize: 1_000 })).toMatchObject({ prefix: "a/", pageSize: 1_000 });
  });

  test.each([
    { kind: "pattern", target: "*" },
    { kind: "pattern", target: `${"p".repeat(254)}*` },
    { kind: "name", target: "etl/\u{1f512}" },
    { kind: "name", target: "a*" },
  ] as const)("goes on after the $kind $target", (after) => {
    expect(accept({ pageToken: limitsTokenAfter(after) }).after).toEqual(after);
  });

  refuses(schema, checkListLimits, [
    ["a page size of 1,001", { pageSize: 1_001 }, { page_size: /1000/ }],
    ["a prefix of 256 bytes", { prefix: "p".repeat(256) }, { prefix: /256/ }],
    ["a token of a listing of locks", { pageToken: pageTokenAfter("a") }, { page_token: FOREIGN }],
    ["a long token", { pageToken: pageTokenAfter(`n${"a".repeat(256)}`) }, { page_token: FOREIGN }],
    [
      "a token of another listing",
      { prefix: "b/", pageToken: limitsTokenAfter({ kind: "name", target: "a/1" }) },
      { page_token: /another prefix/ },
    ],
    ["everything at once", { pageSize: -5, pageToken: "?" }, { page_size: /-5/, page_token: FOREIGN }],
  ]);
});

const TEN_YEARS_S = 315_576_000;
const DELAY = /use 0 ms to 3653 days/;

describe("the part of an AcquireRequest for the record", () => {
  const schema = requests.AcquireRequestSchema;
  const accept = accepted(schema, checkAcquire);
  const termsOf = (terms: MessageInitShape<typeof LeaseTermsSchema>) =>
    accept({ name: "a", terms }).ask.terms;

  test("is absent if nothing is set, or only empty values", () => {
    expect(termsOf({})).toBeNull();
    expect(termsOf({ minInterval: span(0), lockDelay: span(0), ifStatus: [] })).toBeNull();
  });

  test("may go up to its bounds", () => {
    const ifStatus = Array.from({ length: 16 }, () => "s".repeat(63));
    const longest = span(TEN_YEARS_S);
    expect(
      termsOf({ minInterval: longest, lockDelay: longest, statusIfLost: "é".repeat(31), ifStatus }),
    ).toEqual({
      minIntervalUs: TEN_YEARS_S * 1e6,
      lockDelayUs: TEN_YEARS_S * 1e6,
      statusIfLost: "é".repeat(31),
      ifStatus,
    });
  });

  test.each([
    [{ statusIfLost: "" }, { statusIfLost: "" }],
    [{ ifStatus: [""] }, { ifStatus: [""] }],
    [{ lockDelay: span(1), lasting: { case: "noExpiry" as const, value: {} } }, { lockDelayUs: 1_000_000 }],
    [{ minInterval: span(0, 1) }, { minIntervalUs: 1 }],
    [{ backoff: { first: span(2) } }, { backoff: { firstUs: 2_000_000, maxUs: 2_000_000 } }],
    [{ backoff: { first: span(2), max: span(60) } }, { backoff: { firstUs: 2_000_000, maxUs: 60_000_000 } }],
  ])("is %o", (request, terms) => {
    expect(termsOf(request)).toMatchObject(terms);
  });

  refuses(schema, checkAcquire, [
    [
      "a backoff without times",
      { name: "a", terms: { backoff: {} } },
      { "terms.backoff.first": /^is missing: say how long/ },
    ],
    [
      "a backoff that shrinks",
      { name: "a", terms: { backoff: { first: span(3), max: span(2) } } },
      { "terms.backoff.max": /is less than backoff\.first/ },
    ],
    [
      "everything at once",
      {
        name: "",
        terms: {
          minInterval: span(-1),
          lockDelay: span(TEN_YEARS_S, 1_000),
          statusIfLost: "é".repeat(32),
          ifStatus: ["", "s".repeat(64)],
        },
      },
      {
        name: REQUIRED,
        "terms.min_interval": DELAY,
        "terms.lock_delay": DELAY,
        "terms.status_if_lost": /64 bytes/,
        "terms.if_status[1]": /64 bytes/,
      },
    ],
  ]);
});

describe("the part of a ReleaseRequest for the record", () => {
  const schema = requests.ReleaseRequestSchema;
  const accept = accepted(schema, checkRelease);

  test.each([
    [{ coolDown: span(0) }, { coolDownUs: 0 }],
    [{ status: "" }, { status: "" }],
    [{ attemptsLeft: 0 }, { attemptsLeft: 0 }],
    [
      { coolDown: span(TEN_YEARS_S), status: "s".repeat(63), attemptsLeft: 1_000_000 },
      { coolDownUs: TEN_YEARS_S * 1e6, status: "s".repeat(63), attemptsLeft: 1_000_000 },
    ],
  ])("is %o", (request, result) => {
    expect(accept({ leaseId: ID, ...request }).result).toEqual(result);
  });

  refuses(schema, checkRelease, [
    ["a negative time", { leaseId: ID, coolDown: span(0, -1) }, { cool_down: DELAY }],
    [
      "everything at once",
      { coolDown: span(TEN_YEARS_S + 1), status: "s".repeat(64), attemptsLeft: 1_000_001 },
      { lease_id: REQUIRED, cool_down: DELAY, status: /64 bytes/, attempts_left: /1000000/ },
    ],
  ]);
});

describe("UpdateRecordRequest", () => {
  const schema = requests.UpdateRecordRequestSchema;
  const NOW_US = 1_800_000_000_000_000;
  const check: Check<typeof schema, ReturnType<typeof checkUpdateRecord>> = (message, violations) =>
    checkUpdateRecord(message, violations, { engine: { nowUs: () => NOW_US } });
  beforeAll(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOW_US / 1_000 }));
  afterAll(() => void vi.useRealTimers());
  const accept = accepted(schema, check);
  const nothing = {
    notBefore: undefined,
    attemptsLeft: undefined,
    status: undefined,
    expectedVersion: undefined,
    reason: "",
  };

  test.each<[MessageInitShape<typeof schema>, object]>([
    [notBefore(0), { notBefore: { atUs: 0 } }],
    [notBefore(0, 999_999_999), { notBefore: { atUs: 1_000_000 } }],
    [notBefore(1_800_000_000, 1), { notBefore: { atUs: 1_800_000_000_000_001 } }],
    [notBefore(1_800_000_000 + TEN_YEARS_S), { notBefore: { atUs: NOW_US + TEN_YEARS_S * 1e6 } }],
    [{ newNotBefore: { case: "notBeforeIn", value: span(0) } }, { notBefore: { inUs: 0 } }],
    [{ newNotBefore: { case: "unsetNotBefore", value: {} } }, { notBefore: null }],
    [{ newAttemptsLeft: { case: "attemptsLeft", value: 0 } }, { attemptsLeft: 0 }],
    [{ newAttemptsLeft: { case: "unsetAttemptsLeft", value: {} } }, { attemptsLeft: null }],
    [
      { status: "", expectedVersion: 0n },
      { status: "", expectedVersion: 0n },
    ],
  ])("sets %o, and leaves the rest", (request, update) => {
    expect(accept({ name: "a", ...request })).toEqual({ name: "a", ...nothing, ...update });
  });

  const FAR = /out of range/;
  refuses(schema, check, [
    ["nothing to set", { name: "a" }, { status: /must be set/ }],
    ["an instant before 1970", { name: "a", ...notBefore(-1) }, { not_before: FAR }],
    ["one far away", { name: "a", ...notBefore(1_800_000_001 + TEN_YEARS_S) }, { not_before: FAR }],
    ["a negative part", { name: "a", ...notBefore(1, -1) }, { not_before: /not a valid Timestamp/ }],
    ["a large part", { name: "a", ...notBefore(1, 1_000_000_000) }, { not_before: /not a valid Timestamp/ }],
    [
      "a time beyond 10 years",
      { name: "a", newNotBefore: { case: "notBeforeIn", value: span(TEN_YEARS_S, 1_000) } },
      { not_before_in: DELAY },
    ],
    [
      "everything at once",
      {
        name: "",
        ...notBefore(1n << 60n),
        newAttemptsLeft: { case: "attemptsLeft", value: 1_000_001 },
        status: "s".repeat(64),
        reason: "r".repeat(256),
      },
      {
        name: REQUIRED,
        not_before: FAR,
        attempts_left: /1000000/,
        status: /64 bytes/,
        reason: /255/,
      },
    ],
  ]);
});

describe("DeleteRecordRequest", () => {
  const schema = requests.DeleteRecordRequestSchema;

  test("has a name, and perhaps a version and a reason", () => {
    const accept = accepted(schema, checkDeleteRecord);
    expect(accept({ name: "a" })).toEqual({ name: "a", expectedVersion: undefined, reason: "" });
    const set = { name: "a", expectedVersion: 0n, reason: "done with" };
    expect(accept(set)).toEqual(set);
  });

  refuses(schema, checkDeleteRecord, [["no name", {}, { name: REQUIRED }]]);
});

describe("CaptureRequest", () => {
  const schema = requests.CaptureRequestSchema;
  const accept = accepted(schema, checkCapture);
  const many = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

  test("takes from all names with a prefix, which may be empty, for half a minute and without a wait", () => {
    expect(accept(prefix(""))).toEqual({
      ask: {
        target: { kind: "prefix", prefix: "" },
        max: 1,
        terms: null,
        ttlUs: 30_000_000,
        requestId: "",
        owner: "",
        labels: {},
      },
      maxWaitUs: null,
    });
  });

  test("accepts everything up to its bounds", () => {
    const whole = {
      ...names(many(1_000)),
      maxLeases: 100,
      maxWait: span(0, 1_000_000),
      requestId: "r".repeat(100),
      terms: {
        ...ttl(span(24 * DAY_S)),
        owner: "o".repeat(255),
        labels: { key: "value" },
        ifStatus: ["new"],
      },
    };
    expect(accept(whole)).toEqual({
      ask: {
        target: { kind: "names", names: whole.from.value.names },
        max: 100,
        terms: { minIntervalUs: null, lockDelayUs: null, statusIfLost: null, ifStatus: ["new"] },
        ttlUs: 24 * DAY_S * 1e6,
        requestId: whole.requestId,
        owner: whole.terms.owner,
        labels: whole.terms.labels,
      },
      maxWaitUs: 1_000,
    });
    expect(accept(names(["n".repeat(255)])).ask.max).toBe(1);
  });

  refuses(schema, checkCapture, [
    ["no locks and no number", {}, { from: REQUIRED, max_leases: /is 0; take 1 to 100/ }],
    ["101 leases", { ...prefix("a"), maxLeases: 101 }, { max_leases: /is 101; take 1 to 100/ }],
    ["a prefix of 256 bytes", prefix("n".repeat(256)), { prefix: /256 bytes/ }],
    ["1,001 names", names(many(1_001)), { "names.names": /has 1001 entries; use 1 to 1000/ }],
    [
      "names that are none",
      names(["a", "", "\0own", "n".repeat(256)]),
      { "names.names[1]": REQUIRED, "names.names[2]": /begins with a NUL/, "names.names[3]": /256 bytes/ },
    ],
    [
      "names that are there before, each with the first of its kind",
      names(["a", "b", "a", "b", "a"]),
      {
        "names.names[2]": /names\.names\[0\]/,
        "names.names[3]": /names\.names\[1\]/,
        "names.names[4]": /names\.names\[0\]/,
      },
    ],
    [
      "spans that are too short and a request id that is too long",
      { ...prefix(""), maxWait: span(0), requestId: "r".repeat(121), terms: ttl(span(0)) },
      { "terms.ttl": /1 s to 24 days/, max_wait: /1 ms to 24 days/, request_id: /121 bytes/ },
    ],
    [
      "what is wrong with who asks and with the record",
      {
        ...prefix(""),
        requestId: "\0r",
        terms: { owner: "o".repeat(256), labels: { "": "" }, lockDelay: span(-1) },
      },
      {
        request_id: /begins with a NUL/,
        "terms.owner": /256 bytes/,
        'terms.labels[""]': /key/,
        "terms.lock_delay": DELAY,
      },
    ],
  ]);

  test("describes the mistakes in the first 16 of a thousand wrong names", () => {
    const wrong = Array.from({ length: 1_000 }, () => "");
    const fields = violationsOf(() => accept(names(["good", ...wrong.slice(1)])));
    expect(new Set(fields.map(({ field }) => field)).size).toBeLessThanOrEqual(16);
    expect(fields).toHaveLength(16);
    expect(fields[0]).toMatchObject({ field: "names.names[1]", description: REQUIRED });
  });
});

describe("RenewLeases", () => {
  const schema = requests.RenewLeasesSchema;
  const leases = (count: number) => ({ leases: Array.from({ length: count }, () => ({ leaseId: ID })) });

  test("names up to 1,000 leases, each with a ttl of its own", () => {
    const accept = accepted(schema, checkRenewLeases);
    expect(accept({ leases: [{ leaseId: ID }, { leaseId: ID, ttl: span(2) }] })).toEqual([
      { ref: REF, ttlUs: undefined },
      { ref: REF, ttlUs: 2_000_000 },
    ]);
    expect(accept(leases(1_000))).toHaveLength(1_000);
  });

  refuses(schema, checkRenewLeases, [
    ["none", leases(0), { leases: /has 0; name 1 to 1000/ }],
    ["1,001", leases(1_001), { leases: /has 1001; name 1 to 1000/ }],
    [
      "what is wrong in one of them, by its place",
      { leases: [{ leaseId: ID }, { leaseId: "?" }, { leaseId: ID, ttl: span(0) }] },
      { "leases[1].lease_id": /not an id/, "leases[2].ttl": /1 s to 24 days/ },
    ],
  ]);
});

test("the first request of a session opens it, with an owner and labels up to their bounds; later ones do not", () => {
  const open = { owner: "o".repeat(255), labels: { key: "v".repeat(255) } };
  expect(accepted(requests.SessionOpenSchema, (one) => checkOpen(one, true))(open)).toMatchObject(open);
  expect(checkOpen(undefined, false)).toBeUndefined();
});

describe("the timeout of a command", () => {
  const timeoutOf = (seconds: number, nanos = 0) =>
    checkTimeout(create(DurationSchema, { seconds: BigInt(seconds), nanos }));

  test("is none, or from a millisecond to 24 days", () => {
    expect(checkTimeout(undefined)).toBeUndefined();
    expect(timeoutOf(0, 1_000_000)).toBe(1);
    expect(timeoutOf(2)).toBe(2_000);
    expect(timeoutOf(24 * DAY_S)).toBe(24 * DAY_S * 1_000);
  });

  test.each([
    [0, 999_999],
    [-1, 0],
    [24 * DAY_S, 1],
  ])("refuses %i s and %i ns", (seconds, nanos) => {
    expect(violationsOf(() => timeoutOf(seconds, nanos))).toMatchObject([
      { field: "timeout", description: /use 1 ms to 24 days/ },
    ]);
  });
});

describe("a span that is out of bounds", () => {
  const accept = accepted(requests.RenewRequestSchema, checkRenew);
  const descriptionOf = (seconds: number | bigint, nanos: number) =>
    violationsOf(() => accept({ leaseId: ID, ttl: span(seconds, nanos) }))[0]?.description;

  test.each<[number | bigint, number, RegExp]>([
    [0, -500_000_000, /^is -0\.5 s;/],
    [-1, -1, /^is -1\.000000001 s;/],
    [0, 10_200_000, /^is 0\.0102 s;/],
    [0, 0, /^is 0 s;/],
    // The longest Duration, and one more.
    [315_576_000_000, 0, /^is 315576000000 s;/],
    [-315_576_000_000, 0, /^is -315576000000 s;/],
    [315_576_000_001n, 0, DURATION],
    [-315_576_000_001n, 0, DURATION],
    [1, -1, DURATION],
    [-1, 1, DURATION],
    [0, 1_000_000_000, DURATION],
  ])("is told as it was written: %s s and %s ns", (seconds, nanos, expected) => {
    expect(descriptionOf(seconds, nanos)).toMatch(expected);
  });
});
