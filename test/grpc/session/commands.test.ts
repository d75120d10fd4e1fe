// The table of commands: each has its method and its answer field, and commands that keep or give back leases come
// first.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { WhenBusy } from "#proto/rowlock/v1/lock_pb.js";
import { SessionCommandSchema, SessionResultSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { COMMANDS, inOrder, waits } from "../../../server/grpc/session/commands.ts";

type Asked = NonNullable<MessageInitShape<typeof SessionCommandSchema>["command"]>;
const command = (asked: Asked | undefined, call = 1n) =>
  create(SessionCommandSchema, { call, ...(asked && { command: asked }) });

test("each command that can be sent has a method to run and its own field for the answer", () => {
  const sent = SessionCommandSchema.fields
    .filter(({ oneof, localName }) => oneof && localName !== "cancel")
    .map(({ localName }) => localName);
  expect(Object.keys(COMMANDS).sort()).toEqual(sent.sort());
  for (const [name, { run, method, field, output }] of Object.entries(COMMANDS)) {
    expect(run).toBeTypeOf("function");
    expect(method.toLowerCase()).toBe(name.toLowerCase());
    const answer = SessionResultSchema.fields.find(({ number }) => number === field);
    expect([answer?.localName, answer?.message]).toEqual([name, output]);
  }
});

test("of one message, cancels come first, then what keeps or gives back leases, and who only looks comes last", () => {
  const asked = [
    "watchLocks",
    "listLimits",
    "listLocks",
    "getLock",
    "waitInQueue",
    "capture",
    "acquire",
    "deleteLock",
    "updateLock",
    "setLimit",
    "forceRelease",
    "renewLeases",
    "renew",
    "release",
  ] as const;
  const commands = asked.map((name) => command({ case: name, value: {} } as Asked));
  commands.push(command({ case: "cancel", value: 7n }));
  const order = inOrder(commands).map((each) => each.command.case);
  expect(order).toEqual(["cancel", ...asked.toReversed()]);
  // The message itself is unchanged.
  expect(commands[0]?.command.case).toBe("watchLocks");
});

test("commands of one kind keep their order", () => {
  const commands = Array.from({ length: 20 }, (_, index) =>
    command(index % 2 ? { case: "renew", value: {} } : { case: "release", value: {} }, BigInt(index)),
  );
  const calls = inOrder(commands).map(({ call }) => Number(call));
  expect(calls.slice(0, 10)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  expect(calls.slice(10)).toEqual([1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
});

test.each<[Asked | undefined, boolean]>([
  [{ case: "waitInQueue", value: {} }, true],
  [{ case: "watchLocks", value: {} }, true],
  [{ case: "capture", value: { maxWait: { seconds: 1n } } }, true],
  [{ case: "capture", value: {} }, false],
  [{ case: "acquire", value: { whenBusy: WhenBusy.WAIT } }, true],
  [{ case: "acquire", value: { whenBusy: WhenBusy.ENQUEUE } }, false],
  [{ case: "acquire", value: {} }, false],
  [{ case: "renew", value: {} }, false],
  [{ case: "listLocks", value: {} }, false],
  [undefined, false],
])("%o counts as a wait: %s", (asked, expected) => {
  expect(waits(command(asked))).toBe(expected);
});
