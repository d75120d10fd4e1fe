// How calls share the bounds of a connection, wait for their turn, and are retried, with the test's own timers.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import type { Ask } from "../../../../clients/typescript/src/connection/call.ts";
import { Calls } from "../../../../clients/typescript/src/connection/calls.ts";
import type { Reason } from "../../../../clients/typescript/src/reason.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { FakeConnection, GONE, lose } from "./fake-connection.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(1);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const no = (reason: Reason, more = {}) => new RowlockError(reason, "UNAVAILABLE", `no: ${reason}`, more);

function connect(opened: { waitsMax?: number; commandsMax?: number } | undefined = {}) {
  const connection = new FakeConnection();
  connection.opened = opened && { replica: "1", waitsMax: 9, commandsMax: 9, ...opened };
  return connection;
}

function begin(calls: Calls, opened?: Parameters<typeof connect>[0]) {
  const connection = connect(opened);
  calls.begun(connection);
  return connection;
}

function stage(lastError: RowlockError | undefined = undefined) {
  let needed = 0;
  const clock = new Clock(() => performance.now());
  const calls = new Calls({
    need: () => {
      needed += 1;
    },
    lastError: () => lastError,
    addresses: ["a", "b"],
    clock,
  });
  const said: string[] = [];
  const ask = (name: string, more: Partial<Ask> = {}) =>
    calls.begin({
      kind: "other",
      command: () => ({ case: name }) as never,
      repeat: "always",
      giveUpAfterMs: () => Number.POSITIVE_INFINITY,
      answered: () => {
        said.push(`${name} answered`);
        return true;
      },
      failed: (error) => said.push(`${name} failed: ${error.reason}`),
      ...more,
    });
  const answer = (call: bigint, result: unknown = { case: "release" }, basisMs = clock.now()) =>
    calls.results([{ call, result: result as never }], basisMs);
  const namesOn = ({ asked }: FakeConnection) => asked.map(({ command }) => command.case as string);
  return { calls, clock, said, ask, answer, namesOn, needed: () => needed };
}

describe("a call", () => {
  test("waits for room among its kind: waits and other commands have bounds of their own", () => {
    const { calls, ask, namesOn, answer } = stage();
    const connection = begin(calls, { waitsMax: 1, commandsMax: 1 });
    for (const [name, kind] of [
      ["w1", "wait"],
      ["w2", "wait"],
      ["c1", "other"],
      ["c2", "other"],
      ["u1", "urgent"],
    ] as const)
      ask(name, { kind });
    expect(namesOn(connection)).toEqual(["w1", "c1"]);
    // Urgent calls go first.
    answer(2n);
    expect(namesOn(connection)).toEqual(["w1", "c1", "u1"]);
    answer(3n);
    expect(namesOn(connection)).toEqual(["w1", "c1", "u1", "c2"]);
    answer(1n);
    expect(namesOn(connection)).toEqual(["w1", "c1", "u1", "c2", "w2"]);
  });

  test("that is cancelled makes room, is ended at the server, and gets no answer", () => {
    const { calls, ask, namesOn, answer, said } = stage();
    const connection = begin(calls, { commandsMax: 1 });
    const call = ask("one");
    calls.cancel(call);
    calls.cancel(call);
    expect(connection.cancelled).toEqual([1n]);
    answer(1n);
    ask("two");
    expect([namesOn(connection), said, calls.size]).toEqual([["one", "two"], [], 1]);
  });

  test("that is withdrawn is still answered by a session, and not by a unary call", () => {
    const { calls, ask, answer, said } = stage();
    const connection = begin(calls);
    calls.withdraw(ask("one"));
    expect([connection.cancelled, calls.size]).toEqual([[1n], 1]);
    answer(1n);
    expect(said).toEqual(["one answered"]);
    connection.via = "unary";
    calls.withdraw(ask("two"));
    expect([connection.cancelled, calls.size]).toEqual([[1n, 2n], 0]);
    calls.leaving(connection, GONE);
    calls.withdraw(ask("unsent"));
    expect(calls.size).toBe(0);
  });

  test("counts from its request if the response has heard more; later answers count from their response", async () => {
    const { calls, clock, ask, answer } = stage();
    begin(calls);
    await pass(10);
    const bases: number[] = [];
    const askedMs = clock.now();
    ask("wait", { answered: (_, basisMs) => bases.push(basisMs - askedMs) > 2 });
    await pass(10);
    answer(1n, undefined, askedMs + 7);
    answer(1n, undefined, askedMs + 8);
    answer(1n, undefined, askedMs - 3);
    expect(bases).toEqual([0, 8, -3]);
  });
});

describe("all calls", () => {
  test("owe a server something if it may know of them, or if leases depend on them", () => {
    const { calls, ask } = stage();
    expect(calls.isOwed).toBe(false);
    const other = ask("unsent");
    expect(calls.isOwed).toBe(false);
    calls.cancel(other);
    ask("release", { kind: "urgent" });
    expect(calls.isOwed).toBe(true);
  });
});

describe("a call that a server could not serve for the moment", () => {
  test("is retried after a pause that doubles, and from the first again after an answer", async () => {
    const { calls, ask, answer, namesOn } = stage();
    const connection = begin(calls);
    ask("one", { answered: () => false });
    let sent = 1;
    for (const pauseMs of [100, 200, 400]) {
      answer(BigInt(sent), no("OVERLOADED"));
      await pass(pauseMs - 1);
      expect(namesOn(connection)).toHaveLength(sent);
      await pass(1);
      sent += 1;
      expect(namesOn(connection)).toHaveLength(sent);
    }
    answer(BigInt(sent));
    answer(BigInt(sent), no("OVERLOADED"));
    await pass(100);
    expect(namesOn(connection)).toHaveLength(sent + 1);
  });
});

describe("a call without an answer", () => {
  test("has its whole time again only after it was answered", async () => {
    const { calls, ask, answer } = stage();
    const first = begin(calls);
    const failed = vi.fn();
    ask("wait", { kind: "wait", giveUpAfterMs: () => 1_000, answered: () => false, failed });
    await pass(600);
    answer(1n);
    await pass(10_000);
    expect(failed).not.toHaveBeenCalled();
    lose(calls, first);
    await pass(600);
    begin(calls);
    await pass(399);
    expect(failed).not.toHaveBeenCalled();
    await pass(1);
    expect(failed).toHaveBeenCalledOnce();
  });
});

describe("credentials that are refused for now", () => {
  const EXPIRED = new RowlockError("CREDENTIALS_EXPIRED", "UNAUTHENTICATED", "no");

  test("fail the calls that no server has answered; the others keep their time, and fail with this error", async () => {
    const { calls, ask, answer, said } = stage();
    const first = begin(calls);
    const failed = vi.fn();
    ask("wait", { kind: "wait", giveUpAfterMs: () => 1_000, answered: () => false, failed });
    answer(1n);
    ask("other");
    lose(calls, first);
    calls.failUnanswered(EXPIRED);
    expect(said).toEqual(["other failed: CREDENTIALS_EXPIRED"]);
    await pass(999);
    expect(failed).not.toHaveBeenCalled();
    await pass(1);
    expect(failed).toHaveBeenCalledExactlyOnceWith(EXPIRED);
  });

  test("of a unary call leave it to the next connection, as it was not made, unless it belongs to this one", async () => {
    const { calls, ask, answer, said, namesOn } = stage();
    const [first, second] = [connect(), connect()];
    first.via = "unary";
    calls.begun(first);
    ask("repeated");
    ask("a change", { repeat: "unsent" });
    ask("a page", { repeat: "on this connection" });
    for (const call of [1n, 2n, 3n]) answer(call, EXPIRED);
    expect(said).toEqual(["a page failed: CREDENTIALS_EXPIRED"]);
    calls.leaving(first, EXPIRED);
    calls.ended(first, EXPIRED);
    calls.begun(second);
    await pass(100);
    expect([namesOn(first), namesOn(second)]).toEqual([
      ["repeated", "a change", "a page"],
      ["repeated", "a change"],
    ]);
    expect(said).toHaveLength(1);
  });
});

describe("a connection that ends", () => {
  test("fails only the calls that belong to it", () => {
    const { calls, ask, said } = stage();
    const [first, second] = [connect(), connect()];
    calls.begun(first);
    ask("there", { repeat: "on this connection" });
    calls.leaving(first, GONE);
    calls.begun(second);
    ask("here", { repeat: "on this connection" });
    calls.ended(first, GONE);
    expect(said).toEqual(["there failed: UNKNOWN"]);
  });

  test("leaves its calls to the next one, in order, before later calls", () => {
    const { calls, ask, namesOn } = stage();
    const first = begin(calls, { commandsMax: 2 });
    for (const name of ["one", "two", "three"]) ask(name);
    calls.leaving(first, GONE);
    ask("four");
    calls.ended(first, GONE);
    const second = begin(calls);
    expect(namesOn(second)).toEqual(["one", "two", "three", "four"]);
  });
});

describe("a call that a server may have got", () => {
  /** A connection whose server has not answered yet; its first request may contain commands all the same. */
  function unanswered() {
    const connection = connect();
    const { opened } = connection;
    connection.opened = undefined;
    connection.send = (call, command) => connection.asked.push({ call, command }) > 0;
    return { connection, opened };
  }

  test("and must not be repeated is sent only to a server that has answered, and is in doubt from then on", () => {
    const { calls, said, ask, namesOn } = stage();
    const { connection, opened } = unanswered();
    calls.begun(connection);
    ask("once", { repeat: "unsent" });
    expect(namesOn(connection)).toEqual([]);
    connection.opened = opened;
    calls.opened();
    expect(namesOn(connection)).toEqual(["once"]);
    calls.ended(connection, GONE);
    expect(said).toEqual(["once failed: CONNECTION_LOST"]);
  });

  test("and whose second try would not tell what the first one did is sent first to a server that has answered", () => {
    const { calls, said, ask, answer, namesOn } = stage();
    const { connection: unreached } = unanswered();
    calls.begun(unreached);
    ask("release", { repeat: "once open" });
    lose(calls, unreached);
    const [reached, next] = [connect(), connect()];
    calls.begun(reached);
    lose(calls, reached);
    calls.begun(next);
    answer(next.asked[0]?.call as bigint);
    expect([namesOn(unreached), namesOn(reached)]).toEqual([[], ["release"]]);
    expect(said).toEqual(["release answered"]);
  });

  test("and must not be repeated fails with the server's error, unless that means that nothing was done", async () => {
    const { calls, said, ask, answer, namesOn } = stage();
    const connection = begin(calls);
    ask("once", { repeat: "unsent" });
    answer(1n, no("UNKNOWN"));
    expect(said.splice(0)).toEqual(["once failed: UNKNOWN"]);
    ask("again", { repeat: "unsent" });
    answer(2n, new RowlockError("OVERLOADED", "RESOURCE_EXHAUSTED", "no"));
    await pass(10_000);
    ask("always");
    answer(4n, no("UNKNOWN"));
    await pass(10_000);
    expect([namesOn(connection), said]).toEqual([["once", "again", "again", "always", "always"], []]);
  });

  test("is not in doubt if its connection had reached no server", () => {
    const { calls, ask } = stage();
    const [away, there] = [connect(), connect()];
    away.wasReached = false;
    calls.begun(away);
    const call = ask("repeated");
    expect([calls.isOwed, call.timesSent]).toEqual([false, 1]);
    lose(calls, away);
    expect(call.mayBeKnown).toBe(false);
    calls.begun(there);
    expect(calls.isOwed).toBe(true);
    lose(calls, there);
    expect([calls.isOwed, call.mayBeKnown]).toEqual([true, true]);
  });
});

test("a call that is cancelled while there is no server is forgotten at once", async () => {
  vi.useRealTimers();
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc");
  const { calls, ask, namesOn } = stage();
  const cancelled = (() => {
    const call = ask("nobody's");
    ask("somebody's");
    calls.cancel(call);
    return new WeakRef(call);
  })();
  await new Promise(setImmediate);
  collectGarbage();
  expect(cancelled.deref()).toBeUndefined();
  const connection = begin(calls);
  expect(namesOn(connection)).toEqual(["somebody's"]);
});

test("before a server has named its bounds, a connection accepts any number of calls", () => {
  const { calls, ask, namesOn } = stage();
  const connection = connect();
  connection.opened = undefined;
  connection.send = (call, command) => connection.asked.push({ call, command }) < 3;
  calls.begun(connection);
  for (const name of ["one", "two", "three"]) ask(name);
  // The third was not taken, so it is offered again.
  connection.opened = { replica: "", waitsMax: 0, commandsMax: 9 };
  calls.opened();
  expect(namesOn(connection)).toEqual(["one", "two", "three", "three"]);
});

test("a call that does not fit into a message fails alone, with the client's own error if it is one", async () => {
  const { calls, ask } = stage();
  begin(calls);
  const failed = vi.fn();
  const own = no("CANCELLED");
  ask("one", {
    command: () => {
      throw own;
    },
    failed,
  });
  expect(failed).not.toHaveBeenCalled();
  await pass(0);
  expect(failed.mock.calls).toEqual([[own]]);
  expect(calls.size).toBe(0);
});
