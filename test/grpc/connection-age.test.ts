// Connections that reach an age or are idle: their clients continue over new ones, and lose nothing.

import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { expect, onTestFinished, test } from "vitest";
import type { ConnectionEvent } from "../../clients/typescript/src/index.ts";
import { connect } from "../../clients/typescript/src/index.ts";
import {
  clientOfTest,
  replacing,
  serverOfTest as start,
  type TestServer,
  until,
} from "../support/harness.ts";
import { sessionOfTest, wait } from "../support/session-client.ts";
import { comeBack, queued, TestCalls } from "../support/test-calls.ts";

const AGE_MS = 300;
const TOO_OLD = { code: "UNAVAILABLE", reason: "SHUTTING_DOWN", retryAfterMs: 100 };

/** A client with sessions; `connected` counts its connections. */
function client({ address }: TestServer) {
  const events: ConnectionEvent[] = [];
  const rowlock = connect({
    addresses: address,
    owner: "tester",
    onConnection: (event) => void events.push(event),
  });
  onTestFinished(() => rowlock.close());
  return { rowlock, connected: () => events.filter(({ kind }) => kind === "connected").length };
}

test("leases and places outlive many connections", async () => {
  const server = await start({ grpc: { connectionAgeMaxMs: AGE_MS } });
  const [holder, waiter, later] = [client(server), client(server), client(server)];
  const held = await holder.rowlock.lock("held");
  const first = waiter.rowlock.lock("held");
  const enqueued = (count: number) => () =>
    server.events.filter(({ kind }) => kind === "enqueued").length === count;
  await until(enqueued(1));
  const second = later.rowlock.lock("held");
  await until(enqueued(2));
  await until(() => [holder, waiter, later].every(({ connected }) => connected() > 3));

  expect(held.signal.aborted).toBe(false);
  await held.release();
  const got = await first;
  expect(got.token).toBeGreaterThan(held.token);
  await got.release();
  await (await second).release();
  // Nobody lost a lease or a place on the way.
  const ended = server.events.flatMap((event) => (event.kind === "ended" ? [event.claim.endReason] : []));
  expect(ended).toEqual(["released", "released", "released"]);
  expect(enqueued(2)()).toBe(true);
});

test("a session gets its going_away first, its waits end, and it ends as when a server stops", async () => {
  const server = await start({ grpc: { connectionAgeMaxMs: AGE_MS } });
  await server.client.lease({ name: "held" });
  const session = sessionOfTest(clientOfTest(new TestCalls(server.address)));
  const failed = session.ended.catch((error: unknown) => error);
  const call = session.askOne(wait({ name: "held" }));
  expect(await failed).toMatchObject(TOO_OLD);
  expect(session.responses.some(({ goingAway }) => goingAway)).toBe(true);
  expect(session.resultsOf(call).at(-1)).toMatchObject({ case: "error", value: { code: 14 } });
});

test("waits outside sessions end, and the next call goes over a new connection", async () => {
  const server = await start({ grpc: { connectionAgeMaxMs: AGE_MS } });
  await server.client.lease({ name: "held" });
  const stream = server.client.wait(queued({ name: "held" }));
  const { ticketId } = await stream.position();
  const blocked = expect(
    server.client.call("acquire", { name: "held", whenBusy: { case: "wait", value: {} } }),
  ).rejects.toMatchObject(TOO_OLD);
  expect(await stream.failure()).toMatchObject(TOO_OLD);
  await blocked;
  const again = server.client.wait(comeBack(ticketId));
  expect(await again.position()).toMatchObject({ ticketId });
});

test("a call under way is answered, however old its connection is by then", async () => {
  const mayAnswer = Promise.withResolvers<void>();
  const server = await start({
    grpc: { connectionAgeMaxMs: AGE_MS },
    wrapEngine: (engine) =>
      replacing(engine, {
        async acquire(...args) {
          await mayAnswer.promise;
          return await engine.acquire(...args);
        },
      }),
  });
  const call = server.client.call("acquire", { name: "slow" });
  // Over the same connection.
  const session = sessionOfTest(server.client);
  await expect(session.ended).rejects.toMatchObject(TOO_OLD);
  mayAnswer.resolve();
  expect((await call).outcome.case).toBe("lease");
});

test("a call that does not finish in time is cut off", async () => {
  const server = await start({
    grpc: { connectionAgeMaxMs: AGE_MS, finishMs: 50 },
    wrapEngine: (engine) => replacing(engine, { acquire: () => new Promise(() => {}) }),
  });
  await expect(server.client.call("acquire", { name: "stuck" })).rejects.toMatchObject({
    code: "UNAVAILABLE",
  });
});

test("a connection without calls is closed when it has been idle, and one with a session is not", async () => {
  const server = await start({ grpc: { connectionIdleMaxMs: AGE_MS } });
  const session = sessionOfTest(clientOfTest(new TestCalls(server.address)));
  const idle = connectHttp2(`http://${server.address}`);
  await once(idle, "close");
  const another = connectHttp2(`http://${server.address}`);
  await once(another, "close");
  expect(server.openSessions()).toBe(1);
  expect(session.responses.every(({ goingAway }) => !goingAway)).toBe(true);
});
