// What callers may use of their quotas, and that nothing is kept of those who use nothing.

import { beforeEach, describe, expect, test } from "vitest";
import { AccessError } from "../../server/access/access-error.ts";
import type { Quota } from "../../server/access/policy.ts";
import { Usage } from "../../server/access/usage.ts";

const user = (quota: Quota, principal = "token:a") => ({ principal, quota });

/** The bound that refuses it; null: nothing does. */
function refused(use: () => unknown): string | null {
  try {
    use();
    return null;
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
    expect(error).toMatchObject({ reason: "OVERLOADED", retryAfterMs: expect.any(Number) });
    return error.metadata.bound ?? "";
  }
}

describe("calls", () => {
  test("of a second may come at once, and then come as fast as the quota allows", () => {
    let nowMs = 1_000;
    const usage = new Usage(() => nowMs);
    const often = user({ callsPerSecond: 10 });
    for (let call = 0; call < 10; call++) expect(refused(() => usage.call(often))).toBeNull();
    expect(refused(() => usage.call(often))).toBe("quota_calls");
    nowMs += 100;
    expect(refused(() => usage.call(often))).toBeNull();
    expect(refused(() => usage.call(often))).toBe("quota_calls");
    expect(refused(() => usage.call(user({ callsPerSecond: 10 }, "token:b")))).toBeNull();
    expect(refused(() => usage.call(user({})))).toBeNull();
    expect(refused(() => usage.call(user({ callsPerSecond: 0 }, "token:c")))).toBe("quota_calls");
  });

  test("are told when to come back", () => {
    const usage = new Usage(() => 0);
    const seldom = user({ callsPerSecond: 2 });
    usage.call(seldom);
    usage.call(seldom);
    expect(() => usage.call(seldom)).toThrow(expect.objectContaining({ retryAfterMs: 500 }));
  });
});

test("new names are counted by the minute", () => {
  let nowMs = 0;
  const usage = new Usage(() => nowMs);
  const maker = user({ newNamesPerMinute: 2 });
  expect([1, 2, 3].map(() => usage.mayMakeName(maker))).toEqual([true, true, false]);
  nowMs += 30_000;
  expect([1, 2].map(() => usage.mayMakeName(maker))).toEqual([true, false]);
});

test("sessions count until they end", () => {
  const usage = new Usage();
  const two = user({ sessions: 2 });
  const [first] = [usage.session(two), usage.session(two)];
  expect(refused(() => usage.session(two))).toBe("quota_sessions");
  first?.();
  expect(refused(() => usage.session(two))).toBeNull();
});

describe("live claims", () => {
  const few = user({ claims: 3, waiters: 1 });
  const lease = { claims: 1, waiters: 0 };
  const place = { claims: 1, waiters: 1 };

  test("count from the decision to the end, and commands under way keep room", () => {
    const usage = new Usage();
    const done = usage.ask(few, place);
    expect(refused(() => usage.ask(few, place))).toBe("quota_waiters");
    usage.decided("token:a", 1, 1);
    done?.();
    expect(refused(() => usage.ask(few, place))).toBe("quota_waiters");
    const others = [usage.ask(few, lease), usage.ask(few, lease)];
    expect(refused(() => usage.ask(few, lease))).toBe("quota_claims");
    for (const end of others) end?.();
    usage.decided("token:a", 0, -1);
    usage.decided("token:a", 2, 0);
    expect(refused(() => usage.ask(few, lease))).toBe("quota_claims");
    usage.decided("token:a", -1, 0);
    expect(refused(() => usage.ask(few, lease))).toBeNull();
  });

  test("keep room for the leases of an attempt of a capture that waits, or say that there is none", () => {
    const usage = new Usage();
    usage.decided("token:a", 1, 0);
    const attempt = usage.roomForLeases(few, 2);
    expect(attempt).toBeTypeOf("function");
    expect(usage.roomForLeases(few, 1)).toBeNull();
    attempt?.();
    expect(usage.roomForLeases(few, 2)).toBeTypeOf("function");
    expect(usage.roomForLeases(user({ waiters: 1 }), 100)).toBeUndefined();
  });

  test("are corrected by a count: those that another server has granted, and those that it has ended", () => {
    const usage = new Usage();
    usage.decided("token:a", 3, 0);
    expect(refused(() => usage.ask(few, lease))).toBe("quota_claims");
    usage.counted([{ principal: "token:b", claims: 5, waiters: 0 }]);
    expect(refused(() => usage.ask(few, lease))).toBeNull();
    expect(refused(() => usage.ask(user({ claims: 5 }, "token:b"), lease))).toBe("quota_claims");
  });
});

describe("records", () => {
  const two = user({ records: 2 });
  const asked = (who = two) =>
    refused(() => {
      const room = usage.roomForRecord(who);
      if (room.refusal) throw room.refusal;
      room.done();
    });
  let usage: Usage;
  beforeEach(() => {
    usage = new Usage();
  });

  test("count when they are decided, and commands under way keep room", () => {
    const [first, second] = [usage.roomForRecord(two), usage.roomForRecord(two)];
    expect(asked()).toBe("quota_records");
    usage.decided("token:a", 0, 0, 1);
    first.done();
    expect(asked()).toBe("quota_records");
    second.done();
    expect(asked()).toBeNull();
    usage.decided("token:a", 0, 0, 1);
    expect(asked()).toBe("quota_records");
    expect(asked(user({ records: 2 }, "token:b"))).toBeNull();
    usage.decided("token:a", 0, 0, -1);
    expect(asked()).toBeNull();
  });

  test("are corrected by a count, which says nothing of claims", () => {
    usage.decided("token:a", 1, 0);
    usage.decided("token:a", 0, 0, 2);
    usage.recordsCounted([{ principal: "token:b", records: 2 }]);
    expect(asked()).toBeNull();
    expect(asked(user({ records: 2 }, "token:b"))).toBe("quota_records");
    expect(refused(() => usage.ask(user({ claims: 1 }), { claims: 1, waiters: 0 }))).toBe("quota_claims");
    usage.counted([]);
    expect(asked(user({ records: 2 }, "token:b"))).toBe("quota_records");
  });

  test("without a quota, and of callers whom the server asks no name, are not bounded", () => {
    usage.decided("token:a", 0, 0, 1_000);
    expect(asked(user({}))).toBeNull();
    usage.decided("", 0, 0, 1_000);
    usage.recordsCounted([]);
    expect(asked(user({}, ""))).toBeNull();
    expect(asked(user({ records: 0 }))).toBe("quota_records");
  });
});

describe("the use of quotas", () => {
  const claims = (usage: Usage) => usage.bounds.find(({ bound }) => bound === "quota_claims");
  const lease = { claims: 1, waiters: 0 };

  test("is that of the caller who has used the largest share, in claims or in what comes back with time", () => {
    let nowMs = 0;
    const usage = new Usage(() => nowMs);
    for (const [principal, quota, held] of [
      ["token:a", { claims: 100 }, 50],
      ["token:b", { claims: 4, callsPerSecond: 10 }, 3],
    ] as const) {
      usage.decided(principal, held, 0);
      usage.ask(user(quota, principal), lease)?.();
    }
    expect(claims(usage)).toEqual({ bound: "quota_claims", kind: "client", used: 3, max: 4 });
    for (let call = 0; call < 6; call++) usage.call(user({ claims: 4, callsPerSecond: 10 }, "token:b"));
    nowMs += 100;
    expect(usage.bounds).toContainEqual({ bound: "quota_calls", kind: "client", used: 5, max: 10 });
  });

  test("is nothing if nobody has a quota, or nobody uses one", () => {
    const usage = new Usage();
    usage.decided("token:a", 5, 0);
    expect(usage.bounds).toEqual([]);
    usage.ask(user({ claims: 10 }), lease)?.();
    expect(claims(usage)).toMatchObject({ used: 5, max: 10 });
    usage.decided("token:a", -5, 0);
    expect(claims(usage)).toBeUndefined();
  });
});
