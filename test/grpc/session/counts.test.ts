// The cost of a session command in counts that do not depend on the machine: messages, and promises, each of which is
// an allocation and a turn of the microtask queue. A count above these bounds means that somebody added a step.

import { createHook } from "node:async_hooks";
import { afterAll, beforeAll, expect, test } from "vitest";
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
