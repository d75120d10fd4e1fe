// The cost of a session command in counts that do not depend on the machine: messages, and promises, each of which is
// an allocation and a turn of the microtask queue. A count above these bounds means that somebody added a step.

import { createHook } from "node:async_hooks";
import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SessionResponseSchema, SessionResultSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { Outbox } from "../../../server/grpc/session/outbox.ts";
import type { TestServer } from "../../support/harness.ts";
import { startServer } from "../../support/harness.ts";
import { acquire, BareSession, type Command, renew } from "../../support/session-client.ts";

const COMMANDS = 200;
/** 9.5, and room for less than one more: other work of the process was 0.6 of each on a busy machine. */
const PROMISES_PER_COMMAND_MAX = 10.5;
const ROUNDS_MAX = 100;

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

function acquires(prefix: string): Command[] {
  return Array.from({ length: COMMANDS }, (_, index) => acquire({ name: `${prefix}-${index}` }));
}

/** Resolves when all of these calls have results, without a promise for each on this side. */
function answered(session: BareSession, calls: readonly bigint[]): Promise<true> {
  const wanted = new Set(calls);
  return session.until((all) => {
    let results = 0;
    for (const response of all) for (const { call } of response.results) if (wanted.has(call)) results += 1;
    return results === wanted.size ? true : undefined;
  });
}

test("commands of one message are answered in few messages, with few promises each", async () => {
  const session = new BareSession(server.client);
  // From here on the names are known and the code is warm.
  await answered(session, session.ask(...acquires("counted")));
  const leases = session.responses.flatMap(({ results }) =>
    results.flatMap(({ result }) =>
      result.case === "acquire" && result.value.outcome.case === "lease" ? [result.value.outcome.value] : [],
    ),
  );
  const renewals = leases.map(({ leaseId }) => renew(leaseId));
  const rounds: { messages: number; promises: number }[] = [];
  const least = () => Math.min(...rounds.map(({ promises }) => promises));
  // A round also counts other work of this process, more on a slow machine: the lowest count is the commands' own cost.
  while (rounds.length < ROUNDS_MAX && !(least() / COMMANDS < PROMISES_PER_COMMAND_MAX)) {
    const before = session.responses.length;
    let promises = 0;
    const hook = createHook({
      init(_id, type) {
        if (type === "PROMISE") promises += 1;
      },
    }).enable();
    await answered(session, session.ask(...renewals));
    hook.disable();
    rounds.push({ messages: session.responses.length - before, promises });
  }
  expect(Math.min(...rounds.map(({ messages }) => messages))).toBeLessThanOrEqual(3);
  expect(least() / COMMANDS).toBeLessThan(PROMISES_PER_COMMAND_MAX);
  session.cancel();
});

test("a message has the number of requests heard when it was begun, and not later ones", async () => {
  const messages: Buffer[] = [];
  let taken = () => {};
  let heard = 1;
  const outbox = new Outbox({
    unreadMax: 1_000,
    heard: () => heard,
    write: (message, written) => {
      messages.push(message);
      taken = written;
    },
    onSent() {},
    onUnread: () => expect.unreachable(),
  });
  const say = () => outbox.addResult(1n, 6, Buffer.from([8, 1]));
  say();
  heard = 2;
  outbox.touch();
  say();
  await new Promise((resolve) => setImmediate(resolve));
  // While the first message is being sent, the next one is also begun.
  heard = 3;
  outbox.touch();
  heard = 4;
  say();
  taken();
  heard = 5;
  taken();
  outbox.touch();
  await new Promise((resolve) => setImmediate(resolve));
  const read = messages.map((message) => fromBinary(SessionResponseSchema, message));
  expect(read.map((response) => Number(response.heard))).toEqual([1, 3, 5]);
});

test("what one turn brings goes in one message, and later results in the next one", async () => {
  const messages: Buffer[] = [];
  const taken: (() => void)[] = [];
  const outbox = new Outbox({
    unreadMax: 1_000,
    heard: () => 7,
    write: (message, written) => {
      messages.push(message);
      taken.push(written);
    },
    onSent() {},
    onUnread: () => expect.unreachable(),
  });
  const told: number[] = [];
  for (let call = 1n; call <= 3n; call++)
    outbox.addResult(call, SessionResultSchema.field.release.number, Buffer.from([8, 1]), () =>
      told.push(Number(call)),
    );
  await new Promise((resolve) => setImmediate(resolve));
  for (let call = 4n; call <= 9n; call++)
    outbox.addResult(call, SessionResultSchema.field.release.number, Buffer.from([8, 1]));
  await new Promise((resolve) => setImmediate(resolve));
  expect(messages).toHaveLength(1);
  expect(told).toEqual([]);
  taken[0]?.();
  expect(told).toEqual([1, 2, 3]);
  const read = messages.map((message) => fromBinary(SessionResponseSchema, message));
  expect(read.map(({ results }) => results.map(({ call }) => Number(call)))).toEqual([
    [1, 2, 3],
    [4, 5, 6, 7, 8, 9],
  ]);
  expect(read[0]).toMatchObject({ heard: 7n, results: [{ result: { case: "release" } }, {}, {}] });
});
