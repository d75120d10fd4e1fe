// The whole client over a channel whose server the test plays: what its verbs do, and what closing leaves behind.

import { EventEmitter } from "node:events";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type ConnectOptions,
  connect,
  type RowlockClient,
} from "../../../../clients/typescript/src/index.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import { EndReason, LimitSource, RefusalReason, WhenFull } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import {
  type SessionCommand,
  SessionRequestSchema,
  SessionResponseSchema,
  type SessionResultSchema,
} from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";
import { turn } from "./fake-connection.ts";

type Answer = MessageInitShape<typeof SessionResultSchema>["result"] | undefined;
type Asked = Exclude<SessionCommand["command"], { case: undefined }>;

interface Server {
  readonly asked: Asked[];
  answer: (asked: Asked) => Answer;
  say: (response: MessageInitShape<typeof SessionResponseSchema>) => void;
  ended: number;
  isSilent: boolean;
}
const server = vi.hoisted(() => ({ current: undefined as unknown }) as { current: Server });

vi.mock("../../../../clients/typescript/src/channels.ts", () => ({
  metadataOf: () => ({}),
  openChannel: () => {
    const played = server.current;
    let heard = 0n;
    const stream = Object.assign(new EventEmitter(), {
      write(bytes: Uint8Array) {
        const request = fromBinary(SessionRequestSchema, bytes);
        heard += 1n;
        const results = request.commands.flatMap(({ call, command }) => {
          if (command.case === undefined) return [];
          played.asked.push(command);
          const result = played.answer(command);
          return result ? [{ call, result }] : [];
        });
        if (played.isSilent) return;
        const opened = { replica: "7", messageBytesMax: 65_536, waitsMax: 99, commandsMax: 99 };
        queueMicrotask(() => played.say({ results, heard, ...(request.open && { opened }) }));
      },
      end() {
        played.ended += 1;
        queueMicrotask(() => stream.emit("end"));
      },
      cancel() {},
    });
    played.say = (response) =>
      void stream.emit(
        "data",
        Buffer.from(toBinary(SessionResponseSchema, create(SessionResponseSchema, response))),
      );
    return {
      makeBidiStreamRequest: () => stream,
      waitForReady: (_: number, done: () => void) => done(),
      close() {},
    };
  },
}));

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"],
  });
});
const clients: RowlockClient[] = [];
afterEach(async () => {
  const closed = clients.splice(0).map((rowlock) => rowlock.close());
  await vi.advanceTimersByTimeAsync(10_000);
  await Promise.all(closed);
  vi.useRealTimers();
});

const leaseOf = (leaseId: string, ttlMs: number | null = 30_000) => ({
  leaseId,
  lockName: "etl",
  fencingToken: 7n,
  permits: 1,
  ...(ttlMs !== null && { ttl: durationOf(ttlMs) }),
});

/** A server that grants every request, and a client for it. `answer` replaces the server's answer. */
function stage(
  answer: (asked: Asked) => Answer | "as usual" = () => "as usual",
  options: Partial<ConnectOptions> = {},
) {
  let granted = 0;
  const usual = (asked: Asked): Answer => {
    switch (asked.case) {
      case "acquire":
        granted += 1;
        return { case: "acquire", value: { outcome: { case: "lease", value: leaseOf(`lease ${granted}`) } } };
      case "waitInQueue":
        granted += 1;
        return {
          case: "waitInQueue",
          value: { update: { case: "granted", value: leaseOf(`lease ${granted}`) } },
        };
      case "release":
        return { case: "release", value: { released: true } };
      case "renew":
        return { case: "renew", value: { lease: leaseOf(asked.value.leaseId) } };
      case "capture":
        return { case: "capture", value: { leases: [leaseOf("captured 1"), leaseOf("captured 2")] } };
      default:
        return undefined;
    }
  };
  const played: Server = {
    asked: [],
    answer: (asked) => {
      const own = answer(asked);
      return own === "as usual" ? usual(asked) : own;
    },
    say: () => {},
    ended: 0,
    isSilent: false,
  };
  server.current = played;
  const rowlock = connect({ addresses: "nowhere:1", ...options });
  clients.push(rowlock);
  const asked = (kind: Asked["case"]) =>
    played.asked.flatMap((one) => (one.case === kind ? [one.value as never] : []));
  return { rowlock, played, asked };
}

const granted = (leaseId: string): NonNullable<Answer> => ({
  case: "waitInQueue",
  value: { update: { case: "granted", value: leaseOf(leaseId) } },
});
const ended = (reason: EndReason): Answer => ({
  case: "waitInQueue",
  value: { update: { case: "ended", value: { reason, message: "no" } } },
});
const refusal = (reason: RefusalReason): Answer => ({
  case: "acquire",
  value: { outcome: { case: "refusal", value: { reason, message: "no" } } },
});

describe("a lock", () => {
  test.each([
    [RefusalReason.BUSY, null],
    [RefusalReason.PAUSED, null],
    [RefusalReason.NOT_BEFORE, null],
    [RefusalReason.RATE, null],
    [RefusalReason.NEVER_FITS, "NEVER_FITS"],
    [RefusalReason.EXHAUSTED, "EXHAUSTED"],
  ])("that is tried and refused by %i is %j", async (reason, failure) => {
    const { rowlock, asked } = stage(() => refusal(reason));
    const tried = rowlock.tryLock("etl");
    if (failure === null) expect(await tried).toBeNull();
    else await expect(tried).rejects.toMatchObject({ reason: failure });
    expect(asked("acquire")).toHaveLength(1);
  });

  test("whose rate is in the way says so, and when to try again", async () => {
    const rate = { rate: { permits: 5, per: durationOf(1_000), burst: 9 }, source: 3, version: 4n };
    const { rowlock } = stage(() => ({
      case: "acquire",
      value: {
        outcome: {
          case: "refusal",
          value: { reason: RefusalReason.RATE, message: "no", retryAfter: durationOf(250), rate },
        },
      },
    }));
    const inForce = { permits: 5, per: 1_000, burst: 9, source: "name", version: 4n, reason: "" };
    expect((await rowlock.acquire("etl", { wait: 0 })).refusal).toEqual({
      reason: "RATE",
      message: "no",
      retryAfterMs: 250,
      rate: inForce,
    });
    await expect(rowlock.spend("etl", { wait: 0 })).rejects.toMatchObject({
      reason: "RATE",
      retryAfterMs: 250,
      refusal: { rate: inForce },
    });
    expect(await rowlock.trySpend("etl")).toBeNull();
  });

  test.each([
    [RefusalReason.QUEUE_FULL, "QUEUE_FULL"],
    [RefusalReason.NEVER_FITS, "NEVER_FITS"],
  ])("that queue rules refuse for %i shows them", async (reason, shown) => {
    const rules = { waitingMax: 1, whenFull: WhenFull.END_LONGEST_WAITING };
    const queueRules = { rules, source: LimitSource.NAME, version: 4n, reason: "CI" };
    const value = { reason, message: "no", queueRules };
    const { rowlock } = stage(() => ({ case: "acquire", value: { outcome: { case: "refusal", value } } }));
    expect((await rowlock.acquire("etl", { wait: 0 })).refusal).toMatchObject({
      reason: shown,
      queueRules: {
        ...{ waitingMax: 1, whenFull: "end longest waiting", source: "name", version: 4n, reason: "CI" },
      },
    });
  });

  test("that a newer request has superseded is refused with that, as a lock and as a spend", async () => {
    const { rowlock } = stage(() => ended(EndReason.SUPERSEDED));
    expect((await rowlock.acquire("etl")).refusal).toEqual({ reason: "SUPERSEDED", message: "no" });
    await expect(rowlock.lock("etl")).rejects.toMatchObject({ reason: "SUPERSEDED" });
    await expect(rowlock.spend("etl")).rejects.toMatchObject({ reason: "SUPERSEDED" });
  });

  test("has queue rules that are set and unset alone, and wrong ones are not sent", async () => {
    const { rowlock, asked } = stage(() => ({ case: "setLimit", value: { limit: 1 } }));
    await rowlock.setQueueRules({ name: "etl" }, { waitingMax: 3 }, { ifVersion: 2, reason: "CI" });
    await rowlock.setQueueRules({ pattern: "e*" }, null);
    const refuse = { waitingMax: 3, whenFull: WhenFull.REFUSE };
    expect(asked("setLimit")).toMatchObject([
      {
        ...{ target: { value: "etl" }, newLimit: { case: undefined }, newRate: { case: undefined } },
        ...{ newQueueRules: { value: refuse }, expectedVersion: 2n, reason: "CI" },
      },
      { target: { case: "pattern", value: "e*" }, newQueueRules: { case: "unsetQueueRules" } },
    ]);
    await expect(rowlock.setQueueRules({ name: "etl" }, { waitingMax: 0 })).rejects.toThrow("waitingMax");
    await expect(rowlock.setQueueRules({ name: "etl" }, undefined as never)).rejects.toThrow("queueRules");
  });

  test("that the server ends is lost with its reason, and what the server confirms lasts", async () => {
    const { rowlock, played } = stage();
    const lock = await rowlock.lock("etl");
    played.say({ confirmed: [leaseOf("lease 1", 90_000)] });
    expect(lock.remainingMs).toBeGreaterThan(80_000);
    played.say({
      lost: [{ leaseId: "lease 1", lockName: "etl", end: { reason: EndReason.FORCE_RELEASED } }],
    });
    expect(lock.state).toBe("lost");
    expect(lock.signal.reason).toMatchObject({ end: { reason: "FORCE_RELEASED" } });
  });
});

describe("several locks at once", () => {
  const also = [{ lockName: "book", fencingToken: 3n, permits: 1 }];
  const both = { ...leaseOf("both"), also };

  test("have a token each, by name, also for whoever renews or takes over the lease", async () => {
    const { rowlock } = stage((asked) => {
      if (asked.case === "waitInQueue")
        return { case: "waitInQueue", value: { update: { case: "granted", value: both } } };
      return asked.case === "renew" ? { case: "renew", value: { lease: both } } : "as usual";
    });
    const lock = await rowlock.lock("etl", { also: ["book"] });
    expect([lock.name, lock.token, lock.tokenOf("etl"), lock.tokenOf("book")]).toEqual(["etl", 7n, 7n, 3n]);
    expect(() => lock.tokenOf("other")).toThrow(
      new RangeError('This claim has no lock "other": it has "etl", "book".'),
    );
    const tokens = new Map([
      ["etl", 7n],
      ["book", 3n],
    ]);
    expect(lock.tokens).toEqual(tokens);
    expect(await rowlock.renew("both")).toMatchObject({ name: "etl", token: 7n, tokens });
    expect(await lock.handOver()).toEqual({ leaseId: "both", token: 7n, tokens });
  });

  test("are refused for one of them, which the client may hold itself as one of several", async () => {
    const busy = { reason: RefusalReason.BUSY, message: "Busy.", lockName: "book" };
    const { rowlock } = stage((asked) => {
      if (asked.case === "waitInQueue")
        return { case: "waitInQueue", value: { update: { case: "granted", value: both } } };
      return asked.case === "acquire"
        ? { case: "acquire", value: { outcome: { case: "refusal", value: busy } } }
        : "as usual";
    });
    expect((await rowlock.acquire("other", { also: ["book"], wait: 0 })).refusal).not.toHaveProperty(
      "heldByYou",
    );
    await rowlock.lock("etl", { also: ["book"] });
    expect((await rowlock.acquire("other", { also: ["book"], wait: 0 })).refusal).toMatchObject({
      lockName: "book",
      heldByYou: true,
      message: expect.stringContaining('you hold "book" yourself'),
    });
    await expect(rowlock.lock("other", { also: ["book"], wait: 0 })).rejects.toThrow(
      'The lock "other" was not granted, because of "book": Busy',
    );
  });
});

describe("work under a lock", () => {
  test("whose release finds the lease ended has failed, unless the work has released it itself", async () => {
    const { rowlock } = stage((asked) =>
      asked.case === "release" ? { case: "release", value: { released: false } } : "as usual",
    );
    await expect(rowlock.withLock("etl", () => "done")).rejects.toMatchObject({
      reason: "LEASE_LOST",
      message: expect.stringContaining("ended before a server confirmed its release"),
    });
    expect(await rowlock.withLock("etl", (lock) => lock.release())).toBe(false);
  });
});

describe("a capture", () => {
  test("that fails half-way releases what it held", async () => {
    const { rowlock, asked } = stage((asked) => {
      if (asked.case === "capture")
        return { case: "capture", value: { leases: [leaseOf("a"), leaseOf("b", 2_100)] } };
      if (asked.case === "renew") return { case: "error", value: { code: 3, message: "no" } };
      return "as usual";
    });
    await expect(rowlock.capture({ prefix: "", count: 2 })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await turn();
    await turn();
    expect(
      asked("release")
        .map(({ leaseId }) => leaseId as string)
        .toSorted(),
    ).toEqual(["a", "b"]);
  });
});

test("a connection callback that throws is an uncaught error, and keeps the client from nothing", async () => {
  const uncaught: unknown[] = [];
  vi.stubGlobal("queueMicrotask", (call: () => void) =>
    Promise.resolve()
      .then(call)
      .catch((error) => uncaught.push(error)),
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const thrown = new Error("a bug");
  const onConnection = () => {
    throw thrown;
  };
  const { rowlock } = stage(undefined, { onConnection });
  expect((await rowlock.lock("etl")).state).toBe("held");
  expect(uncaught).toEqual([thrown]);
});

test("an answer under one request id that is older than the release of its lock does not hold the lock again", async () => {
  const answers: Answer[] = [granted("a"), undefined, ended(EndReason.RELEASED)];
  const { rowlock, played, asked } = stage((asked) =>
    asked.case === "waitInQueue" ? answers.shift() : "as usual",
  );
  const first = await rowlock.lock("etl", { requestId: "both" });
  const second = rowlock.acquire("etl", { requestId: "both" });
  await turn();
  expect(await first.release()).toBe(true);
  played.say({ results: [{ call: 2n, result: granted("a") }] });
  await turn();
  expect(asked("waitInQueue")).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(150);
  expect(await second).toMatchObject({ refusal: { reason: "RELEASED" } });
});

test("a capture under one request id leaves out what was released before its answer came", async () => {
  const leases = [leaseOf("captured 1"), leaseOf("captured 2")];
  const answers: Answer[] = [{ case: "capture", value: { leases } }, undefined];
  const { rowlock, played } = stage((asked) => (asked.case === "capture" ? answers.shift() : "as usual"));
  const { locks } = await rowlock.capture({ prefix: "", requestId: "both" });
  const again = rowlock.capture({ prefix: "", requestId: "both" });
  await turn();
  await locks[0]?.release();
  played.say({ results: [{ call: 2n, result: { case: "capture", value: { leases, isRepeated: true } } }] });
  expect((await again).locks).toEqual([locks[1]]);
});

describe("closing", () => {
  test("gives up waits, releases held locks, and ends the session in good order, once", async () => {
    const { rowlock, played, asked } = stage((asked) =>
      asked.case === "capture" ||
      (asked.case === "waitInQueue" &&
        asked.value.target.case === "request" &&
        asked.value.target.value.name === "busy")
        ? undefined
        : "as usual",
    );
    const lock = await rowlock.lock("etl");
    const waits = rowlock.lock("busy");
    const watch = rowlock.watchLocks().next();
    const capture = rowlock.capture({ prefix: "t/", wait: "forever" });
    const refused = [waits, watch, capture].map((one) => one.catch((error: unknown) => error));
    await turn();
    const closed = rowlock.close();
    expect(rowlock.close()).toBe(closed);
    await turn();
    await turn();
    // The wait may have been granted; closing waits at most this long for it.
    await vi.advanceTimersByTimeAsync(2_000);
    await closed;
    expect(await Promise.all(refused)).toMatchObject(refused.map(() => ({ reason: "CLOSED" })));
    // The wait is not cancelled: its answer names what to give back.
    expect(asked("cancel").toSorted()).toEqual([3n, 4n]);
    expect(asked("release")).toMatchObject([{ leaseId: "lease 1" }]);
    expect([lock.state, played.ended]).toEqual(["released", 1]);
  });

  test("waits two seconds at most for answers", async () => {
    const { rowlock, played } = stage();
    await rowlock.lock("etl");
    played.isSilent = true;
    played.answer = () => undefined;
    const done = vi.fn();
    void rowlock.close().then(done);
    await vi.advanceTimersByTimeAsync(1_999);
    expect(done).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2);
    await turn();
    expect(done).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });
});
