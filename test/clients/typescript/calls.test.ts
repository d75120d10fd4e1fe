// What happens to calls when connections come and go, with fake connections.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Clock } from "../../../clients/typescript/src/clock.ts";
import type { Ask } from "../../../clients/typescript/src/connection/call.ts";
import { Calls } from "../../../clients/typescript/src/connection/calls.ts";
import type { Connection, Opened } from "../../../clients/typescript/src/connection/connection.ts";
import type { Reason } from "../../../clients/typescript/src/reason.ts";
import { RowlockError } from "../../../clients/typescript/src/rowlock-error.ts";

const GONE = new RowlockError("UNKNOWN", "UNAVAILABLE", "gone");
const command = () =>
  ({ case: "release" as const, value: { $typeName: "rowlock.v1.ReleaseRequest" } }) as never;

afterEach(() => void vi.useRealTimers());

/** Takes and records calls once it has opened. */
class Listening implements Connection {
  readonly address = "here";
  readonly via = "session";
  readonly renewalsMax = 1;
  readonly wasReached = true;
  readonly taken: bigint[] = [];
  readonly cancelled: bigint[] = [];
  opened: Opened | undefined;

  constructor(opened: Partial<Opened> = {}) {
    this.opened = { replica: "1", waitsMax: 1, commandsMax: 1, ...opened };
  }

  send(call: bigint): boolean {
    if (!this.opened) return false;
    this.taken.push(call);
    return true;
  }

  cancel(call: bigint): void {
    this.cancelled.push(call);
  }

  async close(): Promise<void> {}
  destroy(): void {}
}

function stage() {
  const calls = new Calls({ need() {}, lastError: () => GONE, addresses: ["here"], clock: new Clock() });
  const said: string[] = [];
  const ask = (name: string, more: Partial<Ask> = {}) =>
    calls.begin({
      kind: "other",
      command,
      repeat: "always",
      giveUpAfterMs: () => Number.POSITIVE_INFINITY,
      answered: () => {
        said.push(`${name} was answered`);
        return true;
      },
      failed: (error) => said.push(`${name} failed: ${error.reason}`),
      ...more,
    });
  const answer = (call: bigint) =>
    calls.results([{ call, result: { case: "release", value: {} } as never }], 0);
  return { calls, said, ask, answer };
}

describe("a call", () => {
  test("that must not be repeated is sent only to a server that has answered, and is in doubt once it was sent", () => {
    const { calls, said, ask } = stage();
    const first = new Listening();
    const { opened } = first;
    first.opened = undefined;
    // A first request may contain commands before the server has answered.
    first.send = (call) => first.taken.push(call) > 0;
    calls.begun(first);
    ask("once", { repeat: "unsent" });
    expect(first.taken).toEqual([]);
    first.opened = opened;
    calls.opened();
    expect(first.taken).toHaveLength(1);
    calls.ended(first, GONE);
    expect(said).toEqual(["once failed: CONNECTION_LOST"]);
  });

  test("whose second try would not tell what the first one did is sent first to a server that has answered", () => {
    const { calls, said, ask, answer } = stage();
    const unreached = new Listening();
    const { opened } = unreached;
    unreached.opened = undefined;
    unreached.send = (call) => unreached.taken.push(call) > 0;
    calls.begun(unreached);
    ask("release", { repeat: "once open" });
    calls.leaving(unreached, GONE);
    calls.ended(unreached, GONE);
    expect(unreached.taken).toEqual([]);
    const reached = new Listening();
    reached.opened = opened;
    calls.begun(reached);
    calls.leaving(reached, GONE);
    calls.ended(reached, GONE);
    const next = new Listening();
    calls.begun(next);
    answer(next.taken[0] as bigint);
    expect([reached.taken.length, said]).toEqual([1, ["release was answered"]]);
  });

  test("that must not be repeated fails with the server's error, unless that means that nothing was done", async () => {
    vi.useFakeTimers();
    const { calls, said, ask } = stage();
    const connection = new Listening({ commandsMax: 9 });
    calls.begun(connection);
    const fail = (call: bigint, reason: Reason, code: string) =>
      calls.results([{ call, result: new RowlockError(reason, code, "no") }], 0);
    ask("once", { repeat: "unsent" });
    fail(1n, "UNKNOWN", "UNAVAILABLE");
    expect(said.splice(0)).toEqual(["once failed: UNKNOWN"]);
    ask("again", { repeat: "unsent" });
    fail(2n, "OVERLOADED", "RESOURCE_EXHAUSTED");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(connection.taken).toEqual([1n, 2n, 3n]);
    ask("always");
    fail(4n, "UNKNOWN", "UNAVAILABLE");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(connection.taken).toEqual([1n, 2n, 3n, 4n, 5n]);
    expect(said).toEqual([]);
  });

  test("that is repeated is not in doubt if its connection had reached no server", () => {
    const { calls, ask } = stage();
    const away = Object.assign(new Listening(), { wasReached: false });
    calls.begun(away);
    const call = ask("repeated");
    expect([calls.isOwed, call.timesSent]).toEqual([false, 1]);
    calls.leaving(away, GONE);
    calls.ended(away, GONE);
    expect(call.mayBeKnown).toBe(false);
    const there = new Listening();
    calls.begun(there);
    expect(calls.isOwed).toBe(true);
    calls.leaving(there, GONE);
    calls.ended(there, GONE);
    expect([calls.isOwed, call.mayBeKnown]).toEqual([true, true]);
  });

  test("without an answer in time is ended at its server, too", async () => {
    const { calls, said, ask } = stage();
    const connection = new Listening();
    calls.begun(connection);
    const failed = Promise.withResolvers<RowlockError>();
    ask("late", { giveUpAfterMs: () => 20, failed: failed.resolve });
    expect(await failed.promise).toMatchObject({ reason: "NO_SERVER", cause: GONE });
    expect(connection.cancelled).toEqual(connection.taken);
    expect(said).toEqual([]);
  });

  test("that is cancelled while there is no server is forgotten at once", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc");
    const { calls, ask } = stage();
    const cancelled = (() => {
      const call = ask("nobody's");
      ask("somebody's");
      calls.cancel(call);
      return new WeakRef(call);
    })();
    await new Promise(setImmediate);
    collectGarbage();
    expect(cancelled.deref()).toBeUndefined();
    const connection = new Listening();
    calls.begun(connection);
    expect(connection.taken).toEqual([1n]);
  });
});
