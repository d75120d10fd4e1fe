// Between a whole engine and its database a proxy forwards COMMIT and drops the answer: whoever repeats, the engine by
// itself or the client with its request id, there is one lease.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../server/engine/faults.ts";
import { reportLeftOut, testServers } from "../support/database.ts";
import { type DroppingProxy, startDroppingProxy } from "../support/dropping-proxy.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";

const servers = testServers();

reportLeftOut(servers);

describe.each(servers)("an answer to COMMIT that is lost, on $label", (database) => {
  let proxy: DroppingProxy;
  let replicas: Replicas;
  let behind: Replica;
  let beside: Replica;

  beforeAll(async () => {
    const { hostname, port } = new URL(database.server.url);
    proxy = await startDroppingProxy(hostname, Number(port));
    const fresh = async () => {
      const own = await database.fresh();
      const throughProxy = Object.assign(new URL(own.url), {
        hostname: "127.0.0.1",
        port: String(proxy.port),
      });
      return { ...own, nodes: [throughProxy.href, own.url] };
    };
    replicas = await startReplicas({ fresh }, 2);
    [behind, beside] = replicas.all as [Replica, Replica];
  });
  afterAll(async () => {
    await replicas?.stop();
    await proxy?.close();
  });

  const lockOf = async (name: string) => (await beside.engine.view(name))?.lock;

  test("the engine repeats an Acquire, and there is one lease", async () => {
    await behind.engine.setLimit("repeated", 2, undefined, "");
    const dropped = proxy.dropAnswerTo("COMMIT");
    const lease = claimOf(await behind.engine.acquire(ask("repeated"), null), "held");
    await dropped;
    expect(lease.fencingToken).toBe(1n);
    expect(await lockOf("repeated")).toMatchObject({ holders: 1, nextTicket: 2n, lastToken: 1n });
  });

  test("a client repeats it with the same request id at another server, and there is one lease", async () => {
    await behind.engine.setLimit("asked again", 2, undefined, "");
    const wanted = ask("asked again", { requestId: "asked again" });
    let over = false;
    // No answer to this engine comes through until it has given up.
    const dropping = (async () => {
      while (!over)
        await Promise.race([proxy.dropAnswerTo("COMMIT"), new Promise((resolve) => setTimeout(resolve, 5))]);
    })();
    const failed = await behind.engine.acquire(wanted, null).catch((error: unknown) => error);
    over = true;
    await dropping;
    expect(failed).toBeInstanceOf(Fault);
    const lease = claimOf(await beside.engine.acquire(wanted, null), "held");
    expect(lease.fencingToken).toBe(1n);
    expect(await lockOf("asked again")).toMatchObject({ holders: 1, nextTicket: 2n, lastToken: 1n });
  });

  test("a release is this call's, and the next waiter learns of its grant", async () => {
    const lease = claimOf(await behind.engine.acquire(ask("handed on"), null), "held");
    const waiter = follower();
    claimOf(await behind.engine.acquire(ask("handed on"), waiter), "waiting");
    const dropped = proxy.dropAnswerTo("COMMIT");
    expect((await behind.engine.release(lease)).outcome).toEqual({ kind: "released", byThisCall: true });
    await dropped;
    expect((await waiter.toldClaim).claim).toMatchObject({ state: "held", fencingToken: 2n });
  });
});
