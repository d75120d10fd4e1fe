// Two servers over one database: a claim belongs to neither. Not for SQLite, whose file allows only one server.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase, freshSqlite, mysqlFamily } from "../support/database.ts";
import type { TestServer } from "../support/harness.ts";
import { startServer, until } from "../support/harness.ts";
import { leaseIn } from "../support/test-calls.ts";

const acquire = (request: object) => ({ target: { case: "request" as const, value: request } });
const comeBack = (ticketId: string) => ({ target: { case: "ticketId" as const, value: ticketId } });

describe.each(mysqlFamily().map((found) => ({ found, label: `${found.flavour} ${found.version}` })))(
  "on $label",
  ({ found }) => {
    let near: TestServer;
    let far: TestServer;
    let drop: () => Promise<void>;

    beforeAll(async () => {
      const database = await freshDatabase(found);
      drop = database.drop;
      near = await startServer({ url: database.url });
      far = await startServer({ url: database.url });
    });

    afterAll(async () => {
      await near.stop();
      await far.stop();
      await drop();
    });

    test("a lease from one is renewed and released at the other", async () => {
      const { leaseId } = await near.client.lease({ name: "shared" });
      expect((await far.client.call("renew", { leaseId })).lease).toMatchObject({
        leaseId,
        fencingToken: 1n,
      });
      expect(await far.client.call("release", { leaseId })).toMatchObject({ released: true });
      expect((await near.client.lease({ name: "shared" })).fencingToken).toBe(2n);
    });

    test("the same request id gets the same lease at both", async () => {
      const request = { name: "retry", requestId: "retry-1" };
      const [one, other] = [await near.client.lease(request), await far.client.lease(request)];
      expect(other.leaseId).toBe(one.leaseId);
    });

    test("a release at one grants to a stream and to a blocked call at the other", async () => {
      const first = await near.client.lease({ name: "hand-over" });
      const stream = far.client.wait(acquire({ name: "hand-over" }));
      await stream.position();
      const blocked = far.client.call("acquire", {
        name: "hand-over",
        whenBusy: { case: "wait", value: {} },
      });
      await until(() => far.engine.waiterCount === 2);
      await near.client.call("release", { leaseId: first.leaseId });
      const second = await stream.granted();
      expect(second.fencingToken).toBe(2n);
      await near.client.call("release", { leaseId: second.leaseId });
      expect(leaseIn(await blocked).fencingToken).toBe(3n);
    });

    test("the other keeps a place from the first when that one stops", async () => {
      const held = await far.client.lease({ name: "moves" });
      const stopping = await startServer({ url: near.url });
      const lost = stopping.client.wait(acquire({ name: "moves" }));
      const { ticketId } = await lost.position();
      await far.client.ticket({ name: "moves" });
      const failure = lost.failure();
      await stopping.stop();
      expect(await failure).toMatchObject({ code: "UNAVAILABLE", reason: "SHUTTING_DOWN" });
      const found = far.client.wait(comeBack(ticketId));
      expect(await found.position()).toMatchObject({ ahead: 0, queueLength: 2 });
      await far.client.call("release", { leaseId: held.leaseId });
      expect((await found.granted()).leaseId).toBe(ticketId);
    });

    test("nothing has failed in the background", () => {
      expect([...near.loopFailures, ...far.loopFailures]).toEqual([]);
      expect([...near.logLines, ...far.logLines]).toEqual([]);
    });
  },
);

test("on SQLite a second server is refused, and the first one goes on", async () => {
  const file = await freshSqlite();
  const first = await startServer({ url: file.url });
  try {
    await expect(startServer({ url: file.url })).rejects.toMatchObject({ name: "StoreError" });
    expect((await first.client.lease({ name: "still-here" })).fencingToken).toBe(1n);
  } finally {
    await first.stop();
    await file.drop();
  }
});
