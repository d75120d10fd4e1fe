// The bare calls as users see them: what ends them, and how they fail. The server's tests use these calls and so test
// the methods themselves.

import { expect, test } from "vitest";
import { BareCalls, RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { until } from "../../support/harness.ts";
import { queued } from "../../support/test-calls.ts";
import { afterwards, start } from "./stage.ts";

const waitFor = (name: string) => queued({ name });

async function stage() {
  const server = await start();
  const calls = new BareCalls(server.address);
  afterwards(() => calls.close());
  return { server, calls };
}

test("a stream that the client leaves early ends at the server", async () => {
  const { server, calls } = await stage();
  await calls.call("acquire", { name: "left" });
  for await (const { update } of calls.stream("waitInQueue", waitFor("left"))) {
    expect(update.case).toBe("position");
    expect(server.openStreams()).toBe(1);
    break;
  }
  await until(() => server.openStreams() === 0);
});

test("a call ends after its time, and at a signal", async () => {
  const { calls } = await stage();
  await calls.call("acquire", { name: "busy" });
  const asked = { name: "busy", whenBusy: { case: "wait" as const, value: {} } };
  await expect(calls.call("acquire", asked, { timeout: 50 })).rejects.toMatchObject({
    code: "DEADLINE_EXCEEDED",
  });
  const giveUp = new AbortController();
  const { signal } = giveUp;
  const given = calls.call("acquire", asked, { signal });
  await new Promise((resolve) => setTimeout(resolve, 20));
  giveUp.abort();
  await expect(given).rejects.toMatchObject({ code: "CANCELLED" });
  await expect(calls.call("acquire", asked, { signal })).rejects.toMatchObject({ code: "CANCELLED" });
  expect(() => calls.stream("waitInQueue", waitFor("busy"), { signal })).toThrow(RowlockError);
});

test("a stream ends at a signal, even if nobody reads it", async () => {
  const { server, calls } = await stage();
  await calls.call("acquire", { name: "busy" });
  const giveUp = new AbortController();
  calls.stream("waitInQueue", waitFor("busy"), { signal: giveUp.signal });
  await until(() => server.openStreams() === 1);
  giveUp.abort();
  const waits = () => server.calls.filter(({ method }) => method === "WaitInQueue");
  await until(() => server.openStreams() === 0 && waits().length > 0);
  expect(waits()).toMatchObject([{ code: "CANCELLED" }]);
});

test("a stream that has failed before anybody reads it fails when somebody does", async () => {
  const { calls } = await stage();
  const stream = calls.stream("waitInQueue", waitFor(""));
  // Answered after the stream, over the same connection.
  await calls.call("getLock", { name: "x" });
  await new Promise(setImmediate);
  const read = stream[Symbol.asyncIterator]().next();
  await expect(read).rejects.toMatchObject({ reason: "BAD_REQUEST" });
});

test("errors are those of the client, and what no message can hold is one", async () => {
  const { calls } = await stage();
  const failed = await calls.call("getLock", { name: "" }).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(RowlockError);
  expect(failed).toMatchObject({ reason: "BAD_REQUEST", violations: [{ field: "name" }] });
  await expect(calls.call("acquire", { name: "x", permits: -1 })).rejects.toMatchObject({
    reason: "BAD_REQUEST",
  });
});

test("a session is a stream of messages", async () => {
  const { calls } = await stage();
  const session = calls.session();
  session.send({ open: {}, commands: [{ call: 1n, command: { case: "acquire", value: { name: "a" } } }] });
  const seen: (string | undefined)[] = [];
  for await (const { opened, results } of session) {
    if (opened) seen.push("opened");
    for (const { result } of results) {
      seen.push(result.case);
      session.end();
    }
  }
  expect(seen).toEqual(["opened", "acquire"]);
});
