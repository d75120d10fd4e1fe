// Rates in the shell, over a server whose answers this test writes: how they are written and shown, and what is spent.

import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { ClaimState, LimitSource, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import type { AcquireRequest, SetLimitRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { reasonOf } from "../../../clients/shell/paused-limits.ts";
import { parseRate, rateText } from "../../../clients/shell/rates.ts";
import { usageOf } from "../../../clients/shell/usage.ts";
import type { ClaimView } from "../../../clients/typescript/src/index.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import type { Script } from "../../support/scripted-server.ts";
import { ranOver } from "./scripted.ts";

const RATE = { permits: 500, per: durationFromMs(60_000), burst: 20 };
const IN_FORCE = { rate: RATE, source: LimitSource.PATTERN, pattern: "api*", version: 2n, reason: "quota" };

describe("a rate", () => {
  test.each([
    ["500/1m", { permits: 500, per: 60_000 }, "500/1m"],
    ["10/1.5s", { permits: 10, per: 1_500 }, "10/1500ms"],
    ["10/90", { permits: 10, per: 90_000 }, "10/90s"],
    ["1/24h", { permits: 1, per: 86_400_000 }, "1/1d"],
  ])("%s is read and written", (text, rate, written) => {
    expect(parseRate(text)).toEqual(rate);
    expect(rateText(rate)).toBe(written);
    expect(rateText({ ...rate, burst: rate.permits })).toBe(written);
    expect(rateText({ ...rate, burst: 7 })).toBe(`${written}, burst 7`);
  });

  test.each<[string[], RegExp[]]>([
    [["api", "--rate", "500"], [/--rate "500": write permits and a time, such as 500\/1m/]],
    [["api", "--rate", "500/m"], [/--rate "500\/m": write a time such as 30s/]],
    [["api", "--rate", "1/500ms"], [/write a time from 1 s to 24 d/]],
    [["api", "--rate", "0/1m"], [/write a whole number from 1 to 1000000/]],
    [["api", "--burst", "3"], [/add --rate/]],
    [["api", "--rate", "1/1s", "--unset-rate"], [/leave out --rate/]],
    [["--rate", "1/1s"], [/name the lock whose settings to change/]],
    [
      ["api", "4", "--rate", "x", "--burst", "0", "--unset"],
      [/3 things are wrong/, /--rate "x"/, /--burst "0"/, /--unset deletes the limit/],
    ],
  ])("that is wrong is told: %j", async (args, words) => {
    const { code, out, err } = await ranInProcess(["limit", ...args, "--addr", "127.0.0.1:9"]);
    expect([code, out]).toEqual([64, ""]);
    for (const word of words) expect(err).toMatch(word);
  });
});

/** Answers with this rate in force, and keeps what was asked. */
function setting(limits: object[] = [], rate: object | null = RATE) {
  const asked: SetLimitRequest[] = [];
  const script: Script = {
    listLimits: () => ({ limits }),
    setLimit(request) {
      asked.push(request as SetLimitRequest);
      return { limit: 4, version: 7n, ...(rate && { rate }) };
    },
  };
  const ran = (...args: string[]) => ranOver(script, "limit", ...args);
  return { asked, ran };
}

describe("`rowlock limit`", () => {
  const line = (rate: string) => `api: limit 4, ${rate} (version 7); 0 held, 0 waiting\n`;
  const NONE = { case: undefined };

  test("sets a rate alone, with a limit, and for a pattern", async () => {
    const { asked, ran } = setting();
    const flags = ["--rate", "500/1m", "--burst", "20", "--reason", "quota", "--if-version", "0"];
    expect(await ran("api", ...flags)).toEqual({ code: 0, out: line("rate 500/1m, burst 20"), err: "" });
    expect((await ran("api", "4", "--rate", "500/1m")).code).toBe(0);
    expect((await ran("--pattern", "api*", "--unset", "--rate", "500/1m")).code).toBe(0);
    const rate = { permits: 500, per: { seconds: 60n }, burst: 0 };
    expect(asked).toMatchObject([
      {
        ...{ target: { case: "name", value: "api" }, newLimit: NONE, reason: "quota", expectedVersion: 0n },
        newRate: { case: "rate", value: { ...rate, burst: 20 } },
      },
      { newLimit: { case: "limit", value: 4 }, newRate: { value: rate } },
      { target: { case: "pattern" }, newLimit: { case: "unsetLimit" }, newRate: { value: rate } },
    ]);
  });

  test("unsets it, and says that there is none", async () => {
    const { asked, ran } = setting([], null);
    expect((await ran("api", "--unset-rate")).out).toBe(line("no rate"));
    expect((await ran("api", "4")).out).toBe("api: limit 4 (version 7); 0 held, 0 waiting\n");
    expect(asked).toMatchObject([
      { newLimit: NONE, newRate: { case: "unsetRate" } },
      { newLimit: { case: "limit" }, newRate: NONE },
    ]);
  });

  test("lists the settings, and those that a rate for a pattern does not change", async () => {
    const limits = [
      { target: { case: "pattern", value: "api*" }, limit: 4, rate: RATE, version: 7n },
      {
        target: { case: "name", value: "api/a" },
        rateOnly: true,
        rate: { ...RATE, burst: 500 },
        version: 2n,
      },
      { target: { case: "name", value: "api/b" }, limit: 9, version: 3n, reason: "big" },
    ];
    const { ran } = setting(limits);
    expect((await ran()).out).toBe(
      [
        "NAME or PATTERN  LIMIT  RATE              VERSION  REASON",
        "api*             4      500/1m, burst 20  7",
        "api/a                   500/1m            2",
        "api/b            9                        3        big",
        "",
      ].join("\n"),
    );
    expect((await ran("--pattern", "api*", "--rate", "500/1m", "--burst", "20")).out).toContain(
      "\nnot changed, because they have rates of their own: api/a (rate 500/1m)\n",
    );
    expect((await ran("--pattern", "api*", "4", "--rate", "10/1s")).out).toContain(
      "\nnot changed, because they have limits or rates of their own: api/a (rate 500/1m), api/b (9)\n",
    );
  });

  test("keeps what a pause has noted when it changes the rate alone", async () => {
    const reason = reasonOf({ by: ["api"], limit: 4, reason: "two keys", why: "upgrade" });
    const { asked, ran } = setting([
      { target: { case: "name", value: "api" }, limit: 0, reason, version: 6n },
    ]);
    await ran("api", "--rate", "10/1s");
    await ran("api", "--unset-rate", "--reason", "no quota");
    await ran("api", "2", "--unset-rate", "--reason", "other");
    const kept = reasonOf({ by: ["api"], limit: 4, reason: "no quota", why: "upgrade" });
    expect(asked).toMatchObject([
      { reason, expectedVersion: 6n },
      { reason: kept, expectedVersion: 6n },
      { reason: "other" },
    ]);
  });

  test("shows the rate in force, as `show` and `ls` do", async () => {
    const limit = { permits: 4, source: LimitSource.NAME, version: 3n };
    const waiter = {
      lockName: "api",
      ticketNumber: 5n,
      state: ClaimState.WAITING,
      permits: 2,
      spendOnly: true,
    };
    const lock = {
      ...{ name: "api", limit, waiterCount: 1, waiters: [waiter] },
      rate: { ...IN_FORCE, available: 1 },
    };
    const script: Script = { getLock: () => ({ lock }), listLocks: () => ({ locks: [lock] }) };
    const words = "500/1m, burst 20 (from api*, version 2, quota)";
    expect((await ranOver(script, "limit", "api")).out).toBe(
      `api: limit 4 (set for this name, version 3), rate ${words}\n`,
    );
    const page = (await ranOver(script, "show", "api")).out;
    expect(page).toContain(`rate        ${words}, 1 available\n`);
    expect(page).toMatch(/#5 {2}2 of the rate .* {2}until its rate allows it/);
    expect((await ranOver(script, "ls")).out).toMatch(/LIMIT {2}RATE +HELD.*\napi +4 +500\/1m, burst 20 +0/);
    const inJson = JSON.parse((await ranOver(script, "show", "api", "--json")).out);
    expect(inJson.rate).toEqual({
      ...{ permits: 500, per: 60_000, burst: 20, source: "pattern", pattern: "api*", version: 2 },
      ...{ reason: "quota", available: 1 },
    });
  });
});

/** Answers requests one after the other, and keeps them. */
function spending(...outcomes: object[]) {
  const asked: AcquireRequest[] = [];
  const script: Script = {
    acquire(request) {
      asked.push(request as AcquireRequest);
      return { outcome: outcomes.shift() } as never;
    },
  };
  const ran = (...args: string[]) => ranOver(script, "spend", "api", ...args);
  return { asked, ran };
}

const SPENT = {
  case: "spent",
  value: {
    lockName: "api",
    permits: 3,
    fencingToken: 9n,
    spentAt: timestampFromMs(1_000),
    requestId: "mine",
  },
};
const refused = (reason: RefusalReason) => ({
  case: "refusal",
  value: { reason, message: "no", retryAfter: durationFromMs(3_000), rate: IN_FORCE },
});

describe("`rowlock spend`", () => {
  test("prints the token, and asks for what its flags say", async () => {
    const { asked, ran } = spending(SPENT, SPENT);
    const flags = [
      "--permits",
      "3",
      "--owner",
      "me",
      "--label",
      "a=b",
      "--if-status",
      "ok",
      "--request-id",
      "mine",
    ];
    expect(await ran("--no-wait", ...flags)).toEqual({ code: 0, out: "9\n", err: "" });
    expect(asked[0]).toMatchObject({
      ...{ name: "api", permits: 3, requestId: "mine", spendOnly: true, whenBusy: { case: undefined } },
      terms: { owner: "me", labels: { a: "b" }, ifStatus: ["ok"], lasting: { case: undefined } },
    });
    expect(JSON.parse((await ran("--no-wait", "--json")).out)).toEqual({
      ...{ name: "api", permits: 3, token: 9, spentAt: "1970-01-01T00:00:01.000Z", requestId: "mine" },
    });
  });

  test("waits in the queue, and shows its place and how long the rate takes", async () => {
    const ticket = { ticketId: "t", rateWait: durationFromMs(3_000), keptFor: durationFromMs(100) };
    const { asked, ran } = spending({ case: "ticket", value: ticket }, SPENT);
    expect(await ran("--wait", "10s")).toEqual({
      code: 0,
      out: "9\n",
      err: 'rowlock: waiting for "api": next in the queue, 3 s more by its rate, for 0 ms so far\n',
    });
    expect(asked[1]).toMatchObject({ requestId: asked[0]?.requestId, whenBusy: { case: "enqueue" } });
  });

  test.each([
    [RefusalReason.RATE, /as its rate of 500\/1m, burst 20 allows: try again in 3 s\.\n$/],
    [
      RefusalReason.NEVER_FITS,
      /"api" has a rate of 500\/1m, burst 20, so this can never be granted: ask for fewer/,
    ],
    [RefusalReason.BUSY, /"api" is busy\./],
  ])("that is refused for %i ends with 75 and says why, unless it is quiet", async (reason, words) => {
    const { ran } = spending(refused(reason), refused(reason));
    expect(await ran("--no-wait")).toEqual({ code: 75, out: "", err: expect.stringMatching(words) });
    expect(await ran("--no-wait", "-q")).toEqual({ code: 75, out: "", err: "" });
  });
});

test("what was spent is no lease in `rowlock top`", () => {
  const ended = {
    state: "ended",
    grantedAt: new Date(1_000),
    end: { reason: "SPENT", endedAt: new Date(1_000) },
  };
  const claims = [{ ...ended, spendOnly: true }, ended] as ClaimView[];
  const [usage] = usageOf(claims, () => "all", { sinceMs: 0, nowMs: 2_000, order: "ended" });
  expect(usage).toMatchObject({ ended: 1 });
});
