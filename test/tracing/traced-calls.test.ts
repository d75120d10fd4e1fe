// What the trace of a call shows: the call, its wait in the queue, its transactions and their statements.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type FreshDatabase, mysqlFamily, reportLeftOut, testDatabases } from "../support/database.ts";
import { freshDatabase } from "../support/fresh-database.ts";
import { clientOfTest, replacing, serverOfTest, startServer, type TestServer } from "../support/harness.ts";
import { RecordedSpans } from "../support/recorded-spans.ts";
import { acquire, sessionOfTest, wait } from "../support/session-client.ts";
import { newTrace } from "../support/span-tree.ts";
import { leaseIn, TestCalls } from "../support/test-calls.ts";

const ACQUIRE = "rowlock.v1.LockService/Acquire";
const RELEASE = "rowlock.v1.LockService/Release";
const SYSTEMS = { sqlite: "sqlite", mariadb: "mariadb", mysql: "mysql" };

/** Each call reads the time of day once, in whole milliseconds: so far may the times of two calls differ. */
const CLOCK_NS = 1_000_000n;

/** A client all of whose calls belong to a trace of its own. */
function tracedClient({ address }: TestServer, headers: Readonly<Record<string, string>> = {}) {
  const trace = newTrace();
  const headersOfAll = { traceparent: trace.traceparent, ...headers };
  return { ...trace, client: clientOfTest(new TestCalls(address, { headers: headersOfAll })) };
}

describe.each(testDatabases())("a traced call on $label", ({ kind, fresh }) => {
  let database: FreshDatabase;
  let server: TestServer;
  const spans = new RecordedSpans();

  beforeAll(async () => {
    database = await fresh();
    server = await startServer({ url: database.url, tracer: spans.tracer });
  });
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  test("is a part of its caller's trace, and has its transaction, which has its statements", async () => {
    const { client, traceId, parentId } = tracedClient(server, { tracestate: "shop=7" });
    await client.lease({ name: "traced" });
    const trace = await spans.of(traceId, ACQUIRE);
    const call = trace.one(ACQUIRE);
    expect(call).toMatchObject({ parentId, tracestate: "shop=7", error: undefined, links: [] });
    expect(call.attributes).toEqual({
      "rpc.system.name": "grpc",
      "rpc.method": ACQUIRE,
      "rpc.response.status_code": "OK",
      "rowlock.lock": "traced",
      "rowlock.outcome": "held",
    });
    expect(trace.parts(call).map(({ name }) => name)).toEqual(["transaction"]);
    const transaction = trace.one("transaction");
    expect(transaction.attributes).toEqual({
      "rowlock.commands": 1,
      "rowlock.locks": 1,
      "rowlock.retries": 0,
    });
    const statements = trace.parts(transaction);
    expect(statements.length).toBeGreaterThan(0);
    for (const { name, attributes, startNs, endNs } of statements) {
      expect(name).toBe("statement");
      expect(attributes).toEqual({
        "db.system.name": SYSTEMS[kind],
        "db.operation.name": expect.stringMatching(/^[a-z_]+$/),
      });
      expect(startNs >= transaction.startNs && endNs <= transaction.endNs).toBe(true);
    }
    const names = statements.map(({ attributes }) => attributes["db.operation.name"]);
    expect(names.at(-1)).toMatch(/commit$/);
  });

  test("that waits has its wait, until the grant by a release, to which it is linked", async () => {
    const holder = tracedClient(server);
    const waiter = tracedClient(server);
    const lease = await holder.client.lease({ name: "waited for" });
    const granted = waiter.client.call("acquire", {
      name: "waited for",
      whenBusy: { case: "wait", value: {} },
    });
    await server.event((event) => event.kind === "enqueued");
    await holder.client.call("release", { leaseId: lease.leaseId });
    leaseIn(await granted);
    const released = (await spans.of(holder.traceId, RELEASE)).one(RELEASE);
    const trace = await spans.of(waiter.traceId, ACQUIRE, "queue");
    const call = trace.one(ACQUIRE);
    expect(call.attributes).toMatchObject({ "rowlock.lock": "waited for", "rowlock.outcome": "held" });
    expect(trace.parts(call).map(({ name }) => name)).toEqual(["transaction", "queue"]);
    const queue = trace.one("queue");
    expect(queue).toMatchObject({ links: [released.spanId], error: undefined });
    expect(queue.attributes).toEqual({ "rowlock.lock": "waited for", "rowlock.outcome": "held" });
    expect(queue.endNs).toBeLessThanOrEqual(call.endNs);
    expect(queue.startNs).toBeLessThan(released.startNs + CLOCK_NS);
    expect(queue.endNs).toBeGreaterThan(released.startNs - CLOCK_NS);
  });

  test("of a session is that of its command, whatever the other commands are", async () => {
    const one = newTrace();
    const other = newTrace();
    const session = sessionOfTest(server.client);
    session.send({
      commands: [
        { call: 1n, traceparent: one.traceparent, command: acquire({ name: "of one" }) },
        { call: 2n, traceparent: other.traceparent, command: acquire({ name: "of the other" }) },
        { call: 3n, traceparent: "00-malformed", command: acquire({ name: "of nobody" }) },
        { call: 4n, command: acquire({ name: "of a session without a trace" }) },
      ],
    });
    for (const call of [1n, 2n, 3n, 4n]) expect((await session.last(call)).case).toBe("acquire");
    for (const [{ traceId, parentId }, lock] of [
      [one, "of one"],
      [other, "of the other"],
    ] as const) {
      const call = (await spans.of(traceId, ACQUIRE)).one(ACQUIRE);
      expect(call).toMatchObject({ parentId, attributes: { "rowlock.lock": lock } });
    }
  });

  test("shares a transaction with others: the first has the statements, the other ones a link to them", async () => {
    const traces = [newTrace(), newTrace()];
    const session = sessionOfTest(server.client);
    // Both names are known, so that both commands are submitted in one turn.
    for (const name of ["shared a", "shared b"]) {
      const { leaseId } = await server.client.lease({ name });
      await server.client.call("release", { leaseId });
    }
    const commands = traces.map(({ traceparent }, index) => ({
      call: BigInt(index + 1),
      traceparent,
      command: acquire({ name: `shared ${"ab"[index]}` }),
    }));
    session.send({ commands });
    for (const { call } of commands) expect((await session.last(call)).case).toBe("acquire");
    const [first, second] = await Promise.all(
      traces.map(({ traceId }) => spans.of(traceId, ACQUIRE, "transaction")),
    );
    const full = first?.one("transaction");
    const lean = second?.one("transaction");
    expect(full).toMatchObject({ attributes: { "rowlock.commands": 2, "rowlock.locks": 2 } });
    expect(full?.links).toEqual([second?.one(ACQUIRE).spanId]);
    expect(lean?.links).toEqual([full?.spanId]);
    expect(second?.all.filter(({ name }) => name === "statement")).toEqual([]);
  });

  test("shows no id that proves a right, and no text of a statement", async () => {
    const { client, traceId } = tracedClient(server);
    const requestId = "hush-hush";
    const { leaseId } = await client.lease({ name: "secret", requestId });
    await client.call("renew", { leaseId });
    await client.call("release", { leaseId });
    const trace = await spans.of(traceId, ACQUIRE, "rowlock.v1.LockService/Renew", RELEASE);
    const secret = leaseId.split(".")[2] as string;
    const shown = JSON.stringify(trace.all, (_, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    for (const hidden of [secret, requestId, "SELECT", "UPDATE"]) expect(shown).not.toContain(hidden);
    expect(shown).toContain("secret");
  });
});

describe("a call", () => {
  async function scene(env: Record<string, string> = {}, options: Parameters<typeof startServer>[0] = {}) {
    const spans = new RecordedSpans(env);
    return { spans, server: await serverOfTest({ tracer: spans.tracer, ...options }) };
  }

  test("that asks for something impossible has its reason, and is no failure of the server", async () => {
    const { spans, server } = await scene();
    const { client, traceId } = tracedClient(server);
    await expect(client.call("renew", { leaseId: "1.1.AbCdEfGhIjKlMnOpQr_-12" })).rejects.toThrow();
    const call = (await spans.of(traceId, "rowlock.v1.LockService/Renew")).one(
      "rowlock.v1.LockService/Renew",
    );
    expect(call.error).toBeUndefined();
    expect(call.attributes).toMatchObject({
      "rpc.response.status_code": "NOT_FOUND",
      "rowlock.reason": "UNKNOWN_CLAIM",
    });
  });

  test("that meets a bug has an error, and the line of its incident has its ids", async () => {
    const wrapEngine = (engine: Parameters<typeof replacing>[0]) =>
      replacing(engine, { view: () => Promise.reject(new Error("a bug, told to nobody")) });
    const { spans, server } = await scene({}, { wrapEngine });
    const { client, traceId } = tracedClient(server);
    await expect(client.call("getLock", { name: "x" })).rejects.toThrow();
    const name = "rowlock.v1.LockService/GetLock";
    const call = (await spans.of(traceId, name)).one(name);
    expect(call).toMatchObject({ error: "INTERNAL", attributes: { "error.type": "INTERNAL" } });
    expect(server.logLines.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ incident: expect.any(String), trace_id: traceId, span_id: call.spanId }),
    ]);
  });

  test("that its caller does not sample has no span, and neither has one that the server does not sample", async () => {
    const { spans, server } = await scene({
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0",
    });
    const left = newTrace(false);
    const unsampled = clientOfTest(
      new TestCalls(server.address, { headers: { traceparent: left.traceparent } }),
    );
    await unsampled.lease({ name: "left out by its caller" });
    await server.client.lease({ name: "left out by the server" });
    const { client, traceId } = tracedClient(server);
    await client.lease({ name: "sampled by its caller" });
    await spans.of(traceId, ACQUIRE);
    const { all } = await spans.stop();
    expect(new Set(all.map((span) => span.traceId))).toEqual(new Set([traceId]));
  });

  test("whose server stops ends its wait", async () => {
    const { spans, server } = await scene();
    const { client, traceId } = tracedClient(server);
    await server.client.lease({ name: "held" });
    await client.ticket({ name: "held" });
    await spans.of(traceId, ACQUIRE);
    await server.stop();
    const queue = (await spans.stop()).one("queue");
    expect(queue).toMatchObject({ traceId, attributes: { "rowlock.outcome": "unknown" } });
  });
});

reportLeftOut(mysqlFamily());
test.each(mysqlFamily())(
  "a wait ends when this server learns of a grant by another one on $flavour",
  async (found) => {
    const database = await freshDatabase(found);
    onTestFinished(() => database.drop());
    const spans = new RecordedSpans();
    const there = await serverOfTest({ url: database.url });
    const here = await serverOfTest({ url: database.url, tracer: spans.tracer });
    const { leaseId } = await there.client.lease({ name: "x" });
    const { traceId, traceparent } = newTrace();
    const session = sessionOfTest(here.client);
    session.send({ commands: [{ call: 1n, traceparent, command: wait({ name: "x" }) }] });
    await here.event((event) => event.kind === "enqueued");
    await there.client.call("release", { leaseId });
    await session.last(1n);
    const trace = await spans.of(traceId, "rowlock.v1.LockService/WaitInQueue", "queue");
    expect(trace.one("queue")).toMatchObject({ links: [], attributes: { "rowlock.outcome": "held" } });
  },
);
