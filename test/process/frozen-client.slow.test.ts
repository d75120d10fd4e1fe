// A client freezes before its grant, as when its machine sleeps: the connection stays open, the server writes the
// grant to it, and nothing tells the server that nobody reads. Waiters behind it wait for a grace period, not for its
// TTL.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { Event } from "../../server/core/command.ts";
import { startServer } from "../support/harness.ts";
import { queued } from "../support/test-calls.ts";

/** Far above the time from the freeze to the grant, even on a busy machine. */
const GRACE_US = 3_000_000;

const ways = ["call", "session"];

test.each(ways)(
  "a client that freezes before its grant costs the queue a grace period: by a %s",
  async (via) => {
    const server = await startServer({ rules: { graceUs: GRACE_US, attachedForUs: 2 * GRACE_US } });
    const { client } = server;
    const held = await client.lease({ name: "lock", terms: { owner: "holder" } });
    const script = join(import.meta.dirname, "waiting-client.ts");
    const frozen = spawn(process.execPath, [script, server.address, "lock", "3600", via], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [word] = await once(frozen.stdout, "data");
      expect(String(word).trim()).toBe("position");
      frozen.kill("SIGSTOP");
      const behind = client.wait(queued({ name: "lock", terms: { owner: "behind" } }));
      const happened = async (kind: "enqueued" | "granted" | "ended", owner: string) => {
        const event = await server.event((one) => one.kind === kind && one.claim.owner === owner);
        return (event as Extract<Event, { claim: Claim }>).claim;
      };
      await happened("enqueued", "behind");
      await client.call("release", { leaseId: held.leaseId });
      const next = await happened("granted", "behind");
      expect(await happened("ended", "waiting-client")).toMatchObject({
        endReason: "lapsed",
        provisional: true,
      });
      const frozenSinceUs = (await happened("granted", "waiting-client")).grantedAtUs as number;
      expect((next.grantedAtUs as number) - frozenSinceUs).toBeGreaterThanOrEqual(GRACE_US);
      behind.failure().catch(() => {});
      behind.cancel();
    } finally {
      frozen.kill("SIGKILL");
      await once(frozen, "exit");
      await server.stop();
    }
  },
);
