// What callers without types write into options: each fault is an error at once, with all others.

import { describe, expect, test } from "vitest";
import {
  CAPTURE,
  CHANGES,
  CONNECT,
  checkOptions,
  LIST,
  LOCK,
  RELEASE,
  SET_LIMIT,
  SPEND,
  WATCH,
  WORK,
} from "../../../../clients/typescript/src/checked-options.ts";
import { connect } from "../../../../clients/typescript/src/index.ts";

const { signal } = new AbortController();

describe("options that are right are taken", () => {
  test.each([
    [{}, LOCK],
    [{ wait: 0, ttl: "forever", permits: 2, mode: "shared", signal, onWaiting() {} }, LOCK],
    [{ also: [] }, LOCK],
    [{ also: ["b", { name: "c", mode: "shared" }, { name: "d", permits: 2, mode: undefined }] }, LOCK],
    [{ wait: undefined, owner: "me", labels: { a: "b" }, ifStatus: ["", "new"], statusIfLost: "x" }, LOCK],
    [{ prefix: "a/", count: 3, wait: "forever", ttl: 1_000 }, CAPTURE],
    [{ concurrency: 2, statusWhenDone: "done", ifStatus: "new" }, WORK],
    [{ status: "", coolDown: 0, attemptsLeft: 0, failed: true }, RELEASE],
    [{ backoff: { first: 1_000 } }, LOCK],
    [{ backoff: { first: 1_000, max: 60_000 } }, WORK],
    [{ notBefore: null, attemptsLeft: null, ifVersion: 0n }, CHANGES],
    [{ rate: { permits: 1, per: 1_000, burst: 2 }, ifVersion: 3, reason: "" }, SET_LIMIT],
    [{ rate: null }, SET_LIMIT],
    [{ queueRules: { waitingMax: 1 }, rate: null }, SET_LIMIT],
    [{ queueRules: { waitingMax: 1_000_000, whenFull: "end longest waiting" } }, SET_LIMIT],
    [{ queueRules: null }, SET_LIMIT],
    [{ wait: 0, permits: 2, ifStatus: "new", requestId: "mine", onWaiting() {} }, SPEND],
    [{ order: "most waiters", busyOnly: true, pageSize: 0 }, LIST],
    [{ prefix: "", signal }, WATCH],
    [{ addresses: ["a:1", "[::1]:2", "unix:/run/rowlock"], tls: { ca: "x" }, openTelemetry: false }, CONNECT],
  ])("%o", (options, checks) => {
    expect(checkOptions(options, checks)).toBeUndefined();
  });
});

describe("one fault is said in the words of the user", () => {
  test.each([
    [{ timeout: 1_000 }, LOCK, 'unknown option "timeout"; did you mean "wait"?'],
    [{ wiat: 0 }, LOCK, 'unknown option "wiat"; did you mean "wait"?'],
    [{ Permits: 2 }, LOCK, 'unknown option "Permits"; did you mean "permits"?'],
    [{ onLog() {} }, CONNECT, 'unknown option "onLog"; did you mean "log"?'],
    [{ colour: 1 }, WATCH, 'unknown option "colour"; there are prefix, signal'],
    [{ toString: 1 }, WATCH, 'unknown option "toString"; there are prefix, signal'],
    [{ permits: 0 }, LOCK, "permits: 0 must be a whole number, 1 or more"],
    [{ permits: 1.5 }, LOCK, "permits: 1.5 must be a whole number, 1 or more"],
    [{ also: "b" }, LOCK, 'also: "b" must be a list of names, or of { name, mode, permits }'],
    [{ also: ["b", 5] }, LOCK, "also: a list has a wrong entry 2 (name: 5 must be a text)"],
    [{ also: [{}] }, LOCK, "also: a list has a wrong entry 1 (name: must be a text)"],
    [
      { also: [{ name: "b", permits: 0, mode: "x" }] },
      LOCK,
      'also: a list has a wrong entry 1 (2 things are wrong with the options: permits: 0 must be a whole number, 1 or more; mode: "x" must be one of "permit", "shared", "exclusive")',
    ],
    [
      { also: [{ name: "b", count: 2 }] },
      LOCK,
      'also: a list has a wrong entry 1 (unknown option "count"; did you mean "permits"?)',
    ],
    [{ mode: "write" }, LOCK, 'mode: "write" must be one of "permit", "shared", "exclusive"'],
    [
      { wait: "30s" },
      LOCK,
      'wait: "30s" must be a number of milliseconds, 0 or more (write 30000), or one of "forever"',
    ],
    [{ ttl: "1.5 m" }, CAPTURE, 'ttl: "1.5 m" must be a number of milliseconds, 0 or more (write 90000)'],
    [
      { wait: Number.NaN },
      LOCK,
      'wait: NaN must be a number of milliseconds, 0 or more, or one of "forever"',
    ],
    [{ ttl: -1 }, CAPTURE, "ttl: -1 must be a number of milliseconds, 0 or more"],
    [
      { margin: Number.POSITIVE_INFINITY },
      LOCK,
      "margin: Infinity must be a number of milliseconds, 0 or more",
    ],
    [{ giveUpAfter: "2s" }, CONNECT, 'giveUpAfter: "2s" must be a number of milliseconds (write 2000)'],
    [{ owner: null }, LOCK, "owner: null must be a text"],
    [{ labels: { a: 1 } }, LOCK, "labels: an object must be an object with texts"],
    [{ ifStatus: [1] }, LOCK, "ifStatus: a list must be a text, or a list of texts"],
    [{ signal: new AbortController() }, LOCK, "signal: an object must be an AbortSignal"],
    [{ onPosition: 1n }, LOCK, "onPosition: 1n must be a function"],
    [{ notBefore: new Date("never") }, CHANGES, "notBefore: an object must be a valid Date, or null"],
    [{ ifVersion: 0.5 }, CHANGES, "ifVersion: 0.5 must be a version, which is an integer"],
    [{ busyOnly: "yes" }, LIST, 'busyOnly: "yes" must be true or false'],
    ...[5, { max: 1 }, { first: "1s" }, { first: 1, last: 2 }].map(
      (backoff) =>
        [
          { backoff },
          LOCK,
          `backoff: ${backoff === 5 ? 5 : "an object"} must have the time \`first\`, in milliseconds, and may have the longest time \`max\``,
        ] as const,
    ),
    ...[
      5,
      { permits: 1 },
      { permits: 0, per: 1_000 },
      { permits: 1, per: "1s" },
      { permits: 1, per: 1, x: 1 },
    ].map(
      (rate) =>
        [
          { rate },
          SET_LIMIT,
          `rate: ${rate === 5 ? 5 : "an object"} must be { permits, per } or { permits, per, burst }, with per in milliseconds, or null`,
        ] as const,
    ),
    ...[
      5,
      {},
      { waitingMax: 0 },
      { waitingMax: "2" },
      { waitingMax: 1, whenFull: "newest" },
      { waitingMax: 1, x: 1 },
    ].map(
      (queueRules) =>
        [
          { queueRules },
          SET_LIMIT,
          `queueRules: ${queueRules === 5 ? 5 : "an object"} must be { waitingMax }, { waitingMax, whenFull }, { shareBy } or { headStartMax }, with whenFull "refuse" or "end longest waiting", or null`,
        ] as const,
    ),
    [
      { ttl: 1_000 },
      SPEND,
      'unknown option "ttl"; there are wait, permits, headStart, signal, onPosition, positionInterval, onWaiting, owner, labels, ifStatus, requestId',
    ],
    [{ token: 5 }, CONNECT, "token: a number must be a text, or an object, or a function"],
    [{ headers: "authorization: secret" }, CONNECT, "headers: a string must be an object, or a function"],
    ["30s", LOCK, 'The options must be an object, and not "30s".'],
    [() => {}, LOCK, "The options must be an object, and not a function."],
  ] as const)("%o: ", (options, checks, words) => {
    expect(() => checkOptions(options, checks)).toThrow(new RangeError(words));
  });

  test.each([
    ["localhost", 'addresses: "localhost" has no port: write localhost:50051, if that is the server\'s'],
    ["http://here:1", 'addresses: "http://here:1" must be host:port, without a scheme or a path'],
    ["::1", 'addresses: "::1" must be host:port, with an IPv6 address in brackets'],
    ["here:0", 'addresses: "here:0" must have a port from 1 to 65,535'],
    ["here:https", 'addresses: "here:https" must have a port from 1 to 65,535'],
    ["", 'addresses: "" must name at least one server, as host:port'],
  ])("the address %j", (address, words) => {
    expect(() => connect({ addresses: address })).toThrow(new RangeError(words));
  });
});

test.each([{}, { addresses: undefined }, { addresses: [] }, { addresses: ["a:1", " "] }])(
  "at least one address must be named, and none that is empty: %j",
  (options) => {
    const open = connect as (options: unknown) => unknown;
    expect(() => open(options)).toThrow(
      new RangeError(
        `addresses: ${options.addresses ? "a list " : ""}must name at least one server, as host:port`,
      ),
    );
    expect(() => open({ ...options, timeout: 1 })).toThrow("2 things are wrong with the options: ");
  },
);

test("all faults are said at once", () => {
  expect(() => checkOptions({ wiat: 0, permits: 0, mode: "x" }, LOCK)).toThrow(
    '3 things are wrong with the options: unknown option "wiat"; did you mean "wait"?; permits: 0 must be',
  );
});

describe("calls", () => {
  const rowlock = connect({ addresses: "127.0.0.1:9" });
  const unknown = rowlock as unknown as Record<string, (...words: unknown[]) => Promise<unknown>>;
  const nameless = { name: "RangeError", message: "name: 5 must be a text" };
  const swapped = {
    name: "RangeError",
    message:
      "The arguments are withLock(name, options, work), and there is an object instead of the function.",
  };

  test.each([
    ["lock", [5], nameless],
    ["tryLock", ["a", { wiat: 1 }], { message: 'unknown option "wiat"; did you mean "wait"?' }],
    ["withLock", ["a", () => {}, { ttl: 1 }], swapped],
    ["withLock", ["a", {}], { message: expect.stringContaining("there is undefined instead") }],
    ["spend", ["a", { also: ["b"] }], { message: expect.stringContaining('unknown option "also"') }],
    ["capture", [{ also: ["b"] }], { message: expect.stringContaining('unknown option "also"') }],
    [
      "work",
      ["a/", () => {}, { also: ["b"] }],
      { message: expect.stringContaining('unknown option "also"') },
    ],
    ["capture", [{ permits: 1 }], { message: expect.stringContaining('unknown option "permits"') }],
    ["work", ["a/", { concurrency: 2 }], { message: expect.stringContaining("work(prefix, handler") }],
    ["work", ["a/", () => {}, { concurrency: 0 }], { message: expect.stringContaining("concurrency: 0") }],
    ["release", ["id", "done"], { message: 'The options must be an object, and not "done".' }],
    ["updateRecord", ["a", { state: "x" }], { message: 'unknown option "state"; did you mean "status"?' }],
    ["deleteRecord", ["a", { version: 1 }], { message: expect.stringContaining('"version"') }],
    ["setLimit", [{ name: "a" }, 1, { why: "x" }], { message: expect.stringContaining('"why"') }],
    ["setLimit", ["a", 1], { message: expect.stringMatching(/^the target is "a": use \{ name: "etl" \}/) }],
  ] as const)("%s(%j) rejects at once", async (call, words, error) => {
    await expect(unknown[call]?.call(rowlock, ...words)).rejects.toMatchObject(error);
  });
});
