// Queue rules in the shell, over a server whose answers this test writes: how they are set and shown, and what a superseded
// request hears.

import { describe, expect, test } from "vitest";
import {
  ChangeKind,
  ClaimState,
  EndReason,
  LimitSource,
  RefusalReason,
  WhenFull,
} from "#proto/rowlock/v1/lock_pb.js";
import type { ListClaimsRequest, SetLimitRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { reasonOf } from "../../../clients/shell/paused-limits.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import type { Script } from "../../support/scripted-server.ts";
import { ranOver } from "./scripted.ts";

const NEWEST = { waitingMax: 1, whenFull: WhenFull.END_LONGEST_WAITING };
const TWO = { waitingMax: 2, whenFull: WhenFull.REFUSE };
const IN_FORCE = { rules: NEWEST, source: LimitSource.PATTERN, pattern: "dep*", version: 2n, reason: "CI" };
const RATE = { permits: 500, per: { seconds: 60n }, burst: 20 };

test.each<[string[], RegExp[]]>([
  [["dep", "--waiting-max", "0"], [/--waiting-max "0": write a whole number from 1 to 1000000/]],
  [["dep", "--waiting-max", "many"], [/--waiting-max "many"/]],
  [["dep", "--newest-wins"], [/--newest-wins says who waits .*: add --waiting-max/]],
  [["dep", "--waiting-max", "1", "--unset-queue-rules"], [/leave out --waiting-max/]],
  [["--pool", "dep/*", "--waiting-max", "1"], [/for each name by itself: set them with --pattern/]],
  [["--pool", "dep/*", "--unset-queue-rules"], [/for each name by itself/]],
  [["--waiting-max", "1"], [/name the lock whose settings to change/]],
  [["dep", "--share-by", "tenant"], [/--share-by "tenant" is no group: write principal, or label:/]],
  [["dep", "--share-by", "label:"], [/is no group/]],
  [["dep", "--head-start-max", "0"], [/--head-start-max/]],
  [
    ["dep", "--share-by", "principal", "--waiting-max", "1", "--newest-wins", "--unset-queue-rules"],
    [
      /2 things are wrong/,
      /--newest-wins and --share-by are two orders/,
      /leave out --waiting-max, --share-by and/,
    ],
  ],
  [["--pool", "dep/*", "--share-by", "principal"], [/for each name by itself/]],
  [["dep", "--reason", "x"], [/go with a change: add .*--share-by, --head-start-max or --unset-queue-rules/]],
  [
    ["dep", "4", "--unset", "--waiting-max", "0", "--burst", "0", "--unset-queue-rules"],
    [
      /4 things are wrong/,
      /--waiting-max "0"/,
      /--burst "0"/,
      /--unset deletes the limit/,
      /leave out --waiting-max/,
    ],
  ],
  [
    ["4", "--pool", "dep/*", "--unset", "--waiting-max", "1", "--newest-wins", "--unset-queue-rules"],
    [/3 things are wrong/, /--unset deletes/, /leave out --waiting-max/, /for each name by itself/],
  ],
])("what is wrong is told: %j", async (args, words) => {
  const { code, out, err } = await ranInProcess(["limit", ...args, "--addr", "127.0.0.1:9"]);
  expect([code, out]).toEqual([64, ""]);
  for (const word of words) expect(err).toMatch(word);
});

/** Answers with these queue rules in force, and keeps what was asked. */
function setting(limits: object[] = [], queueRules: object | null = NEWEST) {
  const asked: SetLimitRequest[] = [];
  const script: Script = {
    listLimits: () => ({ limits }),
    setLimit(request) {
      asked.push(request as SetLimitRequest);
      return { limit: 4, version: 7n, ...(queueRules && { queueRules }) };
    },
  };
  const ran = (...args: string[]) => ranOver(script, "limit", ...args);
  return { asked, ran };
}

describe("`rowlock limit`", () => {
  const line = (rules: string) => `dep: limit 4, ${rules} (version 7); 0 held, 0 waiting\n`;
  const NONE = { case: undefined };

  test("sets them alone, beside a limit and a rate, and for a pattern", async () => {
    const { asked, ran } = setting();
    const flags = ["--waiting-max", "1", "--newest-wins", "--reason", "CI", "--if-version", "0"];
    expect(await ran("dep", ...flags)).toEqual({
      code: 0,
      out: line("at most 1 waits, the newest wins"),
      err: "",
    });
    expect((await ran("dep", "4", "--waiting-max", "2")).code).toBe(0);
    expect((await ran("dep", "--rate", "500/1m", "--waiting-max", "2")).code).toBe(0);
    const all = ["--pattern", "dep*", "4", "--rate", "500/1m", "--waiting-max", "2"];
    expect((await ran(...all)).code).toBe(0);
    const limit = { case: "limit", value: 4 };
    const rules = { case: "queueRules", value: TWO };
    expect(asked).toMatchObject([
      {
        ...{ target: { case: "name", value: "dep" }, newLimit: NONE, newRate: NONE, reason: "CI" },
        ...{ expectedVersion: 0n, newQueueRules: { case: "queueRules", value: NEWEST } },
      },
      { newLimit: limit, newRate: NONE, newQueueRules: rules },
      { newLimit: NONE, newRate: { case: "rate" }, newQueueRules: rules },
      { target: { case: "pattern" }, newLimit: limit, newRate: { case: "rate" }, newQueueRules: rules },
    ]);
  });

  test("sets fair shares, with a bound and without one", async () => {
    const shared = { waitingMax: 0, whenFull: WhenFull.REFUSE, shareBy: "label:tenant" };
    const { asked, ran } = setting([], shared);
    expect((await ran("dep", "--share-by", "label:tenant")).out).toBe(line("fair shares by label tenant"));
    await ran("dep", "--share-by", "principal", "--waiting-max", "2");
    expect(asked.map(({ newQueueRules }) => newQueueRules.value)).toMatchObject([
      shared,
      { ...TWO, shareBy: "principal" },
    ]);
  });

  test("unsets them, and says that there are none", async () => {
    const { asked, ran } = setting([], null);
    expect((await ran("dep", "--unset-queue-rules")).out).toBe(line("no queue rules"));
    expect((await ran("dep", "--unset", "--unset-rate", "--unset-queue-rules")).code).toBe(0);
    expect((await ran("dep", "4")).out).toBe("dep: limit 4 (version 7); 0 held, 0 waiting\n");
    const unset = { case: "unsetQueueRules" };
    expect(asked).toMatchObject([
      { newLimit: NONE, newRate: NONE, newQueueRules: unset },
      { newLimit: { case: "unsetLimit" }, newRate: { case: "unsetRate" }, newQueueRules: unset },
      { newLimit: { case: "limit" }, newRate: NONE, newQueueRules: NONE },
    ]);
  });

  test("lists the settings, and those that queue rules for a pattern do not change", async () => {
    const limits = [
      { target: { case: "pattern", value: "dep*" }, limit: 4, queueRules: NEWEST, version: 7n },
      { target: { case: "name", value: "dep/a" }, rateOnly: true, queueRules: TWO, version: 2n },
      { target: { case: "name", value: "dep/b" }, limit: 9, rate: RATE, version: 3n, reason: "big" },
      { target: { case: "name", value: "dep/c" }, rateOnly: true, queueRules: NEWEST, version: 1n },
    ];
    const { ran } = setting(limits);
    expect((await ran()).out.split("\n").map((row) => row.split(/ {2,}/))).toEqual([
      ["NAME or PATTERN", "LIMIT", "RATE", "QUEUE", "VERSION", "REASON"],
      ["dep*", "4", "at most 1 waits, the newest wins", "7"],
      ["dep/a", "at most 2 wait", "2"],
      ["dep/b", "9", "500/1m, burst 20", "3", "big"],
      ["dep/c", "at most 1 waits, the newest wins", "1"],
      [""],
    ]);
    expect((await ran("--pattern", "dep*", "--waiting-max", "1", "--newest-wins")).out).toContain(
      "\nnot changed, because they have queue rules of their own: dep/a (at most 2 wait)\n",
    );
    expect((await ran("--pattern", "dep*", "4", "--waiting-max", "2")).out).toContain(
      "\nnot changed, because they have limits or queue rules of their own: dep/b (9, rate 500/1m, burst 20), dep/c (at most 1 waits, the newest wins)\n",
    );
  });

  test("keeps what a pause has noted when it changes the queue rules alone", async () => {
    const reason = reasonOf({ by: ["dep"], limit: 4, reason: "two keys", why: "upgrade" });
    const { asked, ran } = setting([
      { target: { case: "name", value: "dep" }, limit: 0, reason, version: 6n },
    ]);
    await ran("dep", "--waiting-max", "1");
    await ran("dep", "--unset-queue-rules", "--reason", "no rush");
    const kept = reasonOf({ by: ["dep"], limit: 4, reason: "no rush", why: "upgrade" });
    expect(asked).toMatchObject([
      { reason, expectedVersion: 6n },
      { reason: kept, expectedVersion: 6n },
    ]);
  });

  test("shows those in force, as `show` and `ls` do", async () => {
    const limit = { permits: 4, source: LimitSource.NAME, version: 3n };
    const lock = { name: "dep", limit, queueRules: IN_FORCE };
    const script: Script = { getLock: () => ({ lock }), listLocks: () => ({ locks: [lock] }) };
    const words = "at most 1 waits, the newest wins (from dep*, version 2, CI)";
    expect((await ranOver(script, "limit", "dep")).out).toBe(
      `dep: limit 4 (set for this name, version 3), ${words}\n`,
    );
    expect((await ranOver(script, "show", "dep")).out).toContain(`\nqueue       ${words}\n`);
    const inJson = {
      ...{ waitingMax: 1, whenFull: "end longest waiting", source: "pattern", pattern: "dep*" },
      ...{ version: 2, reason: "CI" },
    };
    for (const command of ["show", "limit"])
      expect(JSON.parse((await ranOver(script, command, "dep", "--json")).out).queueRules).toEqual(inJson);
    expect(JSON.parse((await ranOver(script, "ls", "--json")).out).queueRules).toEqual(inJson);
  });
});

describe("`rowlock history`", () => {
  test("shows what of a setting was changed", async () => {
    const value = { from: 4, to: 4, queueRulesFrom: TWO, queueRulesTo: NEWEST };
    const changes = [
      { what: { case: "limit", value } },
      { what: { case: "limit", value: { to: 2, queueRulesFrom: NEWEST } } },
      { what: { case: "limit", value: { ...value, rateFrom: RATE, queueRulesFrom: NEWEST } } },
    ].map((change) => ({ target: { case: "lockName", value: "dep" }, ...change }));
    const asked: object[] = [];
    const script: Script = {
      listChanges(request) {
        asked.push(request);
        return { changes: changes as never };
      },
    };
    const { out } = await ranOver(script, "history", "dep", "--changes");
    expect(out.trimEnd().split("\n").slice(1)).toEqual([
      expect.stringMatching(/ at most 2 wait +at most 1 waits, the newest wins$/),
      expect.stringMatching(/ not set, at most 1 waits, the newest wins +2, no queue rules$/),
      expect.stringMatching(/ rate 500\/1m, burst 20 +no rate$/),
    ]);
    const [first] = (await ranOver(script, "history", "dep", "--limits", "--json")).out.split("\n");
    expect(JSON.parse(first as string)).toMatchObject({
      ...{ from: 4, to: 4, queueRulesFrom: { waitingMax: 2, whenFull: "refuse" } },
      queueRulesTo: { waitingMax: 1, whenFull: "end longest waiting" },
    });
    expect(asked[1]).toMatchObject({ kinds: [ChangeKind.LIMIT] });
  });

  test("finds the claims that a newer request has ended, and says whose", async () => {
    const asked: ListClaimsRequest[] = [];
    const claim = { lockName: "dep", ticketNumber: 2n, state: ClaimState.ENDED, permits: 1 };
    const script: Script = {
      listClaims(request) {
        asked.push(request as ListClaimsRequest);
        return { claims: [{ ...claim, end: { reason: EndReason.SUPERSEDED, endedBy: "token:ci" } }] };
      },
    };
    const { out } = await ranOver(script, "history", "dep", "--ended", "superseded");
    expect(out).toContain("  superseded by token:ci\n");
    expect(asked[0]).toMatchObject({ endReasons: [EndReason.SUPERSEDED] });
  });
});

describe("a command", () => {
  const place = { ticketId: "t", keptFor: { seconds: 1n } };

  test.each([
    ["run", ["--", "echo", "never"]],
    ["acquire", []],
    ["spend", []],
  ])(
    "of `rowlock %s` that is superseded ends with 75, and says so unless it is quiet",
    async (verb, tail) => {
      const outcomes = [
        { case: "ticket", value: place },
        { case: "ended", value: { reason: EndReason.SUPERSEDED, message: "no" } },
      ];
      const script = () => {
        const left = [...outcomes];
        return { acquire: () => ({ outcome: left.shift() }) } as unknown as Script;
      };
      expect(await ranOver(script(), verb, "dep", "--wait", "10s", ...tail)).toEqual({
        code: 75,
        out: "",
        err: expect.stringMatching(
          /rowlock: "dep" was not acquired: a newer request took the place in the queue, and does what .*\.\n$/,
        ),
      });
      expect(await ranOver(script(), verb, "dep", "--wait", "10s", "-q", ...tail)).toEqual({
        ...{ code: 75, out: "", err: "" },
      });
    },
  );

  test.each([
    [EndReason.SUPERSEDED, 0],
    [EndReason.TIMED_OUT, 75],
  ])(
    "of `rowlock run --superseded-ok` that ends with %i ends with %i, and says why",
    async (reason, code) => {
      const outcomes = [
        { case: "ticket", value: place },
        { case: "ended", value: { reason, message: "no" } },
      ];
      const script = { acquire: () => ({ outcome: outcomes.shift() }) } as unknown as Script;
      const words = ["run", "dep", "--wait", "10s", "--superseded-ok", "--", "echo", "never"] as const;
      expect(await ranOver(script, ...words)).toEqual({
        code,
        out: "",
        err: expect.stringMatching(/rowlock: "dep" .*\.\n$/),
      });
    },
  );

  test.each([
    [RefusalReason.QUEUE_FULL, '"dep" was not acquired. Full.'],
    [
      RefusalReason.NEVER_FITS,
      '"dep" takes no request for several locks, because of the order of its queue (at most 1 waits, the newest wins): ask for it alone',
    ],
  ])("that is refused for %i by queue rules ends with 75 and says why", async (reason, words) => {
    const value = { reason, message: "Full.", queueRules: IN_FORCE };
    const script = { acquire: () => ({ outcome: { case: "refusal", value } }) } as unknown as Script;
    const { code, out, err } = await ranOver(script, "run", "dep", "--", "echo", "never");
    expect([code, out, err]).toEqual([75, "", expect.stringContaining(words)]);
  });
});
