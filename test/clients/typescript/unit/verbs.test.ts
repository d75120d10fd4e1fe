// What the client's verbs put into requests and read from answers, without a server.

import { create } from "@bufbuild/protobuf";
import { describe, expect, test, vi } from "vitest";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { Verbs } from "../../../../clients/typescript/src/verbs.ts";
import { ClaimState, EndReason, LimitSource, Mode } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import {
  ExplainWaitResponseSchema,
  ForceReleaseResponseSchema,
  GetLockResponseSchema,
  ListChangesResponseSchema,
  ListClaimsResponseSchema,
  ListLimitsResponseSchema,
  ListLocksResponseSchema,
  ListOrder,
  ReleaseResponseSchema,
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
    ["a record", (verbs: Verbs) => verbs.updateRecord("a", { status: "x" })],
    ["a deletion", (verbs: Verbs) => verbs.deleteRecord("a", {})],
    ["a forced release of a name", (verbs: Verbs) => verbs.forceRelease({ name: "a" }, "")],
  ])("%s that may have been set is not set again", async (_, change) => {
    const { verbs, calls, connection } = stage();
    const changed = change(verbs);
    lose(calls, connection);
    await expect(changed).rejects.toMatchObject({ reason: "CONNECTION_LOST" });
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

describe("a record", () => {
  test("changes to empty, 0 or null, too", () => {
    const { verbs, latest } = stage();
    const changes = { notBeforeIn: 0, attemptsLeft: 0, status: "", ifVersion: 5, reason: "anew" };
    verbs.updateRecord("job", changes).catch(() => {});
    expect(latest().command.value).toMatchObject({
      newNotBefore: { case: "notBeforeIn", value: at(0) },
      newAttemptsLeft: { case: "attemptsLeft", value: 0 },
      status: "",
      expectedVersion: 5n,
      reason: "anew",
    });
    verbs.updateRecord("job", { notBefore: null, attemptsLeft: null }).catch(() => {});
    const { value } = latest().command;
    expect(value).toMatchObject({
      newNotBefore: { case: "unsetNotBefore" },
      newAttemptsLeft: { case: "unsetAttemptsLeft" },
    });
    verbs.updateRecord("job", { notBefore: new Date(1_500) }).catch(() => {});
    expect(latest().command.value).toMatchObject({
      newNotBefore: { case: "notBefore", value: at(1, 500_000_000) },
    });
  });
});

describe("a lock is shown", () => {
  test.each([
    [LimitSource.NAME, "name"],
    [LimitSource.DEFAULT, "default"],
  ])(
    "with a limit of source %i, which is that of the %s, and without missing fields",
    async (source, name) => {
      const { verbs, answer } = stage();
      const shown = verbs.getLock("a");
      const lock = {
        name: "a",
        limit: { permits: 1, source, pattern: "no" },
        holders: [{ state: ClaimState.HELD }],
      };
      answer({ case: "getLock", value: create(GetLockResponseSchema, { lock }) });
      const view = await shown;
      expect(view.limit).toEqual({ permits: 1, source: name, version: 0n, reason: "" });
      expect(view).not.toHaveProperty("record");
      expect(Object.keys(view.holders[0] ?? {}).toSorted()).toEqual([
        "labels",
        "lockName",
        "mode",
        "owner",
        "permits",
        "state",
        "ticketNumber",
        "token",
      ]);
      expect(view.holders[0]).toMatchObject({ mode: "permit" });
    },
  );
});

describe("a listing", () => {
  test("reads page after page, until a page names no next one", async () => {
    const { verbs, asked, answer } = stage();
    const names: string[] = [];
    const read = (async () => {
      for await (const { name } of verbs.listLocks({
        prefix: "a",
        busyOnly: true,
        order: "most waiters",
        pageSize: 2,
      }))
        names.push(name);
    })();
    const page = (...locks: string[]) => locks.map((name) => ({ name, limit: { permits: 1 } }));
    const said = { prefix: "a", busyOnly: true, order: ListOrder.MOST_WAITERS, pageSize: 2 };
    await turn();
    expect(asked).toHaveLength(1);
    expect(asked[0]?.command).toMatchObject({ case: "listLocks", value: { ...said, pageToken: "" } });
    answer({
      case: "listLocks",
      value: create(ListLocksResponseSchema, { locks: page("a1", "a2"), nextPageToken: "t" }),
    });
    await turn();
    expect(asked).toHaveLength(2);
    expect(asked[1]?.command).toMatchObject({ value: { ...said, pageToken: "t" } });
    answer({ case: "listLocks", value: create(ListLocksResponseSchema, { locks: page("a3") }) });
    await read;
    expect(names).toEqual(["a1", "a2", "a3"]);
  });

  test.each([
    [{}, ListOrder.NAME],
    [{ order: "longest wait" }, ListOrder.LONGEST_WAIT],
  ] as const)("with %j is of all locks, in the order %i", async (options, order) => {
    const { verbs, asked } = stage();
    verbs
      .listLocks(options)
      .next()
      .catch(() => {});
    await turn();
    expect(asked).toHaveLength(1);
    expect(asked[0]?.command.value).toMatchObject({ prefix: "", busyOnly: false, pageSize: 0, order });
  });

  test("of limits names each one's target", async () => {
    const { verbs, asked, answer } = stage();
    const all: object[] = [];
    const read = (async () => {
      for await (const one of verbs.listLimits("a")) all.push(one);
    })();
    await turn();
    expect(asked).toHaveLength(1);
    expect(asked[0]?.command).toMatchObject({ case: "listLimits", value: { prefix: "a", pageToken: "" } });
    const limits = [{ target: { case: "name" as const, value: "a" }, limit: 1, version: 2n, reason: "x" }];
    answer({ case: "listLimits", value: create(ListLimitsResponseSchema, { limits, nextPageToken: "t" }) });
    await turn();
    expect(asked).toHaveLength(2);
    expect(asked[1]?.command.value).toMatchObject({ prefix: "a", pageToken: "t" });
    const rest = [{ target: { case: "pattern" as const, value: "a*" } }, {}];
    answer({ case: "listLimits", value: create(ListLimitsResponseSchema, { limits: rest }) });
    await read;
    expect(all).toEqual([
      { name: "a", limit: 1, version: 2n, reason: "x" },
      { pattern: "a*", limit: 0, version: 0n, reason: "" },
      { limit: 0, version: 0n, reason: "" },
    ]);
  });

  test.each(["listClaims", "listChanges"] as const)("by %s reads page after page, too", async (verb) => {
    const { verbs, asked, answer } = stage();
    const read = Array.fromAsync<object>(verbs[verb]({ name: "a" }));
    const page = (nextPageToken: string) =>
      verb === "listClaims"
        ? create(ListClaimsResponseSchema, { claims: [{ lockName: "a" }], nextPageToken })
        : create(ListChangesResponseSchema, {
            changes: [{ target: { case: "lockName", value: "a" } }],
            nextPageToken,
          });
    for (const nextPageToken of ["t", ""]) {
      await turn();
      answer({ case: verb, value: page(nextPageToken) });
    }
    expect(await read).toHaveLength(2);
    expect(asked.map(({ command }) => (command.value as { pageToken: string }).pageToken)).toEqual(["", "t"]);
  });
});

test("a forced release is of a name or of one claim, and returns what it has ended", async () => {
  const { verbs, latest, answer } = stage();
  const forced = verbs.forceRelease({ name: "a" }, "it hangs");
  expect(latest().command).toMatchObject({
    case: "forceRelease",
    value: { target: { case: "name", value: "a" }, reason: "it hangs" },
  });
  const ended = [{ lockName: "a", ticketNumber: 3n }];
  answer({ case: "forceRelease", value: create(ForceReleaseResponseSchema, { ended, remaining: 4 }) });
  expect(await forced).toMatchObject({ ended: [{ lockName: "a", ticketNumber: 3n }], remaining: 4 });
  verbs.forceRelease({ name: "a", ticketNumber: 0n }, "").catch(() => {});
  expect(latest().command.value).toMatchObject({
    target: { case: "claim", value: { lockName: "a", ticketNumber: 0n } },
  });
});

test("a verb fails with the server's error", async () => {
  const { verbs, answer } = stage();
  const failed = verbs.getLock("a");
  const error = new RowlockError("BAD_REQUEST", "INVALID_ARGUMENT", "no");
  answer(error);
  await expect(failed).rejects.toBe(error);
});

describe("a listing of claims", () => {
  test("asks for what its options say", async () => {
    const { verbs, asked } = stage();
    verbs
      .listClaims({
        name: "etl",
        owner: "o",
        principal: "p",
        labels: { team: "a" },
        states: ["waiting", "held", "ended"],
        endReasons: ["EXPIRED", "FORCE_RELEASED"],
        from: new Date(1_500),
        until: new Date(2_000),
        pageSize: 7,
      })
      .next()
      .catch(() => {});
    await turn();
    expect(asked[0]?.command.value).toMatchObject({
      locks: { case: "lockName", value: "etl" },
      owner: "o",
      principal: "p",
      labels: { team: "a" },
      states: [ClaimState.WAITING, ClaimState.HELD, ClaimState.ENDED],
      endReasons: [EndReason.EXPIRED, EndReason.FORCE_RELEASED],
      from: at(1, 500_000_000),
      until: at(2),
      pageSize: 7,
      pageToken: "",
    });
  });
});

describe("the explanation of a wait", () => {
  test.each([
    ["a name", { name: "etl" }, { case: "name", value: "etl" }],
    [
      "a public number",
      { name: "etl", ticketNumber: 0n },
      { case: "claim", value: { lockName: "etl", ticketNumber: 0n } },
    ],
    ["a ticket", { ticketId: "t" }, { case: "ticketId", value: "t" }],
  ])("is asked for by %s", (_, target, sent) => {
    const { verbs, latest } = stage();
    verbs.explainWait(target).catch(() => {});
    expect(latest().command).toMatchObject({ case: "explainWait", value: { target: sent } });
  });

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
    const causes = [
      { cause: { case: "failedOverUntil" as const, value: at(1) } },
      { cause: { case: "rows" as const, value: { connectionId: 7n, user: "app", heldFor: at(2) } } },
      { cause: { case: "rows" as const, value: {} } },
      { cause: { case: "limit" as const, value: { limit, setAt: at(3), setBy: "ops" } } },
      { cause: { case: "limit" as const, value: { limit } } },
      { cause: { case: "notBefore" as const, value: at(4) } },
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
        lock: { name: "etl", limit },
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
    expect(await explained).toEqual({
      lock: {
        name: "etl",
        limit: limitShown,
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
});
