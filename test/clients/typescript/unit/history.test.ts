// What the listings of the past and the explanation of a wait put into requests and read from answers, without a server.

import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { Verbs } from "../../../../clients/typescript/src/verbs.ts";
import { ClaimState, EndReason, LimitSource, Mode } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import { ExplainWaitResponseSchema } from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";
import { stageCalls, turn } from "./fake-connection.ts";

function stage() {
  const calls = stageCalls();
  return { ...calls, verbs: new Verbs(calls.calls, 60_000) };
}

const at = (seconds: number, nanos = 0) => ({ seconds: BigInt(seconds), nanos });

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
