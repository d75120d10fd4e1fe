// The checker finds each kind of breach in a short history, and none in one that keeps all promises.

import { describe, expect, test } from "vitest";
import { type Entry, History } from "../history/history.ts";
import { check } from "./check.ts";

const TTL_MS = 2_000;
const NEVER_MS = 1e9;

/** What each kind of entry has if the history does not say otherwise. Later entries have later times. */
const USUAL = {
  nothing: {},
  acquire: { lock: "a", mode: "permit", permits: 1, requestId: "", outcome: "granted" },
  hold: { lock: "a", mode: "permit", permits: 1 },
  release: { lock: "a", outcome: "released" },
  limit: { lock: "a", outcome: "done" },
  count: { lock: "n", outcome: "done" },
  read: { lock: "n" },
  make: { task: "t", attempts: 2, isCounted: true, outcome: "done" },
  take: { outcome: "taken" },
  finish: { task: "t", outcome: "released" },
  write: { lock: "a", accepted: true },
  fault: { name: "a fault" },
  heal: { outcome: "granted" },
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
  watch: { lock: "a", lastToken: "1", holders: 0 },
  list: { lock: "a", state: "ended" },
} as const;

type Short = { readonly did: Entry["did"]; readonly [field: string]: unknown };

function rulesBroken(...entries: Short[]): string[] {
  const history = new History();
  for (const [index, entry] of entries.entries()) {
    const usual = { who: `client ${index}`, startMs: 10 * index, endMs: 10 * index + 5, askedMs: 10 * index };
    history.add({ ...usual, ...USUAL[entry.did], ...entry } as unknown as Entry);
  }
  return [...new Set(check(history, TTL_MS).map(({ rule }) => rule))];
}

test("a history that keeps all promises has no breach", () => {
  const broken = rulesBroken(
    { did: "limit", limit: 2 },
    { did: "acquire", token: "1", requestId: "x" },
    { did: "acquire", token: "1", requestId: "x" },
    { did: "hold", token: "1", endMs: 60 },
    { did: "acquire", token: "2", requestId: "y" },
    { did: "hold", token: "2", endMs: 60 },
    { did: "release", token: "1", startMs: 60, endMs: 61 },
    { did: "acquire", outcome: "unknown" },
    { did: "hold", token: "4" },
    { did: "read", value: 0, version: "0" },
    { did: "count", from: 0, to: 1, fromVersion: "0", version: "5" },
    { did: "count", from: 1, to: 2, fromVersion: "5", outcome: "unknown" },
    { did: "read", value: 2, version: "7" },
    { did: "make" },
    { did: "take", taken: [{ task: "t", token: "1" }] },
    { did: "take", taken: [{ task: "t", token: "2" }] },
    { did: "finish", token: "2" },
    { did: "heal" },
    { did: "list", token: "1", ticket: "1" },
    { did: "list", token: "2", ticket: "3" },
    { did: "final", limit: 2, lastToken: "2" },
    { did: "watch", lastToken: "2" },
    { did: "final", lock: "n", status: "2" },
    { did: "final", lock: "t", status: "done", attemptsLeft: 0 },
  );
  expect(broken).toEqual([]);
});

const held = (token: string, more: object = {}): Short => ({ did: "hold", token, endMs: NEVER_MS, ...more });

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
  ["a waiter is told of its grant", [[{ did: "acquire", outcome: "refused", reason: "LAPSED" }]]],
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
