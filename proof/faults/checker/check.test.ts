// The checker finds each kind of breach in a short history, and none in one that keeps all promises.

import { describe, expect, test } from "vitest";
import { type Entry, History } from "../history/history.ts";
import { check } from "./check.ts";

const TTL_MS = 2_000;
const NEVER_MS = 1e9;

const RATE = { permits: 1, perMs: 1_000, burst: 2 };

/** What each kind of entry has if the history does not say otherwise. Later entries have later times. */
const USUAL = {
  nothing: {},
  acquire: { lock: "a", mode: "permit", permits: 1, requestId: "", asksOnce: true, outcome: "granted" },
  hold: { lock: "a", mode: "permit", permits: 1 },
  release: { lock: "a", outcome: "released" },
  again: { lock: "a", requestId: "x", outcome: "granted" },
  limit: { lock: "a", outcome: "done" },
  rate: { target: "a", rate: RATE, outcome: "done" },
  rules: { lock: "a", shareBy: "label:group", outcome: "done" },
  pool: { target: "p/*", limit: 1, rate: null, outcome: "done", isEverywhere: true },
  whole: { target: "p/*" },
  force: { lock: "a", outcome: "done", ended: 0 },
  count: { lock: "n", outcome: "done" },
  read: { lock: "n" },
  make: { task: "t", attempts: 2, restMs: 0, isCounted: true, outcome: "done" },
  take: { outcome: "taken" },
  finish: { task: "t", status: "done", restMs: 0, outcome: "released" },
  write: { lock: "a", accepted: true },
  fault: { name: "a fault" },
  lose: { name: "a promotion" },
  heal: { outcome: "granted" },
  step: {},
  revoke: { deniedFromMs: 3_000, deniedUntilMs: 9_000 },
  deny: { command: "acquire" },
  final: {
    lock: "a",
    limit: 1,
    holders: 0,
    waiting: 0,
    lastToken: "1",
    status: null,
    version: null,
    attemptsLeft: null,
  },
  "final pool": { target: "p/*", limit: 1, rate: null, permits: 0, waiting: 0, isWhole: true },
  watch: { lock: "a", lastToken: "1", holders: 0 },
  list: { lock: "a", state: "ended", mode: "permit", permits: 1 },
  unserved: { lock: "a", owner: "A", endReason: "TIMED_OUT", endedUs: 9e6 },
  note: { kind: "limit", target: "a", before: "", after: "" },
} as const;

type Short = { readonly did: Entry["did"]; readonly [field: string]: unknown };

/** A lock that was shared before its first request; group a has a lease of it, and there is another one, which begins so. */
function sharedBy(other?: object): Short[] {
  return [
    { did: "rules" },
    { did: "acquire", token: "1", startMs: 100, endMs: 9_000 },
    ...[
      {
        did: "list" as const,
        token: "1",
        ticket: "1",
        group: "a",
        requestedUs: 1e6,
        grantedUs: 1e6,
        endedUs: 9e6,
      },
    ],
    ...(other ? [{ did: "list" as const, token: "4", ticket: "3", ...other }] : []),
  ];
}

function rulesBroken(...entries: Short[]): string[] {
  const history = new History();
  for (const [index, entry] of entries.entries()) {
    const usual = { who: `client ${index}`, startMs: 10 * index, endMs: 10 * index + 5, askedMs: 10 * index };
    history.add({ ...usual, ...USUAL[entry.did], ...entry } as unknown as Entry);
  }
  return [...new Set(check(history, TTL_MS).map(({ rule }) => rule))];
}

/** Of a claim for two locks. */
const both = { set: ["y", "z"], requestId: "s1" };
const ofBoth = (row: object, other: object = {}): Short[] => {
  const at = (lock: string, beside: string) => ({ did: "list", lock, also: [{ lock: beside, token: "1" }] });
  return [{ ...at("y", "z"), ...row } as Short, { ...at("z", "y"), ...row, ...other } as Short];
};

test("a history that keeps all promises has no breach", () => {
  const broken = rulesBroken(
    { did: "limit", limit: 2 },
    { did: "acquire", token: "1", requestId: "x", who: "A" },
    { did: "acquire", token: "1", requestId: "x", who: "A" },
    { did: "hold", token: "1", endMs: 60 },
    { did: "acquire", token: "2", requestId: "y", who: "B" },
    { did: "hold", token: "2", endMs: 60 },
    { did: "release", token: "1", startMs: 60, endMs: 61 },
    { did: "acquire", outcome: "unknown", who: "A" },
    { did: "hold", token: "4" },
    { did: "read", value: 0, version: "0" },
    { did: "count", from: 0, to: 1, fromVersion: "0", version: "5" },
    { did: "count", from: 1, to: 2, fromVersion: "5", outcome: "unknown" },
    { did: "read", value: 2, version: "7" },
    // A record that was deleted begins anew with a higher version.
    { did: "count", lock: "e", from: 0, to: 1, fromVersion: "0", version: "5" },
    { did: "count", lock: "e", from: 1, to: 0, fromVersion: "5", version: "0" },
    { did: "read", lock: "e", value: 0, version: "0" },
    { did: "count", lock: "g", from: 0, to: 1, fromVersion: "0", version: "1" },
    { did: "count", lock: "g", from: 1, to: 0, fromVersion: "1", outcome: "unknown" },
    { did: "final", lock: "g", status: null },
    { did: "count", lock: "e", from: 0, to: 1, fromVersion: "0", version: "7" },
    { did: "make", restMs: 10 },
    { did: "take", taken: [{ task: "t", token: "1" }], who: "A" },
    { did: "finish", token: "1", status: "again", restMs: 10 },
    { did: "take", taken: [{ task: "t", token: "2" }], who: "A" },
    { did: "finish", token: "2" },
    // A pause by a pattern, and one that may come into force later.
    { did: "limit", lock: "p", pattern: "p*", limit: 0, endMs: 20_000 },
    { did: "limit", lock: "p", pattern: "p*", limit: 1, startMs: 20_000, endMs: 20_001, outcome: "unknown" },
    { did: "acquire", lock: "p", endMs: 40_000, outcome: "refused", reason: "TIMED_OUT" },
    // What was ended by force may be held by the next one before its client hears of that.
    { did: "hold", lock: "f", token: "1", endMs: 2_000 },
    { did: "acquire", lock: "f", outcome: "refused", reason: "LEASE_LOST", toldMs: 100, endMs: 2_000 },
    { did: "force", lock: "f", ended: 1 },
    { did: "hold", lock: "f", token: "2", endMs: 1_000 },
    // A burst at once, then one each second; what was spent is told again.
    { did: "rate", target: "r" },
    ...[1, 2, 3].map(
      (token): Short => ({
        ...{
          did: "acquire",
          lock: "r",
          token: String(token),
          requestId: `r${token}`,
          who: "A",
          spends: true,
        },
        ...{
          startMs: 900 + 10 * token + (token === 3 ? 1_000 : 0),
          endMs: 905 + 10 * token + (token === 3 ? 1_000 : 0),
        },
      }),
    ),
    { did: "again", lock: "r", requestId: "r1", first: "1", token: "1" },
    {
      did: "acquire",
      lock: "r",
      outcome: "refused",
      reason: "RATE",
      retryAfterMs: 900,
      startMs: 990,
      endMs: 995,
    },
    // Of two locks together, with a token of each; and one that gave both places up, before others came.
    ...["y", "z"].flatMap((lock): Short[] => [
      { did: "acquire", lock, ...both, token: "1", who: "A", startMs: 50, endMs: 60 },
      { did: "hold", lock, ...both, token: "1", startMs: 60, endMs: 5_000 },
      {
        did: "acquire",
        lock,
        ...both,
        requestId: "s2",
        who: "B",
        outcome: "refused",
        startMs: 70,
        endMs: 4_000,
      },
      { did: "release", lock, ...both, token: "1", who: "A", startMs: 5_000, endMs: 5_001 },
    ]),
    { did: "heal" },
    // Repeated, and refused while its first attempt was under way.
    { did: "acquire", lock: "q", outcome: "refused", reason: "BUSY", who: "A", startMs: 0, endMs: 3_000 },
    { did: "list", lock: "q", token: "1", ticket: "1", owner: "A", endReason: "EXPIRED" },
    { did: "list", token: "1", ticket: "1", owner: "A", endReason: "RELEASED" },
    { did: "list", token: "2", ticket: "3", owner: "B" },
    { did: "list", token: "4", ticket: "4", owner: "A" },
    { did: "list", lock: "t", token: "1", ticket: "1", owner: "A", endReason: "RELEASED" },
    { did: "list", lock: "t", token: "2", ticket: "2", owner: "A", endReason: "RELEASED" },
    { did: "list", lock: "f", token: "1", ticket: "1", owner: "A", endReason: "FORCE_RELEASED" },
    ...ofBoth({ token: "1", ticket: "1", owner: "A", endReason: "RELEASED", grantedUs: 1e6, endedUs: 2e6 }),
    { did: "list", lock: "y", token: "2", ticket: "3", owner: "A", grantedUs: 12e6 },
    { did: "acquire", lock: "y", token: "2", who: "A" },
    { did: "unserved", lock: "y", ticket: "2", owner: "B", also: ["z"] },
    { did: "unserved", lock: "z", ticket: "2", owner: "B", also: ["y"] },
    ...[1, 2, 3].map(
      (token): Short => ({
        ...{ did: "list", lock: "r", token: String(token), ticket: String(token), owner: "A" },
        endReason: "SPENT",
      }),
    ),
    { did: "note", target: "r", after: "1" },
    { did: "final", lock: "r", rate: RATE, lastToken: "3" },
    { did: "note", kind: "forced release", target: "f" },
    { did: "note", after: "2" },
    { did: "note", target: "p*", after: "0" },
    { did: "note", target: "p*", before: "0" },
    { did: "note", kind: "record", target: "n", after: '{"status":"1","version":"5"}' },
    { did: "note", kind: "record", target: "e", after: '{"status":"1","version":"5"}' },
    { did: "note", kind: "record", target: "e", before: '{"status":"1","version":"5"}' },
    { did: "note", kind: "record", target: "e", after: '{"status":"1","version":"7"}' },
    { did: "note", kind: "record", target: "g", after: '{"status":"1","version":"1"}' },
    { did: "final", limit: 2, lastToken: "2" },
    { did: "watch", lastToken: "2" },
    { did: "final", lock: "n", status: "2" },
    { did: "final", lock: "t", status: "done", attemptsLeft: 0 },
  );
  expect(broken).toEqual([]);
});

test("a task that was put off while the clock was wrong may rest for long", () => {
  const task = (step: Short, outcome: "released" | "unknown" = "released") =>
    rulesBroken(
      { did: "make" },
      { did: "take", taken: [{ task: "t", token: "1" }], who: "A" },
      { did: "finish", token: "1", status: "again", restMs: 10, outcome },
      step,
      { did: "final", lock: "t", status: "again", attemptsLeft: 1 },
    );
  expect(task({ did: "step", startMs: 0, endMs: 21 })).toEqual([]);
  expect(task({ did: "step", startMs: 30, endMs: 40 })).toEqual(["no task is lost"]);
  expect(task({ did: "step", startMs: 30, endMs: 40 }, "unknown")).toEqual([]);
});

const listed = { did: "list", token: "1", ticket: "1", owner: "A", endReason: "RELEASED" } as const;
const state = (status: number, version: number) => `{"status":"${status}","version":"${version}"}`;
const held = (token: string, more: object = {}): Short => ({ did: "hold", token, endMs: NEVER_MS, ...more });

const rated: Short = { did: "rate" };
const pool: Short = { did: "pool" };
const removed: Short = { did: "pool", limit: null };
const inPool = { lock: "p/a" } as const;
const spent = (token: string, more: object = {}): Short => ({ did: "acquire", spends: true, token, ...more });

describe.each<[rule: string, histories: readonly (readonly Short[])[]]>([
  [
    "never held more often than allowed",
    [
      [held("1"), held("2")],
      [held("1", { mode: "shared" }), held("2", { mode: "exclusive" })],
      [held("1", { mode: "shared" }), held("2")],
      // A lower limit is in force when its call was answered, unless its outcome is unknown.
      [{ did: "limit", limit: 2 }, { did: "limit", limit: 1 }, held("1"), held("2")],
      [{ did: "limit", limit: 3 }, held("1", { permits: 2 }), held("2", { permits: 2 })],
      // Paused.
      [{ did: "limit", limit: 0 }, held("1")],
      // Ended by force before the second one, and the third one is not.
      [held("1"), { did: "force", ended: 1 }, held("2"), held("3")],
      // Under a pool.
      [pool, held("1", inPool), held("1", { lock: "p/b" })],
      [pool, held("1", { ...inPool, mode: "shared" }), held("2", { ...inPool, mode: "shared" })],
      [
        { ...pool, limit: 2 },
        pool,
        held("1", { ...inPool, permits: 2 }),
        { did: "limit", ...inPool, limit: 2 },
      ],
      // Of several locks, one of which was not ended by force.
      [held("1", { ...both, lock: "y" }), { did: "force", lock: "a", ended: 1 }, held("2", { lock: "y" })],
      // Held before there was the pool, which counts all holders.
      [held("1", inPool), pool, { did: "whole" }, held("1", { lock: "p/b" })],
    ],
  ],
  [
    "tokens never repeat",
    [
      [
        { did: "acquire", token: "7" },
        { did: "acquire", token: "7" },
      ],
      [
        { did: "take", taken: [{ task: "t", token: "3" }] },
        { did: "take", taken: [{ task: "t", token: "3" }] },
      ],
    ],
  ],
  [
    "one request id is one claim",
    [
      [
        { did: "acquire", token: "7", requestId: "x" },
        { did: "acquire", token: "8", requestId: "x" },
      ],
    ],
  ],
  [
    "one call is one claim",
    [
      [{ did: "acquire", token: "1", who: "A" }, listed, { ...listed, token: "2", ticket: "2" }],
      [{ did: "acquire", outcome: "refused", reason: "BUSY", who: "A" }, listed],
    ],
  ],
  [
    "history tells what happened",
    [
      [{ did: "acquire", token: "1", who: "B" }, listed],
      [{ did: "acquire", token: "1", who: "A", permits: 2 }, listed],
      [{ did: "acquire", token: "1", who: "A", mode: "shared" }, listed],
      [
        { did: "release", token: "1" },
        { ...listed, endReason: "EXPIRED" },
      ],
      [
        { did: "finish", token: "1" },
        { ...listed, lock: "t", endReason: "EXPIRED" },
      ],
      [{ did: "force", ended: 1 }, listed],
      [{ did: "force", ended: 0 }, listed, { did: "note", kind: "forced release" }],
      // A lease of two locks that was ended by force is one.
      [
        { did: "acquire", lock: "y", ...both, token: "1", who: "A" },
        { did: "force", lock: "z", ended: 1 },
        ...ofBoth({ token: "1", ticket: "1", owner: "A", endReason: "FORCE_RELEASED" }),
      ],
      [{ did: "limit", limit: 2 }, listed],
      [
        { did: "limit", limit: 2 },
        listed,
        { did: "note", after: "2" },
        { did: "note", before: "2", after: "3" },
      ],
      [
        { did: "limit", limit: 2 },
        { did: "limit", limit: 3 },
        listed,
        { did: "note", after: "2" },
        { did: "note", before: "4", after: "3" },
      ],
      [
        { did: "count", from: 0, to: 1, fromVersion: "0", version: "2" },
        listed,
        { did: "note", kind: "record", target: "n", after: state(1, 3) },
      ],
      [
        { did: "count", from: 0, to: 1, fromVersion: "0", version: "2" },
        { did: "count", from: 1, to: 2, fromVersion: "2", version: "3" },
        listed,
        { did: "note", kind: "record", target: "n", after: state(1, 2) },
        { did: "note", kind: "record", target: "n", before: state(1, 1), after: state(2, 3) },
      ],
    ],
  ],
  [
    "never granted faster than allowed",
    [
      [rated, spent("1"), spent("2"), spent("3")],
      [rated, spent("1", { permits: 3 })],
      // By the database's clock, and although the same rate was set again.
      [
        rated,
        spent("1", { startMs: 1_000, endMs: 2_000, grantedUs: 5e6, permits: 2 }),
        { did: "rate", startMs: 2_001, endMs: 2_002 },
        spent("2", { startMs: 3_000, endMs: 9_000, grantedUs: 5.7e6 }),
      ],
      // Nobody was told of the second one.
      [
        rated,
        spent("1"),
        { ...listed, token: "2", ticket: "2", startMs: 60, endMs: 61 },
        spent("3", { startMs: 50, endMs: 55 }),
      ],
      // Of a pool, by several locks under it.
      [
        { ...pool, rate: RATE },
        { did: "whole" },
        spent("1", { lock: "p/a" }),
        spent("1", { lock: "p/b" }),
        spent("2", { lock: "p/a" }),
      ],
    ],
  ],
  [
    "a paused pool grants nothing",
    [
      [
        { ...pool, limit: 0 },
        { did: "acquire", token: "1", ...inPool },
      ],
    ],
  ],
  ["a new pool is whole soon", [[pool, { did: "final pool", isWhole: false }]]],
  [
    "a spend is paid once",
    [
      [spent("1"), { did: "again", first: "1", token: "2" }],
      [spent("1"), { did: "again", first: "1", outcome: "refused", reason: "RATE" }],
    ],
  ],
  [
    "nobody is kept from what the rate allows",
    [
      [
        rated,
        { did: "acquire", outcome: "refused", reason: "RATE", startMs: 2_400, endMs: 2_401 },
        listed,
        { did: "final" },
      ],
      [
        rated,
        spent("1", { startMs: 4_000, endMs: 4_001 }),
        {
          did: "acquire",
          outcome: "refused",
          reason: "RATE",
          retryAfterMs: 500,
          startMs: 4_100,
          endMs: 4_101,
        },
        listed,
        { did: "final" },
      ],
    ],
  ],
  [
    "an acknowledged rate stays",
    [
      [rated, { did: "final", rate: null }],
      [rated, { did: "rate", rate: null }, { did: "final", rate: RATE }],
    ],
  ],
  [
    "nothing is granted before its time",
    [
      [
        { did: "make", restMs: 1_000 },
        { did: "take", taken: [{ task: "t", token: "1" }] },
      ],
      [
        { did: "finish", token: "1", status: "again", restMs: 1_000 },
        { did: "take", taken: [{ task: "t", token: "2" }] },
      ],
    ],
  ],
  [
    "an acknowledged status stays",
    [
      [
        { did: "finish", token: "1" },
        { did: "take", taken: [{ task: "t", token: "2" }] },
      ],
      [
        { did: "finish", token: "1" },
        { did: "final", lock: "t", status: "new", attemptsLeft: 1 },
      ],
    ],
  ],
  [
    "no used attempt comes back",
    [
      [
        { did: "make" },
        { did: "take", taken: [{ task: "t", token: "1" }] },
        { did: "final", lock: "t", status: "done", attemptsLeft: 2 },
      ],
    ],
  ],
  [
    "nobody waits for ever for what is free",
    [
      [{ did: "acquire", outcome: "refused", reason: "TIMED_OUT", endMs: 8_000 }],
      [{ did: "acquire", token: "1", endMs: 8_000 }],
      // Two, one after the other, after a fault and after a pause.
      [
        { did: "fault", endMs: 10_000 },
        { did: "limit", limit: 0, startMs: 10_000, endMs: 10_001 },
        { did: "limit", limit: 1, startMs: 10_002, endMs: 10_003 },
        { did: "acquire", outcome: "unknown", endMs: 14_000 },
        { did: "acquire", outcome: "unknown", startMs: 13_000, endMs: 18_000 },
      ],
    ],
  ],
  [
    "several locks are taken and given back together",
    [
      [
        { did: "acquire", lock: "y", ...both, token: "1", who: "A" },
        { did: "acquire", lock: "z", ...both, outcome: "refused", reason: "NOT_GIVEN", who: "A" },
      ],
      ofBoth(listed, { state: "held", endReason: undefined }),
      ofBoth(listed, { endReason: "EXPIRED" }),
      ofBoth(listed, { owner: "B" }),
      ofBoth(listed, { also: undefined }),
      ofBoth({ ...listed, endedUs: 1e6 }, { endedUs: 2e6 }),
      ofBoth({ ...listed, grantedUs: 1e6 }, { grantedUs: 2e6 }),
      ofBoth(listed, { token: "2" }),
      [{ did: "unserved", ticket: "1", also: ["z"] }],
      [
        { did: "unserved", ticket: "1", also: ["z"] },
        { did: "unserved", lock: "z", ticket: "1", also: ["a"], endReason: "CANCELLED" },
      ],
    ],
  ],
  ["a lease belongs to who asked for it", [[{ ...listed, principal: "token:B" }]]],
  [
    "nobody is denied what they may do",
    [
      [{ did: "deny" }],
      [
        { did: "revoke", who: "A", endMs: 10_000 },
        { did: "deny", who: "B" },
      ],
      [
        { did: "revoke", who: "A", endMs: 10_000 },
        { did: "deny", who: "A", startMs: 14_000, endMs: 14_001 },
      ],
    ],
  ],
  [
    "whoever has no rights is denied",
    [
      [
        { did: "revoke", who: "A", endMs: 10_000 },
        { did: "acquire", who: "A", token: "1", startMs: 4_000, endMs: 4_100 },
      ],
    ],
  ],
  [
    "tokens rise",
    [
      [
        { did: "acquire", token: "8" },
        { did: "acquire", token: "7" },
      ],
    ],
  ],
  [
    "first come, first served",
    [
      [
        { did: "list", token: "1", ticket: "2" },
        { did: "list", token: "2", ticket: "1" },
      ],
      // One that was never granted.
      [
        { did: "list", token: "1", ticket: "2", grantedUs: 5e6 },
        { did: "unserved", ticket: "1" },
      ],
    ],
  ],
  [
    "the group that holds least is next",
    [
      [
        ...sharedBy({ group: "b", requestedUs: 2e6, grantedUs: 8e6 }),
        { did: "list", token: "3", ticket: "4", group: "a", requestedUs: 3e6, grantedUs: 6e6 },
      ],
      // One that was never granted.
      [
        ...sharedBy(),
        { did: "unserved", ticket: "3", group: "b", requestedUs: 2e6 },
        { did: "list", token: "3", ticket: "4", group: "a", requestedUs: 3e6, grantedUs: 6e6 },
      ],
    ],
  ],
  [
    "an acknowledged limit stays",
    [
      [
        { did: "limit", limit: 3 },
        { did: "limit", limit: 4 },
        { did: "final", limit: 3 },
      ],
    ],
  ],
  [
    "a compare-and-set is won once",
    [
      [
        { did: "count", from: 0, to: 1, fromVersion: "3", version: "4" },
        { did: "count", from: 0, to: 1, fromVersion: "3", version: "5" },
      ],
    ],
  ],
  [
    "versions never fall",
    [
      [
        { did: "count", from: 0, to: 1, fromVersion: "0", version: "3" },
        { did: "read", value: 2, version: "2" },
      ],
    ],
  ],
  ["versions rise", [[{ did: "count", from: 0, to: 1, fromVersion: "3", version: "3" }]]],
  [
    "versions never repeat",
    [
      [
        { did: "read", value: 1, version: "3" },
        { did: "count", from: 1, to: 2, fromVersion: "2", version: "3" },
      ],
    ],
  ],
  [
    "no replaced value comes back",
    [
      [
        { did: "count", from: 1, to: 2, fromVersion: "2", version: "3" },
        { did: "read", value: 1, version: "2" },
      ],
    ],
  ],
  [
    "no acknowledged change is lost",
    [
      [
        { did: "count", from: 0, to: 1, fromVersion: "0", version: "1" },
        { did: "final", lock: "n", status: "0" },
      ],
      // Counted although nobody did it.
      [
        { did: "count", from: 0, to: 1, fromVersion: "0", version: "1" },
        { did: "final", lock: "n", status: "2" },
      ],
    ],
  ],
  [
    "the history has each grant",
    [
      [
        { did: "acquire", token: "1" },
        { did: "list", token: "2", ticket: "1" },
      ],
    ],
  ],
  [
    "an acknowledged release stays",
    [
      [
        { did: "release", token: "1" },
        { did: "list", token: "1", ticket: "1", state: "held" },
      ],
    ],
  ],
  [
    "never more attempts than allowed",
    [
      [
        { did: "make", attempts: 1 },
        { did: "take", taken: [{ task: "t", token: "1" }] },
        { did: "take", taken: [{ task: "t", token: "2" }] },
        { did: "final", lock: "t", status: "done", attemptsLeft: 0 },
      ],
    ],
  ],
  ["no task is lost", [[{ did: "make" }, { did: "final", lock: "t", status: "new", attemptsLeft: 2 }]]],
  [
    "no attempt is given to nobody",
    [
      [
        { did: "make" },
        { did: "take", taken: [{ task: "t", token: "2" }] },
        { did: "final", lock: "t", status: "done", attemptsLeft: 0 },
      ],
    ],
  ],
  ["no fenced write is lost", [[{ did: "write", token: "1", base: 1, found: 2 }]]],
  ["grants flow again soon", [[{ did: "heal", outcome: "unknown" }], [{ did: "heal", endMs: NEVER_MS }]]],
  ["each call ends", [[{ did: "nothing", command: "acquire" }]]],
  [
    "a waiter is told of its grant",
    [
      [{ did: "acquire", outcome: "refused", reason: "LAPSED" }],
      [
        { did: "fault", name: "a foreign transaction holds guard rows for 1 s" },
        { did: "acquire", outcome: "refused", reason: "LEASE_LOST", startMs: 0, toldMs: 12 },
      ],
    ],
  ],
  ["nothing is held for nobody", [[{ did: "final", holders: 1 }]]],
  ["nobody waits for what is free", [[{ did: "final", waiting: 1 }]]],
  [
    "watches end at the true state",
    [
      [{ did: "final" }, { did: "watch", lastToken: "2" }],
      [{ did: "final" }, { did: "watch", holders: 1 }],
      [{ did: "final" }, { did: "watch", lastToken: null, holders: null }],
    ],
  ],
])("%s", (rule, histories) => {
  test.each(histories.map((history, index) => ({ index, history })))(
    "a breach is found, $index",
    ({ history }) => {
      expect(rulesBroken(...history)).toContain(rule);
    },
  );
});

test.each<[why: string, ...told: Short[]]>([
  ["others are set meanwhile", rated, spent("1", { permits: 2 }), { did: "rate", rate: null }, spent("2")],
  [
    "another one may be set later",
    { did: "rate", rate: null, outcome: "unknown" },
    rated,
    spent("1", { permits: 3 }),
  ],
  ["some servers may not know of it", { did: "rate", outcome: "unknown" }, spent("1", { permits: 3 })],
  ["the clock is set", rated, spent("1", { permits: 2 }), { did: "step" }, spent("2")],
  [
    "a server decides by what it read before it was frozen",
    rated,
    { did: "fault", name: "a server is frozen for 2 s", startMs: 100, endMs: 2_100 },
    spent("1", { startMs: 90, endMs: 2_110, permits: 2, grantedUs: 2.1e6 }),
    spent("2", { startMs: 2_105, endMs: 2_115, grantedUs: 2.101e6 }),
  ],
  ["time passes", rated, spent("1", { permits: 2 }), spent("2", { startMs: 700, endMs: 801 })],
])("a rate is not broken if %s", (_, ...told) => {
  expect(rulesBroken(...told)).not.toContain("never granted faster than allowed");
});

test.each<[why: string, ...told: Short[]]>([
  ["it was made meanwhile", held("1", inPool), pool, held("1", { lock: "p/b" })],
  ["another name", pool, held("1", { lock: "q/a" }), held("1", { lock: "q/b" })],
  [
    "some servers may not know of it",
    { ...pool, isEverywhere: false },
    held("1", inPool),
    held("1", { lock: "p/b" }),
  ],
  [
    "it may be removed later",
    { ...removed, outcome: "unknown" },
    pool,
    held("1", inPool),
    held("1", { lock: "p/b" }),
  ],
  ["it was removed", pool, removed, held("1", inPool), held("1", { lock: "p/b" })],
  ["it was lowered meanwhile", { ...pool, limit: 2 }, held("1", inPool), held("1", { lock: "p/b" }), pool],
  [
    "its limit may have been higher",
    pool,
    { ...pool, limit: 2, outcome: "unknown" },
    held("1", inPool),
    held("1", { lock: "p/b" }),
  ],
])("a pool is not broken by holders if %s", (_, ...told) => {
  expect(rulesBroken(...told)).not.toContain("never held more often than allowed");
});

test("whoever waits under a pool is granted while there is room", () => {
  const waits = {
    did: "acquire",
    outcome: "refused",
    reason: "TIMED_OUT",
    startMs: 10,
    endMs: 30_000,
    ...inPool,
  } as const;
  const other = held("1", { lock: "p/b", endMs: 30_000 });
  const rule = "nobody waits for ever for what is free";
  expect(rulesBroken(pool, waits)).toContain(rule);
  expect(rulesBroken(pool, waits, other)).not.toContain(rule);
  expect(rulesBroken({ ...pool, limit: 2 }, waits, other)).toContain(rule);
  expect(rulesBroken({ ...pool, limit: 0 }, waits)).not.toContain(rule);
  expect(rulesBroken(pool, { ...pool, limit: 0, outcome: "unknown" }, waits)).not.toContain(rule);
});

test("whoever waits for several locks is granted while nobody holds one of those that are held together", () => {
  const waits = {
    did: "acquire",
    ...both,
    lock: "y",
    outcome: "refused",
    reason: "TIMED_OUT",
    endMs: 30_000,
  } as const;
  const rule = "nobody waits for ever for what is free";
  expect(rulesBroken(waits)).toContain(rule);
  expect(rulesBroken(waits, held("1", { lock: "z", endMs: 30_000 }))).not.toContain(rule);
  expect(rulesBroken(waits, held("1", { lock: "x", endMs: 30_000 }))).toContain(rule);
  const further = {
    did: "acquire",
    set: ["z", "x"],
    lock: "z",
    requestId: "s3",
    outcome: "refused",
  } as const;
  expect(rulesBroken(waits, further, held("1", { lock: "x", endMs: 30_000 }))).not.toContain(rule);
});

test("a lease of several locks is ended by force at any of them", () => {
  const broken = rulesBroken(
    { did: "hold", ...both, lock: "y", token: "1", endMs: NEVER_MS },
    { did: "force", lock: "z", ended: 1 },
    { did: "hold", lock: "y", token: "2", endMs: NEVER_MS },
  );
  expect(broken).not.toContain("never held more often than allowed");
});

describe("a history with a lost tail", () => {
  const lose: Short = { did: "lose", startMs: 100, endMs: 200 };
  const within = { startMs: 120, endMs: 125 };
  const before = { startMs: 50, endMs: 99 };
  const after = { startMs: 300, endMs: 305 };
  const lostChanges: readonly (readonly Short[])[] = [
    [{ did: "limit", limit: 3, ...within }, { did: "final" }],
    [
      { did: "list", token: "1", ticket: "1" },
      { did: "acquire", token: "2", ...within },
    ],
    [
      { did: "list", token: "1", ticket: "1", state: "held" },
      { did: "release", token: "1", ...within },
    ],
    [
      { did: "count", from: 0, to: 1, fromVersion: "0", version: "1", ...within },
      { did: "count", from: 0, to: 1, fromVersion: "0", version: "7", ...after },
      { did: "final", lock: "n", status: "1" },
    ],
    [
      { did: "count", from: 0, to: 1, fromVersion: "0", version: "1", startMs: 1, endMs: 2 },
      { did: "read", value: 5, version: "9", ...within },
      { did: "read", value: 4, version: "8", ...after },
    ],
    [
      { did: "make", attempts: 1 },
      { did: "take", taken: [{ task: "t", token: "1" }], ...within },
      { did: "take", taken: [{ task: "t", token: "9" }], ...after },
      { did: "final", lock: "t", status: "done", attemptsLeft: 0 },
    ],
  ];

  test.each(lostChanges.map((changes, index) => ({ index, changes })))(
    "may lack what was acknowledged within it, and only that, $index",
    ({ changes }) => {
      expect(rulesBroken(lose, ...changes)).toEqual([]);
      const earlier = changes.map((change) =>
        change.endMs === within.endMs ? { ...change, ...before } : change,
      );
      expect(rulesBroken(lose, ...earlier)).not.toEqual([]);
    },
  );

  test.each<[rule: string, ...told: Short[]]>([
    [
      "tokens never repeat",
      { did: "acquire", token: "7", ...within },
      { did: "acquire", token: "7", ...after },
    ],
    ["tokens rise", { did: "acquire", token: "7", ...within }, { did: "acquire", token: "6", ...after }],
    ["never held more often than allowed", held("1", { ...within, endMs: 400 }), held("2", after)],
    ["no fenced write is lost", { did: "write", token: "1", base: 1, found: 2, ...within }],
  ])("does not excuse: %s", (rule, ...changes) => {
    expect(rulesBroken(lose, ...changes)).toContain(rule);
  });
});

test("a lease that was ended by force before its client heard of it is not held", () => {
  const broken = rulesBroken(
    { did: "hold", token: "1", askedMs: 5, startMs: 40, endMs: 80 },
    { did: "force", ended: 1, startMs: 10, endMs: 20 },
    { did: "hold", token: "2", askedMs: 21, startMs: 25, endMs: 90 },
  );
  expect(broken).not.toContain("never held more often than allowed");
});
