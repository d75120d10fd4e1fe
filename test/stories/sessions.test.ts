// Sessions of a server that is held up itself: it hears nobody for longer than a session may be silent.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../support/harness.ts";
import { acquire, BareSession, renew } from "../support/session-client.ts";

const GRACE_MS = 1_000;

test("a server that was held up does not count that time as silence of its sessions", async () => {
  const server = await startServer({ rules: { graceUs: GRACE_MS * 1_000, attachedForUs: GRACE_MS * 1_250 } });
  onTestFinished(() => server.stop());
  const session = new BareSession(server.client);
  onTestFinished(() => session.cancel());
  session.keepAlive(GRACE_MS / 20);
  const [taking] = session.ask(acquire({ name: "held" })) as [bigint];
  const { value } = await session.last(taking);
  const leaseId = (value as { outcome: { value: { leaseId: string } } }).outcome.value.leaseId;
  // Holds the whole process up, and so the client, too: requests are sent again when it is over.
  for (let times = 0; times < 3; times++) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * GRACE_MS);
    // The server looks for silent sessions before it can read what has come.
    await sleep(1);
    const [renewing] = session.ask(renew(leaseId)) as [bigint];
    expect(await session.last(renewing)).toMatchObject({ case: "renew", value: { lease: { leaseId } } });
  }
  expect(server.openSessions()).toBe(1);
});
