// The answer of a COMMIT is lost, and the claim that it made has moved on before its place is read.

import { expect, test } from "vitest";
import { type Store, StoreError } from "../../../server/storage/store.ts";
import { startServer } from "../../support/harness.ts";

test("an Acquire without a request id whose COMMIT has no answer takes one place", async () => {
  let loses = false;
  let queueRead: (() => Promise<void>) | null = null;
  const wrapStore = (store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name === "queue")
          return async (...asked: Parameters<Store["queue"]>) => {
            const before = queueRead;
            queueRead = null;
            await before?.();
            return await target.queue(...asked);
          };
        if (name !== "transact") return typeof value === "function" ? value.bind(target) : value;
        return async (...asked: Parameters<Store["transact"]>) => {
          const isLost = loses && asked[0].locks.length > 0;
          if (isLost) loses = false;
          await target.transact(...asked);
          if (isLost) throw new StoreError("unknown_outcome", "connection_lost", "A fault made by a test.");
        };
      },
    });
  const server = await startServer({ wrapStore });
  const { client } = server;
  const first = await client.lease({ name: "a" });
  loses = true;
  // The holder releases between the commit and the read of the place.
  queueRead = async () => void (await client.call("release", { leaseId: first.leaseId }));
  await client.call("acquire", { name: "a", whenBusy: { case: "enqueue", value: {} } });
  const { lock } = await client.call("getLock", { name: "a" });
  const claims = [...(lock?.holders ?? []), ...(lock?.waiters ?? [])];
  await server.stop();
  expect(claims.map(({ ticketNumber }) => ticketNumber)).toEqual([2n]);
});
