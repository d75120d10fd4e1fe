// What only a session has: its opening, call numbers, order, acknowledgements, presence, losses, bounds and its end.

import { connect } from "node:http2";
import { describe, expect, test } from "vitest";
import { EndReason, type Lease } from "#proto/rowlock/v1/lock_pb.js";
import type { SessionResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { Fault } from "../../../server/engine/faults.ts";
import { gatedVerb } from "../../support/gated-verb.ts";
import { replacing, serverOfTest as start, type TestServer, until } from "../../support/harness.ts";
import { NO_BOUND } from "../../support/no-bound.ts";
import {
  acquire,
  type BareSession,
  type Command,
  cancel,
  capture,
  comeBack,
  sessionOfTest as open,
  release,
  renew,
  wait,
} from "../../support/session-client.ts";
import { captureOf, seconds, violationsIn, withTtl } from "../../support/test-calls.ts";

const WAIT = { whenBusy: { case: "wait", value: {} } } as const;
const failedWith = (code: number) => ({ case: "error", value: { code } });

async function started(options?: Parameters<typeof start>[0]) {
  const server = await start(options);
  return { server, client: server.client, session: open(server.client) };
}

/** Resolves with the error of a call, after any positions. */
const errorOf = (session: BareSession, call: bigint) =>
  session.until(() => session.resultsOf(call).find(({ case: kind }) => kind === "error"));

describe("the opening", () => {
  test("is answered with the server, its bounds and its heartbeat interval", async () => {
    const { server, session } = await started({ grpc: { sessionWaitsMax: 7, sessionCommandsMax: 8 } });
    const { opened } = await session.until(([first]) => first);
    expect(opened).toMatchObject({
      replica: String(server.engine.replica),
      heartbeatInterval: { seconds: 1n, nanos: 250_000_000 },
      silenceMax: { seconds: 5n },
      gracePeriod: { seconds: 10n },
      waitsMax: 7,
      commandsMax: 8,
      messageBytesMax: 65_536,
    });
  });

  test("gives claims an owner and labels, unless they bring their own", async () => {
    const { client } = await start();
    const session = open(client, { open: { owner: "etl", labels: { host: "a1", app: "x" } } });
    const own = { owner: "me", labels: { app: "y" } };
    for (const call of session.ask(acquire({ name: "inherits" }), acquire({ name: "own", terms: own })))
      await session.leaseOf(call);
    await session.last(session.askOne(capture(captureOf(["taken"]))));
    const queued = session.askOne(wait({ name: "taken" }));
    await session.ticketOf(queued);
    const inherited = { owner: "etl", labels: { host: "a1", app: "x" } };
    expect((await client.shown("inherits")).holders).toMatchObject([inherited]);
    expect(await client.shown("taken")).toMatchObject({ holders: [inherited], waiters: [inherited] });
    expect((await client.shown("own")).holders).toMatchObject([
      { owner: "me", labels: { host: "a1", app: "y" } },
    ]);
  });

  test("must come once, first and valid: otherwise the session ends", async () => {
    const { client } = await start();
    const without = open(client, { commands: [{ call: 1n, command: acquire({ name: "n" }) }] });
    expect(await without.failure()).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "BAD_REQUEST",
      violations: [{ field: "open", description: expect.stringContaining("first request") }],
    });
    const twice = open(client);
    twice.send({ open: {} });
    expect(await twice.failure()).toMatchObject({
      violations: [{ field: "open", description: expect.stringContaining("only in the first") }],
    });
    const wrong = open(client, { open: { owner: "o".repeat(256), labels: { "": "x" } } });
    expect(Object.keys(violationsIn(await wrong.failure()))).toEqual(["open.owner", 'open.labels[""]']);
    const noMessage = open(client);
    noMessage.send(Buffer.from([0x0a, 200]));
    expect(await noMessage.failure()).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "MALFORMED_MESSAGE",
    });
  });
});

describe("calls", () => {
  test("of one message are answered each by its number, renewals and releases first", async () => {
    const order: string[] = [];
    const { session } = await started({
      wrapEngine: (engine) =>
        replacing(engine, {
          acquire: (...asked) => {
            order.push(`acquire ${asked[0].name}`);
            return engine.acquire(...asked);
          },
          ask: (asked) => {
            order.push(asked.verb);
            return engine.ask(asked);
          },
        }),
    });
    const [first, second] = session.ask(acquire({ name: "a" }), acquire({ name: "b" })) as [bigint, bigint];
    const [a, b] = [await session.leaseOf(first), await session.leaseOf(second)];
    order.length = 0;
    const calls = session.ask(acquire({ name: "a" }), renew(b.leaseId), release(a.leaseId));
    const results = await Promise.all(calls.map((call) => session.last(call)));
    expect(order).toEqual(["release", "renew", "acquire a"]);
    expect(results.map(({ case: kind }) => kind)).toEqual(["acquire", "renew", "release"]);
    // The Acquire gets the lock that the Release in the same message has just freed.
    expect(results[0]).toMatchObject({ value: { outcome: { case: "lease", value: { fencingToken: 2n } } } });
  });

  test("that fail are answered like unary calls, and the session lives on", async () => {
    const { session } = await started();
    const [bad, unknown] = session.ask(
      acquire({ name: "", permits: 2_000_000 }),
      renew("1.1.abcdefghijklmnopqrstuv"),
    ) as [bigint, bigint];
    expect(await session.last(bad)).toMatchObject(failedWith(3));
    expect(await session.last(unknown)).toMatchObject(failedWith(5));
    expect((await session.leaseOf(session.askOne(acquire({ name: "lives" })))).fencingToken).toBe(1n);
  });

  test("without a number or a command, or whose number is in use, learn why, and the open call goes on", async () => {
    const { session } = await started();
    const held = await session.leaseOf(session.askOne(acquire({ name: "taken" })));
    session.send({ commands: [{ call: 50n, command: acquire({ name: "taken", ...WAIT, requestId: "w" }) }] });
    session.send({ commands: [{ call: 50n, command: acquire({ name: "other" }) }, { call: 51n }] });
    session.send({ commands: [{ command: acquire({ name: "other" }) }] });
    const whyOf = async (call: bigint) => {
      const { case: kind, value } = await session.until(() =>
        session.resultsOf(call).find((result) => result.case === "rejected" || result.case === "error"),
      );
      return `${kind} ${(value as { message: string }).message}`;
    };
    expect(await whyOf(0n)).toMatch(/^rejected call: is 0/);
    expect(await whyOf(50n)).toMatch(/^rejected call: is 50, the number of an open call/);
    expect(await whyOf(51n)).toMatch(/^error command: is required/);
    session.ask(release(held.leaseId));
    const granted = await session.until(() =>
      session.resultsOf(50n).find(({ case: kind }) => kind === "acquire"),
    );
    expect(granted).toMatchObject({ value: { outcome: { case: "lease" } } });
  });

  test("end by a cancel or a timeout; a place is kept, and cancelling an unknown call does nothing", async () => {
    const { server, session } = await started();
    await session.leaseOf(session.askOne(acquire({ name: "busy" })));
    const waiting = session.askOne(wait({ name: "busy", requestId: "c" }));
    const ticket = await session.ticketOf(waiting);
    session.send({ commands: [{ command: cancel(99n) }, { command: cancel(waiting) }] });
    expect(await errorOf(session, waiting)).toMatchObject({ value: { code: 1 } });
    await until(() => server.engine.waiterCount === 0);
    const timeout = { seconds: 0n, nanos: 20_000_000 };
    session.send({ commands: [{ call: 70n, timeout, command: comeBack(ticket.ticketId) }] });
    expect(await errorOf(session, 70n)).toMatchObject({ value: { code: 4 } });
    const again = session.askOne(comeBack(ticket.ticketId));
    expect((await session.ticketOf(again)).ticketId).toBe(ticket.ticketId);
  });

  test("renew many leases at once, each with its own outcome; an invalid id fails the call", async () => {
    const { session } = await started();
    const { leaseId } = await session.leaseOf(session.askOne(acquire({ name: "many" })));
    const renewal = (...ids: string[]) =>
      session.askOne({ case: "renewLeases", value: { leases: ids.map((id) => ({ leaseId: id })) } });
    const unknown = "1.99.abcdefghijklmnopqrstuv";
    expect(await session.last(renewal(leaseId, unknown))).toMatchObject({
      case: "renewLeases",
      value: { leases: [{ outcome: { case: "lease" } }, { outcome: failedWith(5) }] },
    });
    for (const failed of [renewal(), renewal(leaseId, "no id")])
      expect(await session.last(failed)).toMatchObject(failedWith(3));
  });

  test("are counted under their methods", async () => {
    const { server, session } = await started();
    const lease = await session.leaseOf(session.askOne(acquire({ name: "counted" })));
    await session.last(session.askOne(release(lease.leaseId)));
    expect(server.calls.map(({ method, code, via }) => [method, code, via])).toEqual([
      ["Acquire", "OK", "session"],
      ["Release", "OK", "session"],
    ]);
    expect(server.openSessions()).toBe(1);
    session.cancel();
    await until(() => server.openSessions() === 0);
    expect(server.sessionEnds).toEqual(["CANCELLED"]);
  });
});

/**
 * The server notices a session's silence after half of this time, which even a busy machine must not reach between two
 * messages.
 */
const GRACE = { graceUs: 2_000_000, attachedForUs: 2_500_000 };

describe("a grant after a wait", () => {
  async function granted({ client }: TestServer, session: BareSession, name: string) {
    const held = await client.lease({ name });
    const call = session.askOne(wait({ name, requestId: name }));
    await session.ticketOf(call);
    await client.call("release", { leaseId: held.leaseId });
    return await session.leaseOf(call);
  }
  const acknowledge = (session: BareSession) => session.send({ received: BigInt(session.responses.length) });

  test("is confirmed once it was acknowledged, with its whole time", async () => {
    const { server, session } = await started({ rules: GRACE });
    const lease = await granted(server, session, "confirmed");
    expect(lease.provisional).toBe(true);
    acknowledge(session);
    const [confirmed] = await session.firstOf("confirmed");
    expect(confirmed).toMatchObject({ leaseId: lease.leaseId, provisional: false });
    expect(Number(confirmed?.ttl?.seconds)).toBeGreaterThan(25);
  });

  test("is confirmed for a capture, too", async () => {
    const { server, client, session } = await started({ rules: GRACE });
    const call = session.askOne(capture(captureOf("t/", { maxWait: seconds(600) })));
    await until(() => server.engine.waitingCaptures === 1);
    await client.put("t/1");
    const result = await session.last(call);
    const [lease] = result.case === "capture" ? result.value.leases : [];
    expect(lease?.provisional).toBe(true);
    acknowledge(session);
    expect(await session.firstOf("confirmed")).toMatchObject([
      { leaseId: lease?.leaseId, provisional: false },
    ]);
  });

  test("lapses with the grace period without an acknowledgement, and the session hears of it", async () => {
    const { server, session } = await started({ rules: GRACE });
    const heartbeat = setInterval(() => session.send({}), 50);
    const { leaseId } = await granted(server, session, "lapsed");
    expect(await session.firstOf("lost")).toMatchObject([
      { leaseId, lockName: "lapsed", end: { reason: EndReason.LAPSED } },
    ]);
    clearInterval(heartbeat);
  });

  test("needs no confirmation if it was released or renewed by then", async () => {
    const confirmed: unknown[] = [];
    const { server, session } = await started({
      rules: GRACE,
      wrapEngine: (engine) =>
        replacing(engine, {
          confirm: (ref) => {
            confirmed.push(ref);
            return engine.confirm(ref);
          },
        }),
    });
    const first = await granted(server, session, "released");
    const second = await granted(server, session, "renewed");
    acknowledge(session);
    const calls = session.ask(release(first.leaseId), renew(second.leaseId));
    for (const call of calls) await session.last(call);
    const third = await granted(server, session, "neither");
    acknowledge(session);
    await session.firstOf("confirmed");
    expect(confirmed).toHaveLength(1);
    expect(third.provisional).toBe(true);
  });
});

describe("the deadline of a lease", () => {
  test.each(["granted at once", "granted after a wait", "renewed"])(
    "holds however late it is sent: %s",
    async (how) => {
      const LATE_MS = 700;
      const later = () => new Promise((resolve) => setTimeout(resolve, LATE_MS));
      let isLate = false;
      const { server, client, session } = await started({
        wrapEngine: (engine) =>
          replacing(engine, {
            acquire: async (input, follower, caller) => {
              // Reported late, as by a server that has much to do after its decision.
              const told = follower && {
                ...follower,
                settled: (...args: Parameters<typeof follower.settled>) =>
                  void later().then(() => follower.settled(...args)),
              };
              const answer = await engine.acquire(input, isLate ? told : follower, caller);
              if (isLate && answer.outcome.kind === "held") await later();
              return answer;
            },
            ask: async (asked) => {
              const answer = await engine.ask(asked);
              if (asked.verb === "renew") await later();
              return answer;
            },
          }),
      });
      const name = "late";
      // When each request was sent, by request number.
      const sentMs = [Date.now()];
      const send = (request: Parameters<BareSession["send"]>[0]) => {
        sentMs.push(Date.now());
        session.send(request);
      };
      const held = how === "granted at once" ? undefined : await client.lease({ name });
      isLate = true;
      const asked =
        how === "renewed" ? renew(held?.leaseId ?? "") : acquire({ name, requestId: "late", ...WAIT });
      send({ commands: [{ call: 1n, command: asked }] });
      const heartbeats = setInterval(() => send({}), 20);
      if (how === "granted after a wait") {
        await until(() => server.engine.waiterCount === 1);
        await client.call("release", { leaseId: held?.leaseId ?? "" });
      }
      const response = await session.until((all) => all.find(({ results }) => results.length > 0));
      clearInterval(heartbeats);
      const result = response.results[0]?.result;
      const lease = result?.case === "renew" ? result.value.lease : await session.leaseOf(1n);
      const ms = (time: { seconds: bigint; nanos: number } | undefined) =>
        Number(time?.seconds) * 1e3 + Number(time?.nanos) / 1e6;
      const deadlineMs = (sentMs[Number(response.heard) - 1] as number) + ms(lease?.ttl);
      expect(deadlineMs).toBeLessThanOrEqual(ms(lease?.expiresAt));
      expect(Number(response.heard)).toBeGreaterThan(5);
    },
  );
});

const lostIn = (all: readonly SessionResponse[]) => all.flatMap(({ lost }) => lost);

test("a lease that is lost is reported at once, whoever ended it; the session's own releases are not", async () => {
  const { client, session } = await started();
  const names = ["forced", "by-others", "by-itself"];
  const [forced, byOthers, byItself] = (await Promise.all(
    session.ask(...names.map((name) => acquire({ name }))).map((call) => session.leaseOf(call)),
  )) as [Lease, Lease, Lease];
  const captured = await session.last(session.askOne(capture(captureOf(["captured"]))));
  expect(captured.case).toBe("capture");
  await session.last(session.askOne(release(byItself.leaseId)));
  await client.force("forced");
  await client.call("release", { leaseId: byOthers.leaseId });
  await client.force("captured", "why");
  await session.until((all) => (lostIn(all).length === 3 ? true : undefined));
  expect(lostIn(session.responses)).toMatchObject([
    { leaseId: forced.leaseId, lockName: "forced", end: { reason: EndReason.FORCE_RELEASED } },
    { leaseId: byOthers.leaseId, lockName: "by-others", end: { reason: EndReason.RELEASED } },
    { lockName: "captured", end: { reason: EndReason.FORCE_RELEASED, note: "why" } },
  ]);
});

describe("a lease that ends while its answer is on its way", () => {
  const TEN_MINUTES = withTtl(600);

  test.each(["of this session", "of the session before"])(
    "is not renewed with others, one of which is held up: %s",
    async (whose) => {
      const gate = Promise.withResolvers<void>();
      const renewed = Promise.withResolvers<string>();
      const { client, session: before } = await started({
        wrapEngine: (engine) =>
          replacing(
            engine,
            {},
            {
              renew: async (asked) => {
                const answer = await engine.ask(asked);
                if (answer.lockName === "held-up") await gate.promise;
                else renewed.resolve(answer.lockName);
                return answer;
              },
            },
          ),
      });
      const asked = ["prompt", "held-up"].map((name) => acquire({ name, terms: TEN_MINUTES }));
      const [prompt, slow] = (await Promise.all(
        before.ask(...asked).map((call) => before.leaseOf(call)),
      )) as [Lease, Lease];
      const session = whose === "of this session" ? before : open(client);
      const leases = [{ leaseId: prompt.leaseId }, { leaseId: slow.leaseId }];
      const call = session.askOne({ case: "renewLeases", value: { leases } });
      expect(await renewed.promise).toBe("prompt");
      await client.force("prompt");
      const result = await session.last(call);
      gate.resolve();
      const [first] = result.case === "renewLeases" ? result.value.leases : [];
      expect(first?.outcome).toMatchObject(failedWith(9));
      // After another answer, no more about the first lease can come.
      await session.last(session.askOne(acquire({ name: "other" })));
      if (whose === "of this session")
        expect(lostIn(session.responses)).toMatchObject([
          { leaseId: prompt.leaseId, lockName: "prompt", end: { reason: EndReason.FORCE_RELEASED } },
        ]);
    },
  );

  test("is reported without time left, and as lost", async () => {
    const { wrapEngine, reached, letGo } = gatedVerb("acquire", { when: "after" });
    const { client, session } = await started({ wrapEngine });
    const call = session.askOne(acquire({ name: "brief", terms: TEN_MINUTES }));
    await reached;
    await client.force("brief");
    letGo();
    const { leaseId, ttl } = await session.leaseOf(call);
    expect(ttl).toMatchObject({ seconds: 0n, nanos: 0 });
    expect(await session.firstOf("lost")).toMatchObject([{ leaseId, lockName: "brief" }]);
  });
});

describe("a lease whose release is refused", () => {
  const refusing = () => {
    let isRefused = true;
    return started({
      rules: GRACE,
      wrapEngine: (engine) =>
        replacing(
          engine,
          {},
          {
            release: (asked) => {
              if (!isRefused) return engine.ask(asked);
              isRefused = false;
              throw new Fault("overloaded", "commands_queued", "Too many.", { retryAfterMs: 1 });
            },
          },
        ),
    });
  };

  test("still belongs to the session: its loss is reported", async () => {
    const { client, session } = await refusing();
    const { leaseId } = await session.leaseOf(session.askOne(acquire({ name: "kept" })));
    expect(await session.last(session.askOne(release(leaseId)))).toMatchObject(failedWith(8));
    await client.force("kept");
    expect(await session.firstOf("lost")).toMatchObject([
      { leaseId, end: { reason: EndReason.FORCE_RELEASED } },
    ]);
  });

  test("is confirmed if it was provisional and is acknowledged", async () => {
    const { client, session } = await refusing();
    const held = await client.lease({ name: "provisional" });
    const call = session.askOne(wait({ name: "provisional", requestId: "p" }));
    await session.ticketOf(call);
    await client.force("provisional");
    const lease = await session.leaseOf(call);
    expect([lease.provisional, held.provisional]).toEqual([true, false]);
    const refused = session.askOne(release(lease.leaseId));
    session.send({ received: BigInt(session.responses.length) });
    expect(await session.last(refused)).toMatchObject(failedWith(8));
    session.keepAlive(50);
    const { confirmed } = await session.until((all) =>
      all.find(({ confirmed, lost }) => confirmed.length + lost.length > 0),
    );
    expect(confirmed[0]).toMatchObject({ leaseId: lease.leaseId, provisional: false });
  });
});

describe("a session that is lost", () => {
  test("keeps its places and leases for a new one, which names them in its first request", async () => {
    const { server, client, session: lost } = await started();
    const held = await lost.leaseOf(lost.askOne(acquire({ name: "kept" })));
    const ticket = await lost.ticketOf(lost.askOne(wait({ name: "kept", requestId: "kept-2" })));
    lost.ask(acquire({ name: "kept", requestId: "kept-3", ...WAIT }));
    await until(() => server.engine.waiterCount === 2);
    lost.cancel();
    await until(() => server.engine.waiterCount === 0);
    const next = open(client, {
      open: {},
      commands: [
        { call: 1n, command: comeBack(ticket.ticketId) },
        { call: 2n, command: renew(held.leaseId) },
        { call: 3n, command: acquire({ name: "kept", requestId: "kept-3", ...WAIT }) },
        { call: 4n, command: comeBack("1.99.abcdefghijklmnopqrstuv") },
      ],
    });
    expect((await next.ticketOf(1n)).ahead).toBe(0);
    expect(await next.last(2n)).toMatchObject({ case: "renew", value: { lease: { leaseId: held.leaseId } } });
    expect(await next.last(4n)).toMatchObject(failedWith(5));
    next.send({ commands: [{ call: 8n, command: release(held.leaseId) }] });
    const second = await next.leaseOf(1n);
    next.send({ commands: [{ call: 9n, command: release(second.leaseId) }] });
    expect((await next.leaseOf(3n)).requestId).toBe("kept-3");
  });

  test("gives up what had no way back", async () => {
    const { server, client, session } = await started();
    await client.lease({ name: "no-way-back" });
    session.ask(acquire({ name: "no-way-back", ...WAIT }));
    await until(() => server.engine.waiterCount === 1);
    session.cancel();
    const ended = await server.event((event) => event.kind === "ended");
    expect(ended).toMatchObject({ claim: { endReason: "cancelled" } });
  });

  test("shares a ticket with another one: both get the grant", async () => {
    const { client, session: one } = await started();
    const held = await client.lease({ name: "both" });
    const two = open(client);
    const first = one.askOne(wait({ name: "both", requestId: "both" }));
    const ticket = await one.ticketOf(first);
    const second = two.askOne(comeBack(ticket.ticketId));
    await two.ticketOf(second);
    await client.call("release", { leaseId: held.leaseId });
    const leases = [await one.leaseOf(first), await two.leaseOf(second)];
    expect(leases.map(({ leaseId }) => leaseId)).toEqual([ticket.ticketId, ticket.ticketId]);
  });
});

describe("silence", () => {
  const SHORT = { graceUs: 1_000_000, attachedForUs: 1_250_000 };

  test("is broken by the results of commands alone, and by an empty message while a command takes long", async () => {
    const { wrapEngine, reached, letGo } = gatedVerb("renew");
    const { session } = await started({ rules: SHORT, wrapEngine });
    const { leaseId } = await session.leaseOf(session.askOne(acquire({ name: "one message" })));
    const before = session.responses.length;
    const call = session.askOne(renew(leaseId));
    await reached;
    await session.until((all) => (all.length > before ? true : undefined));
    expect(session.responses.slice(before)).toMatchObject([{ results: [] }]);
    letGo();
    await session.last(call);
    const begun = session.responses.length;
    for (let round = 0; round < 5; round++)
      await session.last(session.askOne(acquire({ name: `new/${round}` })));
    expect(session.responses.slice(begun).map(({ results }) => results.length)).toEqual([1, 1, 1, 1, 1]);
  });

  test("ends a session, whose waiters keep their places for the grace period", async () => {
    const { server, client, session } = await started({ rules: SHORT });
    await client.lease({ name: "silent" });
    await session.ticketOf(session.askOne(wait({ name: "silent", requestId: "s" })));
    expect(await session.failure()).toMatchObject({ code: "UNAVAILABLE", reason: "SESSION_SILENT" });
    expect(await server.event((event) => event.kind === "ended")).toMatchObject({
      claim: { endReason: "lapsed" },
    });
  });

  test("before the first request, or in the middle of a message, is silence too", async () => {
    const server = await start({ rules: { graceUs: 200_000, attachedForUs: 250_000 } });
    const connection = connect(`http://${server.address}`);
    const stream = connection.request({
      ":method": "POST",
      ":path": "/rowlock.v1.LockService/Session",
      "content-type": "application/grpc",
      te: "trailers",
    });
    // Announces a message of 100 bytes and sends one byte of it.
    stream.write(Buffer.from([0, 0, 0, 0, 100, 1]));
    const status = await new Promise((resolve) => {
      stream.on("trailers", (trailers) => resolve(trailers["grpc-status"]));
      stream.on("response", (headers) => headers["grpc-status"] && resolve(headers["grpc-status"]));
      stream.resume();
    });
    expect(status).toBe("14");
    connection.destroy();
  });

  test("is broken by an empty request, which is answered", async () => {
    const { server, session } = await started({ rules: SHORT });
    for (let heard = 2n; heard <= 25n; heard++) {
      session.send({});
      await session.until((all) => (all.some((response) => response.heard === heard) ? true : undefined));
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    expect(server.openSessions()).toBe(1);
  });
});

describe("bounds", () => {
  test("of waits and of commands refuse one by one, and the session lives on", async () => {
    const { client, session } = await started({ grpc: { sessionWaitsMax: 2, sessionCommandsMax: 3 } });
    await client.lease({ name: "bounded" });
    const waits = session.ask(
      ...[1, 2, 3].map((index) => wait({ name: "bounded", requestId: `bounded-${index}` })),
    );
    expect(await session.last(waits[2] as bigint)).toMatchObject(failedWith(8));
    for (const call of waits.slice(0, 2)) await session.ticketOf(call);
    const calls = session.ask(...Array.from({ length: 5 }, (_, index) => acquire({ name: `free-${index}` })));
    const results = await Promise.all(calls.map((call) => session.last(call)));
    const got = (kind: string) => results.filter(({ case: one }) => one === kind).length;
    expect([got("acquire"), got("error")]).toEqual([3, 2]);
    // A wait that has ended makes room for another one.
    session.send({ commands: [{ command: cancel(waits[0] as bigint) }] });
    await session.last(waits[0] as bigint);
    await session.ticketOf(session.askOne(wait({ name: "bounded", requestId: "bounded-4" })));
  });

  test("of commands count cancelled ones, until their work is over", async () => {
    const { wrapEngine, held, letGo } = gatedVerb("update_record");
    const { session } = await started({ grpc: { sessionCommandsMax: 2 }, wrapEngine });
    const update = { case: "updateRecord", value: { name: "slow", status: "new" } } as Command;
    const calls = session.ask(update, update);
    session.ask(...calls.map(cancel));
    for (const call of calls) expect(await session.last(call)).toMatchObject({ value: { code: 1 } });
    const free = () => session.last(session.askOne(acquire({ name: "free" })));
    expect(await free()).toMatchObject(failedWith(8));
    expect(held()).toBe(2);
    letGo();
    await until(async () => (await free()).case === "acquire");
  });

  test("of one message: 10,001 commands are answered one by one", async () => {
    const { session } = await started({ grpc: { sessionCommandsMax: 10 } });
    const empty = Array.from({ length: 10_001 }, (_, index) => ({ call: BigInt(index + 1) }));
    session.send({ commands: empty });
    await session.until((all) =>
      all.reduce((sum, { results }) => sum + results.length, 0) === 10_001 ? true : undefined,
    );
    const named = Array.from({ length: 200 }, (_, index) => acquire({ name: `many-${index}` }));
    const results = await Promise.all(session.ask(...named).map((call) => session.last(call)));
    const refused = results.filter((result) => result.case === "error" && result.value.code === 8);
    // Those that begin in later turns may find room again.
    expect(refused.length).toBeGreaterThan(50);
    expect(results.length - refused.length).toBeGreaterThanOrEqual(10);
  });

  test("of unread data end the session of a client that does not read, and no other", async () => {
    const { server, client, session } = await started();
    await session.until(([first]) => first);
    const labels = Object.fromEntries(Array.from({ length: 16 }, (_, key) => [`k${key}`, "v".repeat(255)]));
    for (let index = 0; index < 40; index++) await client.lease({ name: `page/${index}`, terms: { labels } });
    session.stopReading();
    for (let index = 0; index < 200; index++) session.ask({ case: "listLocks", value: { prefix: "page/" } });
    await until(() => server.sessionEnds.length > 0);
    expect(server.sessionEnds).toEqual(["RESOURCE_EXHAUSTED"]);
    await client.lease({ name: "others" });
  });

  test("of a message: a larger one ends the session with a reason", async () => {
    const { session } = await started();
    session.send(Buffer.alloc(65_537));
    expect(await session.failure()).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "MESSAGE_TOO_LARGE",
    });
  });

  test("of sessions, and of memory: another one is refused", async () => {
    let isShort = false;
    const capacity = { ...NO_BOUND, sessions: 1, isShort: () => isShort };
    const { server, client, session } = await started({ grpc: { capacity } });
    await session.until(([first]) => first);
    const full = { code: "RESOURCE_EXHAUSTED", metadata: { bound: "server_sessions" } };
    expect(await open(client).failure()).toMatchObject(full);
    session.cancel();
    await until(() => server.openSessions() === 0);
    isShort = true;
    expect(await open(client).failure()).toMatchObject(full);
    isShort = false;
    expect(await open(client).until(([first]) => first)).toHaveProperty("opened.waitsMax");
  });

  test("sessions that come and go leave nothing behind", async () => {
    const server = await start();
    for (let index = 0; index < 50; index++) {
      const session = open(server.client);
      await session.leaseOf(session.askOne(acquire({ name: `loop-${index}`, requestId: `loop-${index}` })));
      session.cancel();
    }
    await until(() => server.openSessions() === 0);
    expect(server.engine.waiterCount).toBe(0);
  });
});

describe("the end", () => {
  test("comes in good order when the client has closed its side and the last call has ended", async () => {
    const { server, client, session } = await started();
    const held = await client.lease({ name: "last" });
    const call = session.askOne(acquire({ name: "last", requestId: "last", ...WAIT }));
    await until(() => server.engine.waiterCount === 1);
    session.end();
    await client.call("release", { leaseId: held.leaseId });
    await session.ended;
    expect((await session.leaseOf(call)).requestId).toBe("last");
    expect(server.sessionEnds).toEqual(["OK"]);
  });

  test("of all sessions, if another server has the database that this one has lost: the server goes on", async () => {
    const { server, client, session } = await started();
    const held = await client.lease({ name: "moved" });
    const waiting = session.askOne(wait({ name: "moved", requestId: "moved" }));
    const { ticketId } = await session.ticketOf(waiting);
    const blocked = session.askOne(acquire({ name: "moved", requestId: "moved-2", ...WAIT }));
    await until(() => server.engine.waiterCount === 2);
    server.grpc.sendElsewhere();
    server.grpc.sendElsewhere();
    expect(await session.failure()).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
    expect(session.responses.filter(({ goingAway }) => goingAway)).toHaveLength(1);
    for (const call of [waiting, blocked])
      expect(session.resultsOf(call).at(-1)).toMatchObject(failedWith(14));
    await until(() => server.engine.waiterCount === 0);
    const next = open(client, { open: {}, commands: [{ call: 1n, command: comeBack(ticketId) }] });
    await next.ticketOf(1n);
    await client.call("release", { leaseId: held.leaseId });
    expect((await next.leaseOf(1n)).leaseId).toBe(ticketId);
    expect(next.responses.some(({ goingAway }) => goingAway)).toBe(false);
  });

  test("of the server: the client hears of it, waits end, running calls finish", async () => {
    const { wrapEngine, letGo } = gatedVerb("renew");
    const { server, session } = await started({ wrapEngine });
    const held = await session.leaseOf(session.askOne(acquire({ name: "stop" })));
    const [waiting, renewing] = session.ask(
      wait({ name: "stop", requestId: "stop" }),
      renew(held.leaseId),
    ) as [bigint, bigint];
    await session.ticketOf(waiting);
    const drained = server.grpc.drain(5_000);
    await session.until((all) => (all.some(({ goingAway }) => goingAway) ? true : undefined));
    expect(await errorOf(session, waiting)).toMatchObject({ value: { code: 14 } });
    expect(await session.last(session.askOne(acquire({ name: "too-late" })))).toMatchObject(failedWith(14));
    letGo();
    expect(await session.last(renewing)).toMatchObject({ case: "renew" });
    expect(await session.failure()).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
    await drained;
  });
});
