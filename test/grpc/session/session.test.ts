// What only a session has: its opening, call numbers, order, acknowledgements, presence, losses, bounds and its end.

import { connect } from "node:http2";
import { afterEach, describe, expect, test } from "vitest";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import { EndReason } from "#proto/rowlock/v1/lock_pb.js";
import type { SessionResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { Fault } from "../../../server/engine/faults.ts";
import type { StartOptions, TestServer } from "../../support/harness.ts";
import { replacing, startServer, until } from "../../support/harness.ts";
import {
  acquire,
  BareSession,
  type Command,
  cancel,
  capture,
  comeBack,
  release,
  renew,
  wait,
} from "../../support/session-client.ts";
import { violationsIn } from "../../support/test-calls.ts";

const servers: TestServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function start(options?: StartOptions): Promise<TestServer> {
  const server = await startServer(options);
  servers.push(server);
  return server;
}

const WAIT = { whenBusy: { case: "wait", value: {} } } as const;

async function leaseOf(session: BareSession, call: bigint) {
  const result = await session.last(call);
  if (result.case === "acquire" && result.value.outcome.case === "lease") return result.value.outcome.value;
  if (result.case === "waitInQueue" && result.value.update.case === "granted")
    return result.value.update.value;
  throw new Error(`expected a lease, got ${JSON.stringify(result, (_, value) => String(value))}`);
}

async function ticketOf(session: BareSession, call: bigint) {
  return await session.until(() => {
    const [first] = session.resultsOf(call);
    return first?.case === "waitInQueue" && first.value.update.case === "position"
      ? first.value.update.value
      : undefined;
  });
}

async function endOf(session: BareSession): Promise<RowlockError> {
  return await session.ended.then(
    () => Promise.reject(new Error("the session ended in good order")),
    (error: RowlockError) => error,
  );
}

describe("the opening", () => {
  test("is answered with the server, its bounds and its heartbeat interval", async () => {
    const server = await start({ grpc: { sessionWaitsMax: 7, sessionCommandsMax: 8 } });
    const session = new BareSession(server.client);
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
    session.cancel();
  });

  test("gives claims an owner and labels, unless they bring their own", async () => {
    const server = await start();
    const session = new BareSession(server.client, {
      open: { owner: "etl", labels: { host: "a1", app: "x" } },
    });
    const calls = session.ask(
      acquire({ name: "inherits" }),
      acquire({ name: "own", terms: { owner: "me", labels: { app: "y" } } }),
    );
    for (const call of calls) await leaseOf(session, call);
    const [capture] = session.ask({
      case: "capture",
      value: { from: { case: "names", value: { names: ["taken"] } }, maxLeases: 1 },
    } as Command);
    await session.last(capture as bigint);
    const holderOf = async (name: string) => (await server.client.call("getLock", { name })).lock?.holders[0];
    expect(await holderOf("inherits")).toMatchObject({ owner: "etl", labels: { host: "a1", app: "x" } });
    expect(await holderOf("taken")).toMatchObject({ owner: "etl", labels: { host: "a1", app: "x" } });
    expect(await holderOf("own")).toMatchObject({ owner: "me", labels: { host: "a1", app: "y" } });
    session.cancel();
  });

  test("must come once, first and valid: otherwise the session ends", async () => {
    const { client } = await start();
    const without = new BareSession(client, { commands: [{ call: 1n, command: acquire({ name: "n" }) }] });
    expect(await endOf(without)).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "BAD_REQUEST",
      violations: [{ field: "open", description: expect.stringContaining("first request") }],
    });
    const twice = new BareSession(client);
    twice.send({ open: {} });
    expect(await endOf(twice)).toMatchObject({
      violations: [{ field: "open", description: expect.stringContaining("only in the first") }],
    });
    const wrong = new BareSession(client, { open: { owner: "o".repeat(256), labels: { "": "x" } } });
    expect(Object.keys(violationsIn(await endOf(wrong)))).toEqual(["open.owner", 'open.labels[""]']);
  });

  test("of bytes that are no message ends the session", async () => {
    const { client } = await start();
    const session = new BareSession(client);
    session.send(Buffer.from([0x0a, 200]));
    expect(await endOf(session)).toMatchObject({ code: "INVALID_ARGUMENT", reason: "MALFORMED_MESSAGE" });
  });
});

describe("calls", () => {
  test("of one message are answered each by its number, renewals and releases first", async () => {
    const order: string[] = [];
    const server = await start({
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
    const session = new BareSession(server.client);
    const [first, second] = session.ask(acquire({ name: "a" }), acquire({ name: "b" })) as [bigint, bigint];
    const [a, b] = [await leaseOf(session, first), await leaseOf(session, second)];
    order.length = 0;
    const calls = session.ask(acquire({ name: "a" }), renew(b.leaseId), release(a.leaseId));
    const results = await Promise.all(calls.map((call) => session.last(call)));
    expect(order).toEqual(["release", "renew", "acquire a"]);
    expect(results.map(({ case: kind }) => kind)).toEqual(["acquire", "renew", "release"]);
    // The Acquire gets the lock that the Release in the same message has just freed.
    expect(results[0]).toMatchObject({ value: { outcome: { case: "lease", value: { fencingToken: 2n } } } });
    session.cancel();
  });

  test("that are decided at once come back in one message, with the number of requests heard", async () => {
    const { client } = await start();
    const session = new BareSession(client);
    await leaseOf(session, session.ask(acquire({ name: "warm" }))[0] as bigint);
    // A server that is held up for a moment may send both apart, so one of some tries counts.
    const together = [];
    for (let index = 0; index < 5; index++) {
      const before = session.responses.length;
      await leaseOf(
        session,
        session.ask(acquire({ name: `warm ${index}` }), acquire({ name: "warm" }))[0] as bigint,
      );
      await session.until((all) => (all.at(-1)?.results.length ? true : undefined));
      together.push(session.responses.length - before);
    }
    expect(Math.min(...together)).toBe(1);
    session.cancel();
  });

  test("that fail are answered like unary calls, and the session lives on", async () => {
    const { client } = await start();
    const session = new BareSession(client);
    const [bad, unknown, empty] = session.ask(
      acquire({ name: "", permits: 2_000_000 }),
      renew("1.1.abcdefghijklmnopqrstuv"),
      undefined as never,
    ) as [bigint, bigint, bigint];
    expect(await session.last(bad)).toMatchObject({ case: "error", value: { code: 3 } });
    expect(await session.last(unknown)).toMatchObject({ case: "error", value: { code: 5 } });
    expect(await session.last(empty)).toMatchObject({ case: "error", value: { code: 3 } });
    await leaseOf(session, session.ask(acquire({ name: "lives" }))[0] as bigint);
    session.cancel();
  });

  test("whose number is 0 or in use are rejected, and the open call goes on", async () => {
    const { client } = await start();
    const session = new BareSession(client);
    const held = await leaseOf(session, session.ask(acquire({ name: "taken" }))[0] as bigint);
    session.send({ commands: [{ call: 50n, command: acquire({ name: "taken", ...WAIT, requestId: "w" }) }] });
    session.send({ commands: [{ call: 50n, command: acquire({ name: "other" }) }] });
    session.send({ commands: [{ command: acquire({ name: "other" }) }] });
    await session.until(() => (session.resultsOf(0n).length > 0 ? true : undefined));
    expect(session.resultsOf(50n)).toMatchObject([{ case: "rejected", value: { code: 3 } }]);
    expect(session.resultsOf(0n)).toMatchObject([{ case: "rejected", value: { code: 3 } }]);
    session.ask(release(held.leaseId));
    const granted = await session.until(() =>
      session.resultsOf(50n).find(({ case: kind }) => kind === "acquire"),
    );
    expect(granted).toMatchObject({ value: { outcome: { case: "lease" } } });
    session.cancel();
  });

  test("leave nothing held if a capture is cancelled just as it takes a lock, even under a request id", async () => {
    const server = await start();
    await server.client.call("updateRecord", { name: "task/1", status: "new" });
    const session = new BareSession(server.client);
    await session.until(([first]) => first);
    const hour = { seconds: 3_600n };
    const asked = {
      from: { case: "prefix" as const, value: "task/" },
      maxLeases: 1,
      requestId: "r",
      maxWait: hour,
      terms: { minInterval: hour },
    };
    session.send({ commands: [{ call: 1n, command: capture(asked) }] });
    session.send({ commands: [{ command: cancel(1n) }] });
    expect(await session.last(1n)).toMatchObject({ case: "error", value: { code: 1 } });
    const again = { from: { case: "prefix" as const, value: "task/" }, maxLeases: 1, maxWait: hour };
    const [lease] = (await server.client.call("capture", again)).leases;
    expect(lease).toMatchObject({ lockName: "task/1" });
    session.cancel();
  });

  test("end by a cancel or a timeout; a place is kept, and cancelling an unknown call does nothing", async () => {
    const server = await start();
    const session = new BareSession(server.client);
    await leaseOf(session, session.ask(acquire({ name: "busy" }))[0] as bigint);
    const [waiting] = session.ask(wait({ name: "busy", requestId: "c" })) as [bigint];
    const ticket = await ticketOf(session, waiting);
    session.send({ commands: [{ command: cancel(99n) }, { command: cancel(waiting) }] });
    const ended = await session.until(() =>
      session.resultsOf(waiting).find(({ case: kind }) => kind === "error"),
    );
    expect(ended).toMatchObject({ value: { code: 1 } });
    await server.event((event) => event.kind === "enqueued");
    await until(() => server.engine.waiterCount === 0);
    const timeout = { seconds: 0n, nanos: 20_000_000 };
    session.send({ commands: [{ call: 70n, timeout, command: comeBack(ticket.ticketId) }] });
    const late = await session.until(() => session.resultsOf(70n).find(({ case: kind }) => kind === "error"));
    expect(late).toMatchObject({ value: { code: 4 } });
    const [again] = session.ask(comeBack(ticket.ticketId)) as [bigint];
    expect((await ticketOf(session, again)).ticketId).toBe(ticket.ticketId);
    session.cancel();
  });

  test("renew many leases at once, each with its own outcome; an invalid id fails the call", async () => {
    const { client } = await start();
    const session = new BareSession(client);
    const lease = await leaseOf(session, session.ask(acquire({ name: "many" }))[0] as bigint);
    const leases = [{ leaseId: lease.leaseId }, { leaseId: "1.99.abcdefghijklmnopqrstuv" }];
    const [call] = session.ask({ case: "renewLeases", value: { leases } }) as [bigint];
    expect(await session.last(call)).toMatchObject({
      case: "renewLeases",
      value: { leases: [{ outcome: { case: "lease" } }, { outcome: { case: "error", value: { code: 5 } } }] },
    });
    const [none, wrong] = session.ask(
      { case: "renewLeases", value: { leases: [] } },
      { case: "renewLeases", value: { leases: [...leases, { leaseId: "no id" }] } },
    ) as [bigint, bigint];
    for (const failed of [none, wrong])
      expect(await session.last(failed)).toMatchObject({ case: "error", value: { code: 3 } });
    session.cancel();
  });

  test("are counted under their methods", async () => {
    const server = await start();
    const session = new BareSession(server.client);
    const lease = await leaseOf(session, session.ask(acquire({ name: "counted" }))[0] as bigint);
    await session.last(session.ask(release(lease.leaseId))[0] as bigint);
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

describe("a grant after a wait", () => {
  async function granted(server: TestServer, session: BareSession, name: string) {
    const held = await server.client.lease({ name });
    const [call] = session.ask(wait({ name, requestId: name })) as [bigint];
    await ticketOf(session, call);
    await server.client.call("release", { leaseId: held.leaseId });
    return await leaseOf(session, call);
  }
  /**
   * The server notices a session's silence after half of this time, which even a busy machine must not reach between
   * two messages.
   */
  const GRACE = { graceUs: 2_000_000, attachedForUs: 2_500_000 };
  const acknowledge = (session: BareSession) => session.send({ received: BigInt(session.responses.length) });

  test("is confirmed once it was acknowledged, with its whole time", async () => {
    const server = await start({ rules: GRACE });
    const session = new BareSession(server.client);
    const lease = await granted(server, session, "confirmed");
    expect(lease.provisional).toBe(true);
    acknowledge(session);
    const [confirmed] = await session.until(
      (all) => all.find(({ confirmed }) => confirmed.length > 0)?.confirmed,
    );
    expect(confirmed).toMatchObject({ leaseId: lease.leaseId, provisional: false });
    expect(Number(confirmed?.ttl?.seconds)).toBeGreaterThan(25);
    session.cancel();
  });

  test("lapses with the grace period without an acknowledgement, and the session hears of it", async () => {
    const server = await start({ rules: GRACE });
    const session = new BareSession(server.client);
    const heartbeat = setInterval(() => session.send({}), 50);
    const lease = await granted(server, session, "lapsed");
    const [lost] = await session.until((all) => all.find(({ lost }) => lost.length > 0)?.lost);
    expect(lost).toMatchObject({
      leaseId: lease.leaseId,
      lockName: "lapsed",
      end: { reason: EndReason.LAPSED },
    });
    clearInterval(heartbeat);
    session.cancel();
  });

  test("needs no confirmation if it was released or renewed by then", async () => {
    const confirmed: unknown[] = [];
    const server = await start({
      rules: GRACE,
      wrapEngine: (engine) =>
        replacing(engine, {
          confirm: (ref) => {
            confirmed.push(ref);
            return engine.confirm(ref);
          },
        }),
    });
    const session = new BareSession(server.client);
    const first = await granted(server, session, "released");
    const second = await granted(server, session, "renewed");
    acknowledge(session);
    const calls = session.ask(release(first.leaseId), renew(second.leaseId));
    for (const call of calls) await session.last(call);
    const third = await granted(server, session, "neither");
    acknowledge(session);
    await session.until((all) => all.find(({ confirmed }) => confirmed.length > 0));
    expect(confirmed).toHaveLength(1);
    expect(third.provisional).toBe(true);
    session.cancel();
  });
});

describe("the deadline of a lease", () => {
  test.each(["granted at once", "granted after a wait", "renewed"])(
    "holds however late it is sent: %s",
    async (how) => {
      const LATE_MS = 700;
      const later = () => new Promise((resolve) => setTimeout(resolve, LATE_MS));
      let isLate = false;
      const server = await start({
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
      const session = new BareSession(server.client);
      // When each request was sent, by request number.
      const sentMs = [Date.now()];
      const send = (request: Parameters<BareSession["send"]>[0]) => {
        sentMs.push(Date.now());
        session.send(request);
      };
      const held = how === "granted at once" ? undefined : await server.client.lease({ name });
      isLate = true;
      const asked =
        how === "renewed" ? renew(held?.leaseId ?? "") : acquire({ name, requestId: "late", ...WAIT });
      send({ commands: [{ call: 1n, command: asked }] });
      const heartbeats = setInterval(() => send({}), 20);
      if (how === "granted after a wait") {
        await until(() => server.engine.waiterCount === 1);
        await server.client.call("release", { leaseId: held?.leaseId ?? "" });
      }
      const response = await session.until((all) => all.find(({ results }) => results.length > 0));
      clearInterval(heartbeats);
      const result = response.results[0]?.result;
      const lease =
        result?.case === "renew"
          ? result.value.lease
          : result?.case === "acquire" && result.value.outcome.case === "lease"
            ? result.value.outcome.value
            : undefined;
      const ms = (time: { seconds: bigint; nanos: number } | undefined) =>
        Number(time?.seconds) * 1e3 + Number(time?.nanos) / 1e6;
      const deadlineMs = (sentMs[Number(response.heard) - 1] as number) + ms(lease?.ttl);
      expect(deadlineMs).toBeLessThanOrEqual(ms(lease?.expiresAt));
      expect(Number(response.heard)).toBeGreaterThan(5);
      session.cancel();
    },
  );
});

describe("a lease that is lost", () => {
  test("is reported at once, whoever ended it; the session's own releases are not", async () => {
    const server = await start();
    const session = new BareSession(server.client);
    const names = ["forced", "by-others", "by-itself"];
    const [forced, byOthers, byItself] = (await Promise.all(
      session.ask(...names.map((name) => acquire({ name }))).map((call) => leaseOf(session, call)),
    )) as [Lease, Lease, Lease];
    await session.last(session.ask(release(byItself.leaseId))[0] as bigint);
    await server.client.call("forceRelease", {
      target: { case: "name", value: "forced" },
      reason: "test",
    });
    await server.client.call("release", { leaseId: byOthers.leaseId });
    const lost = (all: readonly SessionResponse[]) => all.flatMap(({ lost }) => lost);
    await session.until((all) => (lost(all).length === 2 ? true : undefined));
    expect(lost(session.responses)).toMatchObject([
      { leaseId: forced.leaseId, lockName: "forced", end: { reason: EndReason.FORCE_RELEASED } },
      { leaseId: byOthers.leaseId, lockName: "by-others", end: { reason: EndReason.RELEASED } },
    ]);
    session.cancel();
  });
});

describe("a lease that ends while its answer is on its way", () => {
  const minutes = (value: number) => ({ seconds: BigInt(value * 60), nanos: 0 });
  const force = (server: TestServer, name: string) =>
    server.client.call("forceRelease", { target: { case: "name", value: name }, reason: "test" });
  const lostIn = (all: readonly SessionResponse[]) => all.flatMap(({ lost }) => lost);

  /**
   * A server that delays renewals of the lock until the gate opens, and reports which other renewals it has decided.
   */
  function heldUp(name: string, gate: Promise<void>, decided: (name: string) => void): Promise<TestServer> {
    return start({
      wrapEngine: (engine) =>
        replacing(
          engine,
          {},
          {
            renew: async (asked) => {
              const answer = await engine.ask(asked);
              if (answer.lockName === name) await gate;
              else decided(answer.lockName);
              return answer;
            },
          },
        ),
    });
  }

  test.each(["of this session", "of the session before"])(
    "is not renewed with others, one of which is held up: %s",
    async (whose) => {
      const gate = Promise.withResolvers<void>();
      const renewed = Promise.withResolvers<string>();
      const server = await heldUp("held-up", gate.promise, renewed.resolve);
      const before = new BareSession(server.client);
      const asked = ["prompt", "held-up"].map((name) =>
        acquire({ name, terms: { lasting: { case: "ttl" as const, value: minutes(10) } } }),
      );
      const [prompt, slow] = (await Promise.all(
        before.ask(...asked).map((call) => leaseOf(before, call)),
      )) as [Lease, Lease];
      const session = whose === "of this session" ? before : new BareSession(server.client);
      const leases = [{ leaseId: prompt.leaseId }, { leaseId: slow.leaseId }];
      const [call] = session.ask({ case: "renewLeases", value: { leases } }) as [bigint];
      expect(await renewed.promise).toBe("prompt");
      await force(server, "prompt");
      const result = await session.last(call);
      gate.resolve();
      const [first] = result.case === "renewLeases" ? result.value.leases : [];
      expect(first?.outcome).toMatchObject({ case: "error", value: { code: 9 } });
      // After another answer, no more about the first lease can come.
      await session.last(session.ask(acquire({ name: "other" }))[0] as bigint);
      if (whose === "of this session")
        expect(lostIn(session.responses)).toMatchObject([
          { leaseId: prompt.leaseId, lockName: "prompt", end: { reason: EndReason.FORCE_RELEASED } },
        ]);
      before.cancel();
      session.cancel();
    },
  );

  test("is reported without time left, and as lost", async () => {
    const gate = Promise.withResolvers<void>();
    const server = await start({
      wrapEngine: (engine) =>
        replacing(engine, {
          acquire: async (...asked) => {
            const answer = await engine.acquire(...asked);
            await gate.promise;
            return answer;
          },
        }),
    });
    const session = new BareSession(server.client);
    const [call] = session.ask(
      acquire({ name: "brief", terms: { lasting: { case: "ttl" as const, value: minutes(10) } } }),
    ) as [bigint];
    await server.event(({ kind }) => kind === "granted");
    await force(server, "brief");
    gate.resolve();
    const lease = await leaseOf(session, call);
    expect(lease.ttl).toMatchObject({ seconds: 0n, nanos: 0 });
    const [lost] = await session.until((all) => all.find(({ lost }) => lost.length > 0)?.lost);
    expect(lost).toMatchObject({ leaseId: lease.leaseId, lockName: "brief" });
    session.cancel();
  });
});

describe("a lease whose release is refused", () => {
  const refusing = () => {
    let isRefused = true;
    return start({
      rules: { graceUs: 2_000_000, attachedForUs: 2_500_000 },
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
    const server = await refusing();
    const session = new BareSession(server.client);
    const lease = await leaseOf(session, session.ask(acquire({ name: "kept" }))[0] as bigint);
    const [refused] = session.ask(release(lease.leaseId)) as [bigint];
    expect(await session.last(refused)).toMatchObject({ case: "error", value: { code: 8 } });
    await server.client.call("forceRelease", { target: { case: "name", value: "kept" }, reason: "test" });
    const [lost] = await session.until((all) => all.find(({ lost }) => lost.length > 0)?.lost);
    expect(lost).toMatchObject({ leaseId: lease.leaseId, end: { reason: EndReason.FORCE_RELEASED } });
    session.cancel();
  });

  test("is confirmed if it was provisional and is acknowledged", async () => {
    const server = await refusing();
    const held = await server.client.lease({ name: "provisional" });
    const session = new BareSession(server.client);
    const [call] = session.ask(wait({ name: "provisional", requestId: "p" })) as [bigint];
    await ticketOf(session, call);
    await server.client.call("forceRelease", {
      target: { case: "name", value: "provisional" },
      reason: "test",
    });
    const lease = await leaseOf(session, call);
    expect([lease.provisional, held.provisional]).toEqual([true, false]);
    const [refused] = session.ask(release(lease.leaseId)) as [bigint];
    session.send({ received: BigInt(session.responses.length) });
    expect(await session.last(refused)).toMatchObject({ case: "error", value: { code: 8 } });
    session.keepAlive(50);
    const { confirmed } = await session.until((all) =>
      all.find(({ confirmed, lost }) => confirmed.length + lost.length > 0),
    );
    expect(confirmed[0]).toMatchObject({ leaseId: lease.leaseId, provisional: false });
    session.cancel();
  });
});

describe("leases of a capture", () => {
  const put = (server: TestServer, name: string) =>
    server.client.call("updateRecord", { name, status: "new" });
  const capture = (value: object) =>
    ({
      case: "capture",
      value: { from: { case: "prefix", value: "t/" }, maxLeases: 2, ...value },
    }) as Command;
  const leasesOf = async (session: BareSession, call: bigint) => {
    const result = await session.last(call);
    if (result.case !== "capture") throw new Error(`expected leases, got ${result.case}`);
    return result.value.leases;
  };

  test("belong to the session: it hears which of them are lost", async () => {
    const server = await start();
    await put(server, "t/1");
    await put(server, "t/2");
    const session = new BareSession(server.client);
    const [first, second] = await leasesOf(session, session.ask(capture({}))[0] as bigint);
    await session.last(session.ask(release(first?.leaseId ?? ""))[0] as bigint);
    await server.client.call("forceRelease", { target: { case: "name", value: "t/2" }, reason: "test" });
    const [lost] = await session.until((all) => all.find(({ lost }) => lost.length > 0)?.lost);
    expect(lost).toMatchObject({
      leaseId: second?.leaseId,
      lockName: "t/2",
      end: { reason: EndReason.FORCE_RELEASED, note: "test" },
    });
    session.cancel();
  });

  test("that it has waited for are confirmed once they were acknowledged", async () => {
    const server = await start({ rules: { graceUs: 2_000_000, attachedForUs: 2_500_000 } });
    const session = new BareSession(server.client);
    const [call] = session.ask(capture({ maxWait: { seconds: 600n, nanos: 0 } })) as [bigint];
    await until(() => server.engine.waitingCaptures === 1);
    await put(server, "t/1");
    const [lease] = await leasesOf(session, call);
    expect(lease?.provisional).toBe(true);
    session.send({ received: BigInt(session.responses.length) });
    const [confirmed] = await session.until(
      (all) => all.find(({ confirmed }) => confirmed.length > 0)?.confirmed,
    );
    expect(confirmed).toMatchObject({ leaseId: lease?.leaseId, provisional: false });
    session.cancel();
  });
});

describe("a session that is lost", () => {
  test("keeps its places and leases for a new one, which names them in its first request", async () => {
    const server = await start();
    const lost = new BareSession(server.client);
    const [heldCall] = lost.ask(acquire({ name: "kept" })) as [bigint];
    const held = await leaseOf(lost, heldCall);
    const [waitingCall] = lost.ask(wait({ name: "kept", requestId: "kept-2" })) as [bigint];
    const ticket = await ticketOf(lost, waitingCall);
    lost.ask(acquire({ name: "kept", requestId: "kept-3", ...WAIT }));
    await until(() => server.engine.waiterCount === 2);
    lost.cancel();
    await until(() => server.engine.waiterCount === 0);
    const next = new BareSession(server.client, {
      open: {},
      commands: [
        { call: 1n, command: comeBack(ticket.ticketId) },
        { call: 2n, command: renew(held.leaseId) },
        { call: 3n, command: acquire({ name: "kept", requestId: "kept-3", ...WAIT }) },
        { call: 4n, command: comeBack("1.99.abcdefghijklmnopqrstuv") },
      ],
    });
    expect((await ticketOf(next, 1n)).ahead).toBe(0);
    expect(await next.last(2n)).toMatchObject({ case: "renew", value: { lease: { leaseId: held.leaseId } } });
    expect(await next.last(4n)).toMatchObject({ case: "error", value: { code: 5 } });
    next.send({ commands: [{ call: 8n, command: release(held.leaseId) }] });
    const second = await leaseOf(next, 1n);
    next.send({ commands: [{ call: 9n, command: release(second.leaseId) }] });
    expect((await leaseOf(next, 3n)).requestId).toBe("kept-3");
    next.cancel();
  });

  test("gives up what had no way back", async () => {
    const server = await start();
    await server.client.lease({ name: "no-way-back" });
    const session = new BareSession(server.client);
    session.ask(acquire({ name: "no-way-back", ...WAIT }));
    await until(() => server.engine.waiterCount === 1);
    session.cancel();
    const ended = await server.event((event) => event.kind === "ended");
    expect(ended).toMatchObject({ claim: { endReason: "cancelled" } });
  });

  test("shares a ticket with another one: both get the grant", async () => {
    const server = await start();
    const held = await server.client.lease({ name: "both" });
    const [one, two] = [new BareSession(server.client), new BareSession(server.client)];
    const [first] = one.ask(wait({ name: "both", requestId: "both" })) as [bigint];
    const ticket = await ticketOf(one, first);
    const [second] = two.ask(comeBack(ticket.ticketId)) as [bigint];
    await ticketOf(two, second);
    await server.client.call("release", { leaseId: held.leaseId });
    const leases = [await leaseOf(one, first), await leaseOf(two, second)];
    expect(leases.map(({ leaseId }) => leaseId)).toEqual([ticket.ticketId, ticket.ticketId]);
    one.cancel();
    two.cancel();
  });
});

describe("silence", () => {
  test("ends a session, whose waiters keep their places for the grace period", async () => {
    const server = await start({ rules: { graceUs: 1_000_000, attachedForUs: 1_250_000 } });
    await server.client.lease({ name: "silent" });
    const session = new BareSession(server.client);
    const [call] = session.ask(wait({ name: "silent", requestId: "s" })) as [bigint];
    await ticketOf(session, call);
    expect(await endOf(session)).toMatchObject({ code: "UNAVAILABLE", reason: "SESSION_SILENT" });
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
    const server = await start({ rules: { graceUs: 1_000_000, attachedForUs: 1_250_000 } });
    const session = new BareSession(server.client);
    for (let heard = 2n; heard <= 25n; heard++) {
      session.send({});
      await session.until((all) => (all.some((response) => response.heard === heard) ? true : undefined));
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    expect(server.openSessions()).toBe(1);
    session.cancel();
  });
});

describe("bounds", () => {
  test("of waits and of commands refuse one by one, and the session lives on", async () => {
    const server = await start({ grpc: { sessionWaitsMax: 2, sessionCommandsMax: 3 } });
    await server.client.lease({ name: "bounded" });
    const session = new BareSession(server.client);
    const waits = session.ask(
      ...[1, 2, 3].map((index) => wait({ name: "bounded", requestId: `bounded-${index}` })),
    );
    expect(await session.last(waits[2] as bigint)).toMatchObject({ case: "error", value: { code: 8 } });
    for (const call of waits.slice(0, 2)) await ticketOf(session, call);
    const calls = session.ask(...Array.from({ length: 5 }, (_, index) => acquire({ name: `free-${index}` })));
    const results = await Promise.all(calls.map((call) => session.last(call)));
    expect(results.map(({ case: kind }) => kind)).toEqual([
      "acquire",
      "acquire",
      "acquire",
      "error",
      "error",
    ]);
    // A wait that has ended makes room for another one.
    session.send({ commands: [{ command: cancel(waits[0] as bigint) }] });
    await session.last(waits[0] as bigint);
    await ticketOf(session, session.ask(wait({ name: "bounded", requestId: "bounded-4" }))[0] as bigint);
    session.cancel();
  });

  test("of commands count cancelled ones, until their work is over", async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const server = await start({
      grpc: { sessionCommandsMax: 2 },
      wrapEngine: (engine) =>
        replacing(
          engine,
          {},
          {
            update_record: async (asked) => {
              begun += 1;
              await gate.promise;
              return await engine.ask(asked);
            },
          },
        ),
    });
    const session = new BareSession(server.client);
    const update = { case: "updateRecord", value: { name: "slow", status: "new" } } as Command;
    const calls = session.ask(update, update);
    session.ask(...calls.map(cancel));
    for (const call of calls) expect(await session.last(call)).toMatchObject({ value: { code: 1 } });
    const [refused] = session.ask(acquire({ name: "free" })) as [bigint];
    expect(await session.last(refused)).toMatchObject({ case: "error", value: { code: 8 } });
    expect(begun).toBe(2);
    gate.resolve();
    await until(async () => {
      const [again] = session.ask(acquire({ name: "free" })) as [bigint];
      return (await session.last(again)).case === "acquire";
    });
    session.cancel();
  });

  test("of one message: 10,001 commands are answered one by one", async () => {
    const { client } = await start({ grpc: { sessionCommandsMax: 10 } });
    const session = new BareSession(client);
    const empty = Array.from({ length: 10_001 }, (_, index) => ({ call: BigInt(index + 1) }));
    session.send({ commands: empty });
    await session.until((all) =>
      all.reduce((sum, { results }) => sum + results.length, 0) === 10_001 ? true : undefined,
    );
    const named = Array.from({ length: 200 }, (_, index) => acquire({ name: `many-${index}` }));
    const calls = session.ask(...named);
    const results = await Promise.all(calls.map((call) => session.last(call)));
    const refused = results.filter((result) => result.case === "error" && result.value.code === 8);
    // Those that begin in later turns may find room again.
    expect(refused.length).toBeGreaterThan(50);
    expect(results.length - refused.length).toBeGreaterThanOrEqual(10);
    session.cancel();
  });

  test("of unread data end the session of a client that does not read, and no other", async () => {
    const server = await start();
    const session = new BareSession(server.client);
    await session.until(([first]) => first);
    const labels = Object.fromEntries(Array.from({ length: 16 }, (_, key) => [`k${key}`, "v".repeat(255)]));
    for (let index = 0; index < 40; index++)
      await server.client.lease({ name: `page/${index}`, terms: { labels: labels } });
    session.stopReading();
    for (let index = 0; index < 200; index++) session.ask({ case: "listLocks", value: { prefix: "page/" } });
    await until(() => server.sessionEnds.length > 0);
    expect(server.sessionEnds).toEqual(["RESOURCE_EXHAUSTED"]);
    await server.client.lease({ name: "others" });
    session.cancel();
  });

  test("of a message: a larger one ends the session with a reason", async () => {
    const { client } = await start();
    const session = new BareSession(client);
    session.send(Buffer.alloc(65_537));
    expect(await endOf(session)).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "MESSAGE_TOO_LARGE" });
  });

  test("sessions that come and go leave nothing behind", async () => {
    const server = await start();
    for (let index = 0; index < 50; index++) {
      const session = new BareSession(server.client);
      await leaseOf(
        session,
        session.ask(acquire({ name: `loop-${index}`, requestId: `loop-${index}` }))[0] as bigint,
      );
      session.cancel();
    }
    await until(() => server.openSessions() === 0);
    expect(server.engine.waiterCount).toBe(0);
  });
});

describe("the end", () => {
  test("comes in good order when the client has closed its side and the last call has ended", async () => {
    const server = await start();
    const held = await server.client.lease({ name: "last" });
    const session = new BareSession(server.client);
    const [call] = session.ask(acquire({ name: "last", requestId: "last", ...WAIT })) as [bigint];
    await until(() => server.engine.waiterCount === 1);
    session.end();
    await server.client.call("release", { leaseId: held.leaseId });
    await session.ended;
    expect((await leaseOf(session, call)).requestId).toBe("last");
    expect(server.sessionEnds).toEqual(["OK"]);
  });

  test("of all sessions, if another server has the database that this one has lost: the server goes on", async () => {
    const server = await start();
    const held = await server.client.lease({ name: "moved" });
    const session = new BareSession(server.client);
    const [waiting] = session.ask(wait({ name: "moved", requestId: "moved" })) as [bigint];
    const { ticketId } = await ticketOf(session, waiting);
    const [blocked] = session.ask(acquire({ name: "moved", requestId: "moved-2", ...WAIT })) as [bigint];
    await until(() => server.engine.waiterCount === 2);
    server.grpc.sendElsewhere();
    server.grpc.sendElsewhere();
    expect(await endOf(session)).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
    expect(session.responses.filter(({ goingAway }) => goingAway)).toHaveLength(1);
    for (const call of [waiting, blocked])
      expect(session.resultsOf(call).at(-1)).toMatchObject({ case: "error", value: { code: 14 } });
    await until(() => server.engine.waiterCount === 0);
    const next = new BareSession(server.client, {
      open: {},
      commands: [{ call: 1n, command: comeBack(ticketId) }],
    });
    await ticketOf(next, 1n);
    await server.client.call("release", { leaseId: held.leaseId });
    expect((await leaseOf(next, 1n)).leaseId).toBe(ticketId);
    expect(next.responses.some(({ goingAway }) => goingAway)).toBe(false);
    next.cancel();
  });

  test("of the server: the client hears of it, waits end, running calls finish", async () => {
    const gate = Promise.withResolvers<void>();
    const server = await start({
      wrapEngine: (engine) =>
        replacing(
          engine,
          {},
          {
            renew: async (asked) => {
              await gate.promise;
              return await engine.ask(asked);
            },
          },
        ),
    });
    const session = new BareSession(server.client);
    const held = await leaseOf(session, session.ask(acquire({ name: "stop" }))[0] as bigint);
    const [waiting, renewing] = session.ask(
      wait({ name: "stop", requestId: "stop" }),
      renew(held.leaseId),
    ) as [bigint, bigint];
    await ticketOf(session, waiting);
    const drained = server.grpc.drain(5_000);
    await session.until((all) => (all.some(({ goingAway }) => goingAway) ? true : undefined));
    expect(
      await session.until(() => session.resultsOf(waiting).find(({ case: kind }) => kind === "error")),
    ).toMatchObject({
      value: { code: 14 },
    });
    const [refused] = session.ask(acquire({ name: "too-late" })) as [bigint];
    expect(await session.last(refused)).toMatchObject({ case: "error", value: { code: 14 } });
    gate.resolve();
    expect(await session.last(renewing)).toMatchObject({ case: "renew" });
    expect(await endOf(session)).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
    await drained;
  });
});
