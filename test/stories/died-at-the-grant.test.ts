// A client that goes away at the moment of its grant: too late to leave the queue, too early to receive the grant.
// Its lease must not keep others waiting for its whole TTL.

import { describe, expect, test } from "vitest";
import type { TestServer } from "../support/harness.ts";
import { lockIdOf, replacing, startServer, until } from "../support/harness.ts";
import { lasting } from "../support/lasting.ts";
import { queued } from "../support/test-calls.ts";

const GRACE_S = 10;

const asked = (name: string) => ({ name, requestId: `${name}-1`, terms: lasting() });

/** Each starts to wait and returns a function that makes the client go away. */
const clients: Record<string, (server: TestServer, name: string) => () => void> = {
  WaitInQueue(server, name) {
    const stream = server.client.wait(queued(asked(name)));
    stream.failure().catch(() => {});
    return () => stream.cancel();
  },
  Acquire(server, name) {
    const controller = new AbortController();
    const request = { ...asked(name), whenBusy: { case: "wait", value: {} } } as const;
    server.client.call("acquire", request, { signal: controller.signal }).catch(() => {});
    return () => controller.abort();
  },
};

describe.each(Object.keys(clients))("%s that dies at its grant", (method) => {
  test("holds the lock for the grace period, in which its client can fetch the lease", async () => {
    const taken = Promise.withResolvers<void>();
    const server = await startServer({
      wrapEngine: (engine) =>
        replacing(engine, {
          // The server reads the answer late, so the grant and the end of the call have both happened by then.
          async acquire(ask, waiter) {
            const answer = await engine.acquire(ask, waiter);
            if (waiter) await taken.promise;
            return answer;
          },
        }),
    });
    try {
      const held = await server.client.lease({ name: "lock" });
      const goAway = clients[method]?.(server, "lock");
      await server.event(({ kind }) => kind === "enqueued");
      await server.client.call("release", { leaseId: held.leaseId });
      goAway?.();
      // The connection keeps messages in order: once the server answers this call, the cancellation has arrived.
      await server.client.call("getLock", { name: "lock" });
      taken.resolve();
      await until(() => server.calls.some((call) => call.method === method && call.code === "CANCELLED"));

      const { lock } = await server.client.call("getLock", { name: "lock" });
      const [holder] = lock?.holders ?? [];
      const forSeconds = Number(holder?.expiresAt?.seconds) - Number(holder?.grantedAt?.seconds);
      expect(forSeconds).toBeLessThanOrEqual(GRACE_S + 1);

      const lease = await server.client.lease(asked("lock"));
      expect(lockIdOf(lease.leaseId)).toBe(lockIdOf(held.leaseId));
      expect(lease.fencingToken).toBe(2n);
      expect(Number(lease.ttl?.seconds)).toBeGreaterThan(3_500);
      expect(server.logLines).toEqual([]);
    } finally {
      await server.stop();
    }
  });
});
