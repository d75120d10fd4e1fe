// What a watch reports from the servers' messages, over a fake connection.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { Watch, type WatchUpdate } from "../../../../clients/typescript/src/watch.ts";
import { WatchLocksResponseSchema } from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";
import { GONE, stageCalls, turn } from "./fake-connection.ts";

function stage(options: { prefix?: string; signal?: AbortSignal } = {}) {
  const staged = stageCalls();
  const watch = new Watch({ ...options, calls: staged.calls, giveUpAfterMs: 60_000 });
  const updates = watch.updates();
  const said = (message: MessageInitShape<typeof WatchLocksResponseSchema>, call = staged.latest().call) =>
    staged.answer({ case: "watchLocks", value: create(WatchLocksResponseSchema, message) }, { call });
  return { ...staged, watch, updates, said };
}

const lock = (name: string, waiterCount = 0) => ({ name, waiterCount, limit: { permits: 1 } });
const told = ({ beganAnew, locks, deleted, complete }: WatchUpdate) => ({
  beganAnew,
  locks: locks.map(({ name, waiterCount }) => `${name}:${waiterCount}`),
  deleted,
  complete,
});
const NEWS = { beganAnew: false, locks: [] as string[], deleted: [] as string[], complete: false };

describe("a watch", () => {
  test("yields the changes since the last read: the latest of each lock, and once that it is complete", async () => {
    const { updates, latest, said } = stage({ prefix: "a" });
    const first = updates.next();
    expect(latest().command).toMatchObject({ case: "watchLocks", value: { prefix: "a" } });
    said({ locks: [lock("a1"), lock("a2")] });
    expect(told((await first).value as WatchUpdate)).toEqual({ ...NEWS, locks: ["a1:0", "a2:0"] });
    said({ complete: true });
    expect(told((await updates.next()).value as WatchUpdate)).toEqual({ ...NEWS, complete: true });
    said({ locks: [lock("a1", 1)] });
    said({ locks: [lock("a1", 2), lock("a3")] });
    said({ deleted: ["a3", "a2"] });
    expect(told((await updates.next()).value as WatchUpdate)).toEqual({
      ...NEWS,
      locks: ["a1:2"],
      deleted: ["a3", "a2"],
    });
  });

  test("begins anew when the server says so: unread changes are dropped", async () => {
    const { updates, said } = stage();
    const first = updates.next();
    said({ locks: [lock("a")], complete: true });
    await first;
    said({ locks: [lock("b")] });
    said({ beganAnew: true });
    said({ locks: [lock("c")] });
    expect(told((await updates.next()).value as WatchUpdate)).toEqual({
      ...NEWS,
      beganAnew: true,
      locks: ["c:0"],
    });
    said({ beganAnew: true });
    expect(told((await updates.next()).value as WatchUpdate)).toEqual({ ...NEWS, beganAnew: true });
  });
});

describe("a watch ends", () => {
  test("at its server at once, also while its reader is busy with an update", async () => {
    const { calls, connection, watch, updates, said } = stage();
    const first = updates.next();
    said({ complete: true });
    await first;
    watch.abandon(GONE);
    expect([connection.cancelled, calls.size]).toEqual([[1n], 0]);
    await expect(updates.next()).rejects.toBe(GONE);
  });

  test("by a signal, with its reason, and later signals change nothing", async () => {
    const giveUp = new AbortController();
    const { calls, updates } = stage({ signal: giveUp.signal });
    const first = updates.next();
    giveUp.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    expect(calls.size).toBe(0);
  });

  test("with the error of its call, the first of several", async () => {
    const { calls, watch, updates } = stage();
    const first = updates.next();
    await turn();
    calls.failAll(GONE);
    watch.abandon(new Error("late"));
    await expect(first).rejects.toBe(GONE);
  });
});
