// What the client's verbs put into requests and read from answers, without a server.

import { create } from "@bufbuild/protobuf";
import { describe, expect, test, vi } from "vitest";
import { Verbs } from "../../../../clients/typescript/src/verbs.ts";
import { ClaimState, LimitSource, Mode, WhenFull } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import {
  ExplainWaitResponseSchema,
  GetLockResponseSchema,
  ListChangesResponseSchema,
  ListClaimsResponseSchema,
  ListLimitsResponseSchema,
  ListLocksResponseSchema,
  ReleaseResponseSchema,
  SetLimitResponseSchema,
} from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";
import { FakeConnection, GONE, lose, moveOn, stageCalls, turn } from "./fake-connection.ts";

function stage(giveUpAfterMs = 60_000) {
  const calls = stageCalls();
  return { ...calls, verbs: new Verbs(calls.calls, giveUpAfterMs) };
}

const at = (seconds: number, nanos = 0) => ({ seconds: BigInt(seconds), nanos });

describe("a release", () => {
  test("sent once that ended nothing found the lease ended; a repeated one may have ended it itself", async () => {
    const { verbs, calls, connection, answer } = stage();
    const nothing = { case: "release", value: create(ReleaseResponseSchema, { released: false }) };
    const once = verbs.release("lease");
    answer(nothing);
    expect(await once).toEqual({ released: false, hadEnded: true });
    const twice = verbs.release("lease");
    const next = moveOn(calls, connection);
    answer(nothing, { call: next.asked[0]?.call as bigint });
    expect(await twice).toEqual({ released: false, hadEnded: false });
  });

  test("fails after its own time if that is shorter, and otherwise after that of all calls", async () => {
    vi.useFakeTimers();
    try {
      const { verbs } = stage(1_000);
      const failures: string[] = [];
      verbs.release("a", {}, 200).catch(() => failures.push("its own"));
      verbs.release("b", {}, 5_000).catch(() => failures.push("that of all"));
      await vi.advanceTimersByTimeAsync(199);
      expect(failures).toEqual([]);
      await vi.advanceTimersByTimeAsync(2);
      expect(failures).toEqual(["its own"]);
      await vi.advanceTimersByTimeAsync(797);
      expect(failures).toEqual(["its own"]);
      await vi.advanceTimersByTimeAsync(2);
      expect(failures).toEqual(["its own", "that of all"]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a renewal", () => {
  test("that gets the answer of another verb is an error and no lease", async () => {
    const { verbs, answer } = stage();
    const renewed = verbs.renew("lease");
    answer({ case: "release", value: create(ReleaseResponseSchema, {}) });
    await expect(renewed).rejects.toThrow("renew was answered by release");
  });
});

test("commands that keep and end leases overtake earlier commands", () => {
  const { verbs, calls } = stage();
  calls.leaving(new FakeConnection(), GONE);
  const closed = new FakeConnection();
  closed.opened = undefined;
  calls.begun(closed);
  for (const verb of [verbs.getLock("a"), verbs.release("b"), verbs.renew("c"), verbs.deleteRecord("d", {})])
    verb.catch(() => {});
  closed.opened = { replica: "", waitsMax: 9, commandsMax: 9 };
  calls.opened();
  expect(closed.asked.map(({ command }) => command.case)).toEqual([
    "release",
    "renew",
    "getLock",
    "deleteRecord",
  ]);
});

describe("a limit", () => {
  test.each([
    ["a limit", (verbs: Verbs) => verbs.setLimit({ name: "a" }, 1, {})],
    ["a rate", (verbs: Verbs) => verbs.setLimit({ name: "a" }, undefined, { rate: null })],
    ["queue rules", (verbs: Verbs) => verbs.setLimit({ name: "a" }, undefined, { queueRules: null })],
    ["a record", (verbs: Verbs) => verbs.updateRecord("a", { status: "x" })],
    ["a deletion", (verbs: Verbs) => verbs.deleteRecord("a", {})],
    ["a forced release of a name", (verbs: Verbs) => verbs.forceRelease({ name: "a" }, "")],
  ])("%s that may have been set is not set again", async (_, change) => {
    const { verbs, calls, connection } = stage();
    const changed = change(verbs);
    lose(calls, connection);
    await expect(changed).rejects.toMatchObject({ reason: "CONNECTION_LOST" });
  });

  const RATE = { permits: 500, per: at(60), burst: 20 };
  const RATE_VIEW = { permits: 500, per: 60_000, burst: 20 };

  test.each([
    [undefined, undefined, { newLimit: { case: undefined }, newRate: { case: undefined } }],
    [4, undefined, { newLimit: { case: "limit", value: 4 }, newRate: { case: undefined } }],
    [undefined, null, { newLimit: { case: undefined }, newRate: { case: "unsetRate" } }],
    [null, RATE_VIEW, { newLimit: { case: "unsetLimit" }, newRate: { case: "rate", value: RATE } }],
    [
      undefined,
      { permits: 1, per: 500 },
      { newRate: { value: { permits: 1, per: at(0, 500_000_000), burst: 0 } } },
    ],
  ] as const)(
    "%j and the rate %j ask for that alone, and the answer shows both",
    async (limit, rate, fields) => {
      const { verbs, answer, latest } = stage();
      const set = verbs.setLimit({ pattern: "e*" }, limit, rate === undefined ? {} : { rate });
      expect(latest().command).toMatchObject({ case: "setLimit", value: fields });
      answer({ case: "setLimit", value: create(SetLimitResponseSchema, { limit: 4, rate: RATE }) });
      expect(await set).toMatchObject({ limit: 4, rate: RATE_VIEW });
    },
  );

  test("or a rate that is not set is not shown, and no limit is not a limit of 0", async () => {
    const { verbs, answer } = stage();
    const listed = Array.fromAsync(verbs.listLimits(""));
    const limits = [
      { target: { case: "name" as const, value: "a" }, limit: 0, rate: RATE, rateOnly: true },
      { target: { case: "pattern" as const, value: "a*" }, limit: 0 },
    ];
    answer({ case: "listLimits", value: create(ListLimitsResponseSchema, { limits }) });
    expect(await listed).toEqual([
      { name: "a", rate: RATE_VIEW, version: 0n, reason: "" },
      { pattern: "a*", limit: 0, version: 0n, reason: "" },
    ]);
  });

  test("of a pool asks for the pool, and shows that it has none, and what is used", async () => {
    const { verbs, answer, latest } = stage();
    const set = verbs.setLimit({ pool: "e*" }, null, { rate: RATE_VIEW });
    expect(latest().command).toMatchObject({ value: { target: { case: "pool", value: "e*" } } });
    const inForce = { noLimit: true, counting: true, heldPermits: 3n, rate: RATE };
    answer({ case: "setLimit", value: create(SetLimitResponseSchema, inForce) });
    expect(await set).toMatchObject({ noLimit: true, counting: true, heldPermits: 3 });
    const listed = Array.fromAsync(verbs.listLimits(""));
    const use = { heldPermits: 3n, holderCount: 2, waiterCount: 1, draining: true, available: 4 };
    const limits = [{ target: { case: "pool" as const, value: "e*" }, limit: 2, use }];
    answer({ case: "listLimits", value: create(ListLimitsResponseSchema, { limits }) });
    const shown = { ...use, heldPermits: 3, counting: false };
    expect(await listed).toEqual([{ pool: "e*", limit: 2, version: 0n, reason: "", use: shown }]);
  });

  test("and a rate that somebody has changed show both, before and after", async () => {
    const { verbs, answer } = stage();
    const listed = Array.fromAsync(verbs.listChanges({ name: "a" }));
    const changes = [{ what: { case: "limit" as const, value: { from: 1, to: 1, rateTo: RATE } } }];
    answer({ case: "listChanges", value: create(ListChangesResponseSchema, { changes }) });
    expect(await listed).toMatchObject([{ kind: "limit", from: 1, to: 1, rateTo: RATE_VIEW }]);
  });

  const NEWEST = { waitingMax: 1, whenFull: WhenFull.END_LONGEST_WAITING };
  const NEWEST_VIEW = { waitingMax: 1, whenFull: "end longest waiting" } as const;
  const TWO = { waitingMax: 2, whenFull: WhenFull.REFUSE };

  test.each([
    [undefined, {}, { newLimit: { case: undefined }, newQueueRules: { case: undefined } }],
    [
      undefined,
      { queueRules: NEWEST_VIEW },
      {
        newLimit: { case: undefined },
        newRate: { case: undefined },
        newQueueRules: { case: "queueRules", value: NEWEST },
      },
    ],
    [
      4,
      { rate: null, queueRules: { waitingMax: 2 } },
      {
        newLimit: { case: "limit", value: 4 },
        newRate: { case: "unsetRate" },
        newQueueRules: { case: "queueRules", value: TWO },
      },
    ],
    [
      null,
      { rate: RATE_VIEW, queueRules: null },
      {
        newLimit: { case: "unsetLimit" },
        newRate: { case: "rate" },
        newQueueRules: { case: "unsetQueueRules" },
      },
    ],
  ] as const)(
    "%j and %j ask for those queue rules, and the answer shows them",
    async (limit, options, fields) => {
      const { verbs, answer, latest } = stage();
      const set = verbs.setLimit({ pattern: "e*" }, limit, options);
      expect(latest().command).toMatchObject({ case: "setLimit", value: fields });
      answer({ case: "setLimit", value: create(SetLimitResponseSchema, { limit: 4, queueRules: NEWEST }) });
      expect(await set).toMatchObject({ limit: 4, queueRules: NEWEST_VIEW });
    },
  );

  test("beside queue rules shows them in the lock, the listing and the history", async () => {
    const { verbs, answer } = stage();
    const rules = { rules: NEWEST, version: 2n, reason: "CI" };
    for (const [from, shown] of [
      [
        { source: LimitSource.PATTERN, pattern: "e*" },
        { source: "pattern", pattern: "e*" },
      ],
      [{ source: LimitSource.NAME }, { source: "name" }],
    ] as const) {
      const looked = verbs.getLock("a");
      const lock = { name: "a", limit: {}, queueRules: { ...rules, ...from } };
      answer({ case: "getLock", value: create(GetLockResponseSchema, { lock }) });
      expect((await looked).queueRules).toEqual({ ...NEWEST_VIEW, version: 2n, reason: "CI", ...shown });
    }
    const listed = Array.fromAsync(verbs.listLimits(""));
    const limits = [{ target: { case: "name" as const, value: "a" }, queueRules: TWO, rateOnly: true }];
    answer({ case: "listLimits", value: create(ListLimitsResponseSchema, { limits }) });
    const two = { waitingMax: 2, whenFull: "refuse" };
    expect(await listed).toEqual([{ name: "a", queueRules: two, version: 0n, reason: "" }]);
    const changed = Array.fromAsync(verbs.listChanges({ name: "a" }));
    const value = { from: 1, to: 1, queueRulesFrom: TWO, queueRulesTo: NEWEST };
    const changes = [{ what: { case: "limit" as const, value } }];
    answer({ case: "listChanges", value: create(ListChangesResponseSchema, { changes }) });
    expect(await changed).toMatchObject([{ queueRulesFrom: two, queueRulesTo: NEWEST_VIEW }]);
  });

  test.each([
    ["a look", (verbs: Verbs) => verbs.getLock("a")],
    [
      "a forced release of one claim",
      (verbs: Verbs) => verbs.forceRelease({ name: "a", ticketNumber: 0n }, ""),
    ],
  ])("%s is requested again", async (_, ask) => {
    const { verbs, calls, connection } = stage();
    ask(verbs).catch(() => {});
    const next = moveOn(calls, connection);
    expect(next.asked).toHaveLength(1);
  });
});

describe("a listing", () => {
  const LOCKS = (name: string) => ({ locks: [{ name, limit: { permits: 1 } }] });
  const CLAIMS = (lockName: string) => ({ claims: [{ lockName }] });
  const CHANGES = (value: string) => ({ changes: [{ target: { case: "lockName" as const, value } }] });
  const LIMITS = (value: string) => ({ limits: [{ target: { case: "name" as const, value } }] });

  test.each([
    ["listLocks", (verbs: Verbs) => verbs.listLocks({ pageSize: 1 }), ListLocksResponseSchema, LOCKS],
    ["listLimits", (verbs: Verbs) => verbs.listLimits(""), ListLimitsResponseSchema, LIMITS],
    ["listClaims", (verbs: Verbs) => verbs.listClaims({ name: "a" }), ListClaimsResponseSchema, CLAIMS],
    ["listChanges", (verbs: Verbs) => verbs.listChanges({ name: "a" }), ListChangesResponseSchema, CHANGES],
  ] as const)(
    "by %s reads page after page, until a page names no next one",
    async (verb, list, schema, page) => {
      const { verbs, asked, answer } = stage();
      const read = Array.fromAsync<object>(list(verbs));
      for (const nextPageToken of ["t", ""]) {
        await turn();
        answer({ case: verb, value: create(schema as never, { ...page("a"), nextPageToken } as never) });
      }
      expect(await read).toHaveLength(2);
      expect(asked.map(({ command }) => (command.value as { pageToken: string }).pageToken)).toEqual([
        "",
        "t",
      ]);
    },
  );
});

describe("the explanation of a wait", () => {
  test("shows every cause, the waiter and the estimate", async () => {
    const { verbs, answer } = stage();
    const explained = verbs.explainWait({ name: "etl" });
    const claim = {
      lockName: "etl",
      ticketNumber: 4n,
      state: ClaimState.WAITING,
      mode: Mode.PERMIT,
      permits: 1,
    };
    const limit = { permits: 1, source: LimitSource.PATTERN, pattern: "e*", version: 2n };
    const inForce = { ...limit, rate: { permits: 5, per: at(1), burst: 9 } };
    const causes = [
      { cause: { case: "failedOverUntil" as const, value: at(1) } },
      { cause: { case: "rows" as const, value: { connectionId: 7n, user: "app", heldFor: at(2) } } },
      { cause: { case: "rows" as const, value: {} } },
      { cause: { case: "limit" as const, value: { limit, setAt: at(3), setBy: "ops" } } },
      { cause: { case: "limit" as const, value: { limit } } },
      { cause: { case: "notBefore" as const, value: at(4) } },
      { cause: { case: "rate" as const, value: { rate: inForce, until: at(6) } } },
      { cause: { case: "rate" as const, value: { rate: inForce } } },
      { cause: { case: "exhausted" as const, value: true } },
      { cause: { case: "status" as const, value: "new" } },
      { cause: { case: "held" as const, value: { holders: [claim], holderCount: 3, firstEndsAt: at(5) } } },
      { cause: { case: "held" as const, value: { holderCount: 3 } } },
      { cause: { case: "queued" as const, value: { ahead: 2, permitsAhead: 5n, first: [claim] } } },
      { cause: { case: undefined } },
    ];
    answer({
      case: "explainWait",
      value: create(ExplainWaitResponseSchema, {
        lock: { name: "etl", limit, rate: { ...inForce, available: 0 } },
        claim,
        causes,
        summary: "why",
        estimate: { median: at(2), low: at(1), high: at(3, 500_000_000), leases: 9 },
      }),
    });
    const view = {
      lockName: "etl",
      ticketNumber: 4n,
      state: "waiting",
      mode: "permit",
      permits: 1,
      owner: "",
      labels: {},
    };
    const limitShown = { permits: 1, source: "pattern", pattern: "e*", version: 2n, reason: "" };
    const rateShown = { ...limitShown, permits: 5, per: 1_000, burst: 9 };
    expect(await explained).toEqual({
      lock: {
        name: "etl",
        limit: limitShown,
        rate: { ...rateShown, available: 0 },
        heldPermits: 0,
        holderCount: 0,
        waiterCount: 0,
        draining: false,
        lastToken: 0n,
        holders: [],
        waiters: [],
      },
      claim: view,
      causes: [
        { kind: "failed over", until: new Date(1_000) },
        { kind: "rows held", connectionId: 7n, user: "app", heldForMs: 2_000 },
        { kind: "rows held" },
        { kind: "limit", limit: limitShown, setAt: new Date(3_000), setBy: "ops" },
        { kind: "limit", limit: limitShown },
        { kind: "not before", notBefore: new Date(4_000) },
        { kind: "rate", rate: rateShown, until: new Date(6_000) },
        { kind: "rate", rate: rateShown },
        { kind: "exhausted" },
        { kind: "status", status: "new" },
        { kind: "held", holders: [view], holderCount: 3, firstEndsAt: new Date(5_000) },
        { kind: "held", holders: [], holderCount: 3 },
        { kind: "queued", ahead: 2, permitsAhead: 5, first: [view] },
      ],
      summary: "why",
      estimate: { medianMs: 2_000, lowMs: 1_000, highMs: 3_500, leases: 9 },
    });
  });

  test("of a claim for several locks has the others, and which of them has each cause", async () => {
    const { verbs, answer } = stage();
    const explained = verbs.explainWait({ name: "etl", ticketNumber: 4n });
    const also = [
      { lockName: "book", mode: Mode.SHARED, permits: 1 },
      { lockName: "pool", mode: Mode.PERMIT, permits: 3, fencingToken: 5n },
    ];
    answer({
      case: "explainWait",
      value: create(ExplainWaitResponseSchema, {
        lock: { name: "etl", limit: {} },
        claim: { lockName: "etl", ticketNumber: 4n, also },
        causes: [{ cause: { case: "exhausted", value: true }, lockName: "book" }],
      }),
    });
    expect(await explained).toMatchObject({
      claim: {
        also: [
          { lockName: "book", mode: "shared", permits: 1 },
          { lockName: "pool", mode: "permit", permits: 3, token: 5n },
        ],
      },
      causes: [{ kind: "exhausted", lockName: "book" }],
    });
  });
});
