// The table of verbs: each is a command of sessions with a field for its answer, commands that keep or give back leases
// come first, and each row knows the waits and the leases of its verb.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import { SessionCommandSchema, SessionResultSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { inOrder, ROWS, resultField, type VerbName } from "../../server/grpc/verbs.ts";

type Asked = NonNullable<MessageInitShape<typeof SessionCommandSchema>["command"]>;
const command = (asked: Asked | undefined, call = 1n) =>
  create(SessionCommandSchema, { call, ...(asked && { command: asked }) });

test("each command that can be sent has a row, a method to run and its own field for the answer", () => {
  const sent = SessionCommandSchema.fields
    .filter(({ oneof, localName }) => oneof && localName !== "cancel")
    .map(({ localName }) => localName);
  expect(Object.keys(ROWS).sort()).toEqual(sent.sort());
  for (const [name, verb] of Object.entries(ROWS)) {
    expect(verb.begin).toBeTypeOf("function");
    expect(verb.of.localName).toBe(name);
    expect(verb.of.name.toLowerCase()).toBe(name.toLowerCase());
    const answer = SessionResultSchema.fields.find(({ number }) => number === resultField(verb));
    expect([answer?.localName, answer?.message]).toEqual([name, verb.of.output]);
  }
});

test("in one message, cancels come first, then renewals and releases, and reads last", () => {
  const asked = (
    "watchLocks explainWait listChanges listClaims listLimits listLocks getLock waitInQueue capture acquire " +
    "deleteRecord updateRecord setLimit forceRelease renewLeases renew release"
  ).split(" ");
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
  expect(calls).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
});

test.each<[Asked, boolean]>([
  [{ case: "waitInQueue", value: {} }, true],
  [{ case: "watchLocks", value: {} }, true],
  [{ case: "capture", value: { maxWait: { seconds: 1n } } }, true],
  [{ case: "capture", value: {} }, false],
  [{ case: "acquire", value: { whenBusy: { case: "wait", value: {} } } }, true],
  [{ case: "acquire", value: { whenBusy: { case: "enqueue", value: {} } } }, false],
  [{ case: "acquire", value: {} }, false],
  [{ case: "renew", value: {} }, false],
  [{ case: "listLocks", value: {} }, false],
])("%o counts as a wait: %s", (asked, expected) => {
  const { command: sent } = command(asked);
  expect(ROWS[sent.case as VerbName]?.isWait(sent.value as never)).toBe(expected);
});

const lease = (leaseId = "a") => create(LeaseSchema, { leaseId });

describe("the leases of an answer", () => {
  test.each<[VerbName, string, object, string[]]>([
    ["renew", "", { lease: lease() }, ["a"]],
    ["acquire", "that is granted", { outcome: { case: "lease", value: lease() } }, ["a"]],
    ["acquire", "that is refused", { outcome: { case: "refusal", value: { message: "busy" } } }, []],
    ["acquire", "with a ticket", { outcome: { case: "ticket", value: { ticketId: "t" } } }, []],
    ["waitInQueue", "with a grant", { update: { case: "granted", value: lease() } }, ["a"]],
    ["waitInQueue", "with a position", { update: { case: "position", value: { ticketId: "t" } } }, []],
    ["capture", "", { leases: [lease("a"), lease("b")], isRepeated: false }, ["a", "b"]],
    [
      "renewLeases",
      "of which one failed",
      {
        leases: [
          { outcome: { case: "lease", value: lease("a") } },
          { outcome: { case: "error", value: { message: "lost" } } },
          { outcome: { case: "lease", value: lease("c") } },
        ],
      },
      ["a", "c"],
    ],
    ["release", "", { released: true }, []],
    ["listLocks", "in bytes", Buffer.from([1]), []],
  ])("of %s %s", (name, _how, answer, leaseIds) => {
    expect(ROWS[name]?.leases(answer as never).map(({ leaseId }) => leaseId)).toEqual(leaseIds);
  });
});
