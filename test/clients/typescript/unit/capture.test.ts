// A capture of many locks over a fake connection: what it sends, and how it reacts to each answer.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Capture, type CaptureOptions } from "../../../../clients/typescript/src/capture.ts";
import type { HeldLease } from "../../../../clients/typescript/src/leases/held-lease.ts";
import type { Reason } from "../../../../clients/typescript/src/reason.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import { LeaseSchema } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import {
  type CaptureRequest,
  CaptureResponseSchema,
  RenewResponseSchema,
} from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";
import { moveOn, stageCalls } from "./fake-connection.ts";

const TTL_MS = 30_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const leaseOf = (leaseId: string, leftMs = TTL_MS) =>
  create(LeaseSchema, { leaseId, lockName: `lock ${leaseId}`, ttl: durationOf(leftMs) });
const captured = (more: MessageInitShape<typeof CaptureResponseSchema>) => ({
  case: "capture",
  value: create(CaptureResponseSchema, more),
});
const renewed = (leaseId: string, leftMs: number) => ({
  case: "renew",
  value: create(RenewResponseSchema, { lease: leaseOf(leaseId, leftMs) }),
});
const errorOf = (reason: Reason, code = "UNAVAILABLE") => new RowlockError(reason, code, "no");
const settled = () => vi.advanceTimersByTimeAsync(0);

/** A capture that has started, with callbacks that record what they receive. */
function stage(asked: CaptureOptions = { prefix: "" }, giveUpAfterMs = 60_000) {
  const staged = stageCalls();
  const held = new Map<string, HeldLease>();
  const givenBack: string[] = [];
  const letGo: string[] = [];
  const capture = new Capture({
    calls: staged.calls,
    clock: staged.clock,
    asked,
    giveUpAfterMs,
    marginMs: 2_000,
    find: (id) => held.get(id),
    keep: (lease) => void held.set(lease.id, lease),
    giveBack: (id) => void givenBack.push(id),
    letGo: (lease) => void letGo.push(lease.id),
  });
  const outcome = capture.run();
  outcome.catch(() => {});
  const request = () => staged.latest().command.value as CaptureRequest;
  return { ...staged, capture, outcome, held, givenBack, letGo, request };
}

describe("a request", () => {
  test.each([
    ["forever", 60_000, 15],
    ["forever", 10_000, 5],
    [4_000, 60_000, 4],
  ] as const)(
    "that waits %j in a client that gives up after %i ms is of a piece of %i s",
    (wait, giveUpAfterMs, seconds) => {
      const { request } = stage({ prefix: "", wait }, giveUpAfterMs);
      expect(request().maxWait).toMatchObject({ seconds: BigInt(seconds), nanos: 0 });
    },
  );
});

describe("leases that were taken", () => {
  test("too late to use, again and again, are given back, and the error names the TTL", async () => {
    const { answer, outcome, asked, givenBack } = stage();
    answer(captured({ leases: [leaseOf("a", 2_500)] }));
    for (let index = 0; index < 3; index++) answer(renewed("a", 2_500));
    await expect(outcome).rejects.toMatchObject({ reason: "TTL_TOO_SHORT" });
    expect(asked).toHaveLength(4);
    expect(givenBack).toEqual(["a"]);
  });

  test("that end before use in four successive answers are an error", async () => {
    const { answer, outcome, asked, capture } = stage({ prefix: "", wait: "forever" });
    const settledAfter: number[] = [];
    outcome.catch(() => settledAfter.push(asked.length));
    for (let index = 1; index <= 4; index++) {
      answer(captured({ leases: [leaseOf(`${index}`, 2_500)] }));
      answer(errorOf("UNKNOWN_CLAIM", "NOT_FOUND"));
      await settled();
    }
    await expect(outcome).rejects.toMatchObject({ reason: "TTL_TOO_SHORT" });
    expect(settledAfter).toEqual([8]);
    capture.abandon(new Error("late"));
  });
});

describe("no leases", () => {
  test("at the end of a piece lead to the next piece, under another id, until the wait is over", async () => {
    const { answer, outcome, request, asked } = stage({ prefix: "", wait: 20_000 });
    const first = request().requestId;
    await vi.advanceTimersByTimeAsync(15_000);
    answer(captured({}));
    await settled();
    expect(asked).toHaveLength(2);
    expect(request().requestId).not.toBe(first);
    expect(request().maxWait).toMatchObject({ seconds: 5n });
    await vi.advanceTimersByTimeAsync(5_000);
    answer(captured({}));
    expect(await outcome).toMatchObject({ leases: [] });
    expect(asked).toHaveLength(2);
  });

  test("under the caller's own id that had some before are the outcome at once", async () => {
    const { answer, outcome, asked } = stage({ prefix: "", wait: "forever", requestId: "mine" });
    answer(captured({ isRepeated: true }));
    expect(await outcome).toMatchObject({ leases: [] });
    expect(asked).toHaveLength(1);
  });

  test("of a repeated request under an id of the client are waited for", async () => {
    const { answer, asked } = stage({ prefix: "", wait: "forever" });
    answer(captured({ isRepeated: true }));
    await settled();
    expect(asked).toHaveLength(2);
  });
});

describe("a capture that is given up", () => {
  test("and does not wait still gets its answer, so that what it took is given back", async () => {
    const { capture, answer, outcome, connection, calls, givenBack } = stage();
    capture.abandon(new Error("enough"));
    await expect(outcome).rejects.toThrow("enough");
    expect([connection.cancelled, calls.size]).toEqual([[], 1]);
    answer(captured({ leases: [leaseOf("a")] }));
    expect(givenBack).toEqual(["a"]);
  });

  test("and whose connection is lost is not repeated", async () => {
    const { calls, connection, capture, outcome } = stage();
    capture.abandon(new Error("enough"));
    await expect(outcome).rejects.toThrow("enough");
    const next = moveOn(calls, connection);
    await settled();
    expect([next.asked, calls.size]).toEqual([[], 0]);
  });

  test("while its late leases are renewed gives back those that it has", async () => {
    const { answer, outcome, capture, letGo, givenBack } = stage({ prefix: "", count: 2 });
    answer(captured({ leases: [leaseOf("a"), leaseOf("b", 2_500)] }));
    capture.abandon(new Error("enough"));
    await expect(outcome).rejects.toThrow("enough");
    expect(letGo).toEqual(["a"]);
    answer(renewed("b", TTL_MS));
    expect(givenBack).toEqual(["b"]);
  });
});

describe("a capture fails", () => {
  test("without an answer in time, as does the renewal of what it took", async () => {
    const silent = stage({ prefix: "" }, 5_000);
    await vi.advanceTimersByTimeAsync(5_001);
    await expect(silent.outcome).rejects.toMatchObject({ reason: "NO_SERVER" });
    const { answer, outcome, givenBack } = stage({ prefix: "" }, 5_000);
    answer(captured({ leases: [leaseOf("a", 2_500)] }));
    await vi.advanceTimersByTimeAsync(5_001);
    await expect(outcome).rejects.toMatchObject({ reason: "NO_SERVER" });
    expect(givenBack).toEqual(["a"]);
  });
});
