// A proxy between a whole engine and its database forwards COMMIT and drops the answer. Whether the engine repeats by
// itself or the client repeats with its request id, there is one lease.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../server/engine/faults.ts";
import * as asks from "../support/asks.ts";
import { reportLeftOut, testServers } from "../support/database.ts";
import { type DroppingProxy, startDroppingProxy } from "../support/dropping-proxy.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";

const servers = testServers();
/**
 * The COMMIT of a decision, which follows its writes in one packet. A COMMIT alone ends something that was only read,
 * such as the look at all claims with which each engine starts.
 */
const COMMIT = ";\nCOMMIT";

reportLeftOut(servers);

describe.each(servers)("a lost answer to COMMIT, on $label", (database) => {
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

  test("is repeated by a client with the same request id at another server, and there is one lease", async () => {
    await behind.engine.ask(asks.setLimit("asked again", 2, undefined, ""));
    const wanted = ask("asked again", { requestId: "asked again" });
    let over = false;
    // Drops every answer to COMMIT until this engine has given up.
    const dropping = (async () => {
      while (!over)
        await Promise.race([proxy.dropAnswerTo(COMMIT), new Promise((resolve) => setTimeout(resolve, 5))]);
    })();
    const failed = await behind.engine.acquire(wanted, null).catch((error: unknown) => error);
    over = true;
    await dropping;
    expect(failed).toBeInstanceOf(Fault);
    const lease = claimOf(await beside.engine.acquire(wanted, null), "held");
    expect(lease.fencingToken).toBe(1n);
    expect(await lockOf("asked again")).toMatchObject({ holders: 1, nextTicket: 2n, lastToken: 1n });
  });

  test("only one of two compare-and-sets succeeds, if one was cut off just before its COMMIT arrived", async () => {
    const set = { name: "cut off", status: "same", expectedVersion: 0n };
    const kinds: string[] = [];
    const dropped = proxy.dropRequest(COMMIT, async () =>
      kinds.push((await beside.engine.ask(asks.updateRecord(set))).outcome.kind),
    );
    const inDoubt = { kind: "outcome_unknown", outcomeUnknown: true };
    await expect(behind.engine.ask(asks.updateRecord(set))).rejects.toMatchObject(inDoubt);
    await dropped;
    expect(kinds).toEqual(["record"]);
    expect((await lockOf("cut off"))?.record).toMatchObject({ version: 1n });
  });

  test("a release counts for this call, and the next waiter learns of its grant", async () => {
    const lease = claimOf(await behind.engine.acquire(ask("handed on"), null), "held");
    const waiter = follower();
    claimOf(await behind.engine.acquire(ask("handed on"), waiter), "waiting");
    const dropped = proxy.dropAnswerTo(COMMIT);
    expect((await behind.engine.ask(asks.release(lease))).outcome).toEqual({
      kind: "released",
      byThisCall: true,
    });
    await dropped;
    expect((await waiter.toldClaim).claim).toMatchObject({ state: "held", fencingToken: 2n });
  });
});
