// A connection that uses unary calls, over fake bare calls and with the test's own timers.

import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import type { Command, News } from "../../../../clients/typescript/src/connection/connection.ts";
import { UnaryConnection } from "../../../../clients/typescript/src/connection/unary-connection.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import type { TokenSource } from "../../../../clients/typescript/src/token-source.ts";
import { QueueRequestSchema } from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";

interface Asked {
  readonly method: string;
  readonly request: Record<string, unknown>;
  readonly signal: AbortSignal | undefined;
  readonly headers: object | undefined;
  readonly timeout: number | undefined;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const bare = vi.hoisted(() => ({ asked: [] as Asked[], closed: 0, headers: () => ({}) as object }));
vi.mock("../../../../clients/typescript/src/bare/bare-calls.ts", () => ({
  BareCalls: class {
    constructor(_: string, { headers }: { headers: () => object }) {
      bare.headers = headers;
    }
    call(
      method: string,
      request: Record<string, unknown>,
      { signal, headers, timeout }: { signal?: AbortSignal; headers?: object; timeout?: number },
    ) {
      return new Promise((resolve, reject) => {
        bare.asked.push({ method, request, signal, headers, timeout, resolve, reject });
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
    }
    /** Each `resolve` sends a message; `reject` ends the stream. */
    async *stream(method: string, request: Record<string, unknown>, { signal }: { signal: AbortSignal }) {
      const messages: unknown[] = [];
      let end: { why: unknown } | undefined;
      let wake = () => {};
      const resolve = (message: unknown) => {
        messages.push(message);
        wake();
      };
      const reject = (why: unknown) => {
        end = { why };
        wake();
      };
      bare.asked.push({ method, request, signal, headers: undefined, timeout: undefined, resolve, reject });
      signal.addEventListener("abort", () => reject(signal.reason));
      for (;;) {
        while (messages.length > 0) yield messages.shift();
        if (end?.why === null) return;
        if (end) throw end.why;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    close() {
      bare.closed += 1;
    }
  },
}));

beforeEach(() => {
  vi.useFakeTimers();
  bare.asked.length = 0;
  bare.closed = 0;
});
afterEach(() => {
  connection?.destroy();
  vi.useRealTimers();
});

let connection: UnaryConnection | undefined;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const no = (reason: RowlockError["reason"], code: string) => new RowlockError(reason, code, "no");
const REFUSED = no("BAD_REQUEST", "INVALID_ARGUMENT");

async function stage({ isOpen = true, token = undefined as TokenSource | undefined } = {}) {
  const news: (News & { readonly basisMs: number })[] = [];
  const endings: RowlockError[] = [];
  const clock = new Clock(() => performance.now());
  const one = new UnaryConnection({
    address: "here",
    owner: "tester",
    labels: { host: "a1" },
    tls: undefined,
    headers: { own: "1", ...(token !== undefined && { authorization: "Bearer t0" }) },
    token,
    clock,
    way: {},
    onNews: (said, basisMs) => news.push({ ...said, basisMs }),
    onEnded: (error) => endings.push(error),
  });
  connection = one;
  const knock = bare.asked[0] as Asked;
  if (isOpen) {
    knock.reject(REFUSED);
    await pass(0);
    bare.asked.length = 0;
    news.length = 0;
  }
  const send = (call: bigint, command: object, traceparent?: string) =>
    one.send(call, command as Command, traceparent);
  return { connection: one, clock, news, endings, knock, send };
}

describe("a server", () => {
  test.each([no("UNKNOWN", "UNAVAILABLE"), no("SHUTTING_DOWN", "UNAVAILABLE"), new Error("a bug")])(
    "does not exist if a knock fails otherwise: %s",
    async (error) => {
      const { connection, knock, news, endings } = await stage({ isOpen: false });
      knock.reject(error);
      await pass(0);
      expect([connection.opened, news, endings.length, bare.closed]).toEqual([undefined, [], 1, 1]);
    },
  );
});

describe("a command", () => {
  test.each(["release", "renew", "setLimit", "getLock", "updateRecord"])(
    "%s is a call, whose answer counts from its request",
    async (method) => {
      const { send, news, clock } = await stage();
      const askedMs = clock.now();
      expect(send(5n, { case: method, value: { its: "value" } })).toBe(true);
      expect(bare.asked).toMatchObject([{ method, request: { its: "value" } }]);
      await pass(70);
      bare.asked[0]?.resolve({ its: "answer" });
      await pass(0);
      const results = [{ call: 5n, result: { case: method, value: { its: "answer" } } }];
      expect(news).toEqual([{ results, basisMs: askedMs }]);
    },
  );

  test("has the trace context of its caller as a header, also when it polls", async () => {
    const { send } = await stage();
    send(1n, { case: "getLock", value: {} }, "00-1-2-01");
    send(2n, { case: "getLock", value: {} });
    const target = { case: "request", value: create(QueueRequestSchema) };
    send(3n, { case: "waitInQueue", value: { target } }, "00-1-3-01");
    await pass(0);
    expect(bare.asked.map(({ headers }) => headers)).toEqual([
      { traceparent: "00-1-2-01" },
      {},
      { traceparent: "00-1-3-01" },
    ]);
  });

  test("is answered within 10 s, or within its own wait and 10 s, as other answers hide that one is lost", async () => {
    const { send } = await stage();
    send(1n, { case: "renewLeases", value: { leases: [{ leaseId: "a" }] } });
    send(2n, { case: "capture", value: {} });
    send(3n, { case: "capture", value: { maxWait: durationOf(15_000) } });
    send(4n, { case: "waitInQueue", value: { target: { case: "request", value: {} } } });
    await pass(0);
    const waited = bare.asked.map(({ method, timeout }) => [method, timeout]);
    expect(waited).toEqual([
      ["renew", 10_000],
      ["capture", 10_000],
      ["capture", 25_000],
      ["acquire", 10_000],
    ]);
  });

  test.each(["UNAVAILABLE", "DEADLINE_EXCEEDED", "UNAUTHENTICATED"])(
    "that fails by %s and without a reason ends the connection",
    async (code) => {
      const { send, news, endings } = await stage();
      send(1n, { case: "getLock", value: {} });
      send(2n, { case: "getLock", value: {} });
      const why = no("UNKNOWN", code);
      bare.asked[0]?.reject(why);
      await pass(0);
      expect([news, endings, bare.closed]).toEqual([[], [why], 1]);
      expect(bare.asked[1]?.signal?.aborted).toBe(true);
      expect(send(3n, { case: "getLock", value: {} })).toBe(false);
    },
  );
});

describe("the token", () => {
  test("of a function is asked for at most once a second, while there are calls", async () => {
    let count = 0;
    const { send } = await stage({ token: () => `t${++count}` });
    const sent = async () => {
      send(1n, { case: "getLock", value: {} });
      const headers = bare.headers();
      bare.asked.at(-1)?.resolve({});
      await pass(0);
      return headers;
    };
    expect(await sent()).toEqual({ own: "1", authorization: "Bearer t0" });
    await pass(5_000);
    expect(count).toBe(0);
    await sent();
    expect(await sent()).toEqual({ own: "1", authorization: "Bearer t1" });
    expect(count).toBe(1);
    await pass(1_000);
    await sent();
    expect(await sent()).toEqual({ own: "1", authorization: "Bearer t2" });
  });

  test("of a slow or failing function holds up no call: the last one is sent", async () => {
    const answer = Promise.withResolvers<string>();
    let count = 0;
    const { send } = await stage({ token: () => (++count === 1 ? answer.promise : Promise.reject("away")) });
    await pass(1_000);
    for (const call of [1n, 2n]) send(call, { case: "getLock", value: {} });
    expect(bare.asked).toHaveLength(2);
    expect([count, bare.headers()]).toMatchObject([1, { authorization: "Bearer t0" }]);
    answer.resolve("t1");
    await pass(1_000);
    send(3n, { case: "getLock", value: {} });
    await pass(0);
    expect([count, bare.headers()]).toMatchObject([2, { authorization: "Bearer t1" }]);
  });

  test("that is refused ends the connection, and the refused call knows that it was not made", async () => {
    const { send, news, endings } = await stage();
    send(1n, { case: "setLimit", value: {} });
    send(2n, { case: "getLock", value: {} });
    const why = no("CREDENTIALS_EXPIRED", "UNAUTHENTICATED");
    bare.asked[0]?.reject(why);
    await pass(0);
    expect(news).toMatchObject([{ results: [{ call: 1n, result: why }] }]);
    expect([endings, bare.closed]).toEqual([[why], 1]);
  });
});

describe("a server that stops", () => {
  test("is left: waiters go elsewhere at once, and running calls still get their answers", async () => {
    const { send, news, endings } = await stage();
    const acquire = create(QueueRequestSchema, { name: "etl" });
    send(1n, { case: "waitInQueue", value: { target: { case: "request", value: acquire } } });
    send(2n, { case: "getLock", value: {} });
    send(3n, { case: "release", value: {} });
    await pass(0);
    const why = no("SHUTTING_DOWN", "UNAVAILABLE");
    const asked = (method: string) => bare.asked.find((one) => one.method === method);
    asked("getLock")?.reject(why);
    await pass(0);
    expect(news).toMatchObject([
      { goingAway: true },
      { results: [{ call: 1n, result: why }] },
      { results: [{ call: 2n, result: why }] },
    ]);
    expect(endings).toEqual([]);
    asked("release")?.resolve({ released: true });
    await pass(0);
    expect(news).toHaveLength(4);
    expect(endings).toMatchObject([{ reason: "SHUTTING_DOWN" }]);
  });
});

describe("a watch", () => {
  test("is a stream, whose messages are passed on, and whose end is that of its connection", async () => {
    const { send, news, endings } = await stage();
    send(1n, { case: "watchLocks", value: { prefix: "a" } });
    await pass(0);
    expect(bare.asked[0]).toMatchObject({ method: "watchLocks", request: { prefix: "a" } });
    bare.asked[0]?.resolve({ locks: ["one"] });
    await pass(5);
    bare.asked[0]?.resolve({ locks: ["two"] });
    await pass(0);
    expect(news.map(({ results }) => results?.[0])).toEqual([
      { call: 1n, result: { case: "watchLocks", value: { locks: ["one"] } } },
      { call: 1n, result: { case: "watchLocks", value: { locks: ["two"] } } },
    ]);
    bare.asked[0]?.reject(null);
    await pass(0);
    expect(endings).toMatchObject([{ code: "UNAVAILABLE", message: "The watch stream ended." }]);
  });

  test("without messages makes the client knock at its server", async () => {
    const { send, endings } = await stage();
    send(1n, { case: "watchLocks", value: {} });
    await pass(2 * 1_250);
    expect(bare.asked.map(({ method }) => method)).toEqual(["watchLocks", "renew"]);
    bare.asked[1]?.reject(REFUSED);
    await pass(2 * 1_250);
    expect(bare.asked).toHaveLength(3);
    // The knock of the last check gets no answer.
    await pass(2 * 1_250);
    expect(endings).toHaveLength(1);
  });
});

describe("a server that falls silent", () => {
  test("during a call gets a knock after two checks, and is gone after four", async () => {
    const { send, endings } = await stage();
    send(1n, { case: "getLock", value: {} });
    await pass(2 * 1_250 - 1);
    expect(bare.asked).toHaveLength(1);
    await pass(1);
    expect(bare.asked).toHaveLength(2);
    await pass(2 * 1_250 - 1);
    expect(endings).toEqual([]);
    await pass(1);
    expect(endings).toMatchObject([{ code: "UNAVAILABLE" }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("and answers the knock is not gone", async () => {
    const { send, endings } = await stage();
    send(1n, { case: "getLock", value: {} });
    for (let index = 1; index <= 5; index++) {
      await pass(2 * 1_250);
      bare.asked[index]?.reject(REFUSED);
      await pass(0);
    }
    expect(endings).toEqual([]);
  });

  test("is not heard by a cancelled call", async () => {
    const { connection, send, endings } = await stage();
    send(1n, { case: "getLock", value: {} });
    send(2n, { case: "getLock", value: {} });
    await pass(3 * 1_250);
    connection.cancel(2n);
    await pass(1_250);
    expect(endings).toHaveLength(1);
  });
});
