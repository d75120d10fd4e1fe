// The probe takes the same path as every command and leaves nothing behind.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Outcome } from "../../../server/core/command.ts";
import { isOwnName } from "../../../server/core/own-names.ts";
import { Probe } from "../../../server/engine/background/probe.ts";
import { PROBE_TTL_US } from "../../../server/engine/engine-bounds.ts";
import type { AcquireInput } from "../../../server/engine/lock-engine.ts";
import { CLAIM } from "../../support/claims.ts";
import { turn } from "../../support/scripted-transactions.ts";

function scene(outcomes: readonly Outcome[]) {
  const asked: { input: AcquireInput; answer: PromiseWithResolvers<void> }[] = [];
  const released: bigint[] = [];
  const probe = new Probe({
    replica: 5n,
    async acquire(input) {
      const answer = Promise.withResolvers<void>();
      const outcome = outcomes[asked.length] as Outcome;
      asked.push({ input, answer });
      await answer.promise;
      return { outcome, nowUs: 0, lockId: 9n, lockName: input.name };
    },
    release: async (ref) => void released.push(ref.ticketNumber),
  });
  return { probe, asked, released };
}
const claim = (ticketNumber: bigint): Claim => ({ ...CLAIM, ticketNumber });

test("two requests at once, of which one waits behind the other, are made and both are given back", async () => {
  const { probe, asked, released } = scene([
    { kind: "held", claim: claim(1n) },
    { kind: "waiting", claim: claim(2n), place: null },
  ]);
  expect(probe.lockId).toBeNull();
  const running = probe.run();
  expect(asked).toHaveLength(2);
  for (const { input, answer } of asked) {
    expect(input).toMatchObject({ mode: "exclusive", mayWait: true, requestId: "" });
    // If the probe is cut off, these times end what it leaves behind.
    expect(input).toMatchObject({ ttlUs: PROBE_TTL_US, maxWaitUs: PROBE_TTL_US });
    expect(isOwnName(input.name)).toBe(true);
    answer.resolve();
  }
  await running;
  expect(released).toEqual([1n, 2n]);
  expect(probe.lockId).toBe(9n);
});

test("a request that left nothing behind is not given back, and one that failed fails the probe", async () => {
  const refused = { kind: "refused", reason: "failed_over", limit: {} } as Outcome;
  const { probe, asked, released } = scene([refused, { kind: "held", claim: claim(1n) }]);
  const failing = scene([refused, refused]);
  const running = probe.run();
  for (const { answer } of asked) answer.resolve();
  await running;
  expect(released).toEqual([1n]);
  const failed = expect(failing.probe.run()).rejects.toThrow("away");
  failing.asked[0]?.answer.resolve();
  failing.asked[1]?.answer.reject(new Error("away"));
  await failed;
  await turn();
  expect(failing.released).toEqual([]);
});
