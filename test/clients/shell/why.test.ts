// `rowlock why`: what it asks for, each cause with what to do about it, and the estimate.

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ClaimState } from "#proto/rowlock/v1/lock_pb.js";
import type { ExplainWaitRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { estimateWords, explanationPage } from "../../../clients/shell/wait-causes.ts";
import { targetOf } from "../../../clients/shell/why.ts";
import type { ClaimView, LockView, WaitCause } from "../../../clients/typescript/src/index.ts";
import { unknownClaim } from "../../../server/grpc/messages/call-error.ts";
import type { Script } from "../../support/scripted-server.ts";
import { EVIL, ranOver } from "./scripted.ts";

const NOW_MS = new Date(2026, 10, 24, 3, 0, 0).getTime();
const plain = (_: string, text: string) => text;
const inMs = (ms: number) => new Date(NOW_MS + ms);
const claim = (ticketNumber: number, owner: string) =>
  ({ lockName: "l", ticketNumber: BigInt(ticketNumber), owner }) as ClaimView;

/** The line of a cause, without its dash. */
function lineOf(cause: WaitCause, name = "etl/load"): string | undefined {
  const lock = { name } as LockView;
  const page = explanationPage({ lock, causes: [cause], summary: "s" }, NOW_MS, plain);
  return /^ {2}- (.*)$/m.exec(page)?.[1];
}

const limit = { permits: 0, version: 3n, reason: "" } as const;
const rate = { permits: 500, per: 60_000, burst: 20, version: 3n, reason: "" } as const;
const use = {
  ...{ heldPermits: 0, holderCount: 0, waiterCount: 0, available: 0 },
  ...{ draining: false, counting: false },
};

/** Causes, and what is said of them. */
const SAID: [WaitCause, string][] = [
  [
    { kind: "held", holders: [claim(11, "nightly")], holderCount: 1, firstEndsAt: inMs(60_000) },
    "nightly (#11) holds it; unless it is renewed, the first lease ends at 2026-11-24 03:01:00, in 60 s: rowlock release etl/load --force --ticket 11 --reason WHY",
  ],
  [
    { kind: "held", holders: [1, 2, 3, 4].map((each) => claim(each, "o")), holderCount: 14 },
    "o (#1), o (#2), o (#3), 11 more hold it; no lease has an end: rowlock release etl/load --force --reason WHY",
  ],
  // The caller may not see who they are.
  [
    { kind: "held", holders: [], holderCount: 1 },
    "1 holds it; no lease has an end: rowlock release etl/load --force --reason WHY",
  ],
  [
    { kind: "queued", ahead: 2, permitsAhead: 5, first: [claim(12, "a"), claim(13, "b")] },
    "a (#12), b (#13) wait before it, for 5 in all: rowlock show etl/load",
  ],
  [
    {
      kind: "limit",
      limit: { ...limit, source: "pattern", pattern: "etl/*", reason: "upgrade" },
      setAt: inMs(-7_200_000),
      setBy: "token:anna",
    },
    "the limit is 0 by etl/*, set by token:anna 2 h ago (upgrade): rowlock limit --pattern 'etl/*' PERMITS",
  ],
  [
    { kind: "limit", limit: { ...limit, source: "name", reason: '[paused by "etl/load", "etl/*"; was 4]' } },
    'the limit is 0 ([paused by "etl/load", "etl/*"; was 4]): rowlock resume etl/load; rowlock resume \'etl/*\'',
  ],
  [
    { kind: "limit", limit: { ...limit, source: "name", reason: String.raw`[paused by "\x"; was 4]` } },
    String.raw`the limit is 0 ([paused by "\x"; was 4]): rowlock limit etl/load PERMITS`,
  ],
  [{ kind: "limit", limit: { ...limit, source: "name" } }, "the limit is 0: rowlock limit etl/load PERMITS"],
  [
    {
      kind: "rate",
      rate: { ...rate, source: "pattern", pattern: "etl/*", reason: "their quota" },
      until: inMs(3_000),
    },
    "the rate is 500/1m, burst 20 by etl/* (their quota), and allows it at 2026-11-24 03:00:03, in 3 s: wait, or rowlock limit --pattern 'etl/*' --rate PERMITS/TIME",
  ],
  [
    { kind: "rate", rate: { ...rate, source: "name" } },
    "the rate is 500/1m, burst 20, and the request asks for more at once: rowlock limit etl/load --rate PERMITS/TIME --burst COUNT",
  ],
  [
    {
      kind: "pool",
      pool: {
        pattern: "etl/*",
        limit: { ...limit, permits: 50, source: "pool", reason: "their quota" },
        use: { ...use, heldPermits: 50 },
      },
      waitsHere: true,
      ahead: 2,
      permitsAhead: 2,
    },
    "the pool etl/* has 50 of 50 permits taken, and 2 wait there before it (their quota): rowlock limit --pool 'etl/*' PERMITS",
  ],
  [
    {
      kind: "pool",
      pool: { pattern: "etl/*", rate: { ...rate, source: "pool" }, use },
      ...{ waitsHere: false, ahead: 0, permitsAhead: 0, rateUntil: inMs(3_000) },
    },
    "the pool etl/* has a rate of 500/1m, burst 20 that allows it at 2026-11-24 03:00:03, in 3 s: wait, or rowlock limit --pool 'etl/*' --rate PERMITS/TIME",
  ],
  // The caller may not see which.
  [
    {
      kind: "pool",
      pool: { pattern: "", limit: { ...limit, source: "pool" }, use },
      ...{ waitsHere: true, ahead: 0, permitsAhead: 0 },
    },
    "a pool has 0 of 0 permits taken: rowlock show etl/load",
  ],
  [
    { kind: "not before", notBefore: inMs(7_200_000) },
    "it is not due before 2026-11-24 05:00:00, in 2 h: rowlock update etl/load --not-before none",
  ],
  [{ kind: "exhausted" }, "its record has no attempts left: rowlock update etl/load --attempts COUNT"],
  [
    { kind: "status", status: "failed" },
    "it has the status failed, which the request does not want: rowlock update etl/load --status WORD",
  ],
  [
    { kind: "status", status: "" },
    "it has no status, and the request wants one: rowlock update etl/load --status WORD",
  ],
  [
    { kind: "failed over", until: inMs(30_000) },
    "the database has failed over, and nothing is granted before 2026-11-24 03:00:30, in 30 s: wait, as a lost lease may still be held until then",
  ],
  [
    { kind: "rows held", connectionId: 123n, user: "app", heldForMs: 12_000 },
    "another transaction of the user app holds its rows in the database, for 12 s: KILL 123 (in the database)",
  ],
  [
    { kind: "rows held" },
    "another transaction holds its rows in the database: end it in the database, which says which one it is if Rowlock's user has the right PROCESS",
  ],
];

describe("a cause says what to do", () => {
  test.each(SAID.map(([cause, line]) => ({ cause, line })))("$line", ({ cause, line }) => {
    expect(lineOf(cause)).toBe(line);
  });

  test("a name is quoted for the shell, and cannot leave its quotes", () => {
    const todo = (name: string) => lineOf({ kind: "exhausted" }, name)?.split(": ").at(-1);
    expect(todo("a b'; rm -rf ~ #\n")).toBe("rowlock update 'a b'\\''; rm -rf ~ #\\u000a' --attempts COUNT");
  });
});

test.each([
  [240_000, 60_000, 720_000, "about 4 min; between 60 s and 12 min in 8 of 10 cases; from 57 leases"],
  [360_000, 120_000, 720_000, "about 6 min; between 2 and 12 min in 8 of 10 cases; from 57 leases"],
  [5_000, 5_000, 5_000, "about 5 s; 5 s in 8 of 10 cases; from 57 leases"],
])("an estimate has its spread: %i ms, %i to %i", (medianMs, lowMs, highMs, words) => {
  expect(estimateWords({ medianMs, lowMs, highMs, leases: 57 })).toBe(words);
});

test.each([
  ["etl/load", { name: "etl/load" }],
  ["etl/load#12", { name: "etl/load", ticketNumber: 12n }],
  ["a#1#2", { name: "a#1", ticketNumber: 2n }],
  ["#12", { name: "#12" }],
  ["etl/load#0", { name: "etl/load#0" }],
  ["etl/load#", { name: "etl/load#" }],
  ["4.1a.AbCdEfGhIjKlMnOpQrStUv", { ticketId: "4.1a.AbCdEfGhIjKlMnOpQrStUv" }],
  ["4.1a.AbCdEfGhIjKlMnOpQrStU", { name: "4.1a.AbCdEfGhIjKlMnOpQrStU" }],
])("%s is understood", (text, target) => expect(targetOf(text)).toEqual(target));

const why = (script: Script, ...args: string[]) => ranOver(script, "why", ...args);

/** Answers with these fields, and keeps what was asked. */
function explaining(fields: Parameters<typeof Object.assign>[0] = {}) {
  const asked: ExplainWaitRequest[] = [];
  const script: Script = {
    explainWait(request) {
      asked.push(request as ExplainWaitRequest);
      return { lock: { name: "etl/load", limit: { permits: 1 } }, summary: "one holds it", ...fields };
    },
  };
  return { asked, script };
}

describe("the command", () => {
  const full = {
    claim: { lockName: "etl/load", ticketNumber: 12n, state: ClaimState.WAITING, owner: "hourly" },
    causes: [{ cause: { case: "exhausted", value: true } }],
    estimate: { median: { seconds: 240n }, low: { seconds: 120n }, high: { seconds: 720n }, leases: 57 },
  };

  test("prints the summary, the causes and the estimate", async () => {
    const { script, asked } = explaining(full);
    expect(await why(script, "etl/load#12")).toEqual({
      code: 0,
      out: [
        "etl/load#12: one holds it",
        "  - its record has no attempts left: rowlock update etl/load --attempts COUNT",
        "  about 4 min; between 2 and 12 min in 8 of 10 cases; from 57 leases",
        "",
      ].join("\n"),
      err: "",
    });
    expect(asked[0]?.target).toMatchObject({
      case: "claim",
      value: { lockName: "etl/load", ticketNumber: 12n },
    });
  });

  test("escapes foreign text", async () => {
    const holder = { lockName: EVIL, ticketNumber: 1n, state: ClaimState.HELD, owner: EVIL };
    const endsAt = timestampFromMs(Date.now() + 60_000);
    const { script } = explaining({
      lock: { name: EVIL, limit: {} },
      summary: EVIL,
      causes: [
        { cause: { case: "held", value: { holders: [holder], holderCount: 1, firstEndsAt: endsAt } } },
        { cause: { case: "queued", value: { ahead: 1, permitsAhead: 1n, first: [holder] } } },
        {
          cause: { case: "limit", value: { limit: { pattern: EVIL, source: 2, reason: EVIL }, setBy: EVIL } },
        },
        { cause: { case: "status", value: EVIL } },
        { cause: { case: "rows", value: { connectionId: 1n, user: EVIL } } },
      ],
    });
    for (const args of [[EVIL], [EVIL, "--json"]]) {
      const { code, out } = await why(script, ...args);
      expect(code).toBe(0);
      expect(out).toMatch(/^[\x20-\x7e\n]+$/);
      expect(out).not.toMatch(/^rowlock: all is well/m);
      expect(out.split("\n")).toHaveLength(args.length === 1 ? 7 : 2);
    }
  });

  test.each([
    ["etl/load#12", /^rowlock: #12 does not wait for "etl\/load": `rowlock history`[^\n]*\n$/],
    ["4.1a.AbCdEfGhIjKlMnOpQrStUv", /^rowlock: This ticket does not wait any more[^\n]*\n$/],
  ])("says that %s does not wait", async (text, words) => {
    const script: Script = {
      explainWait() {
        throw unknownClaim();
      },
    };
    expect(await why(script, text)).toEqual({ code: 1, out: "", err: expect.stringMatching(words) });
  });
});
