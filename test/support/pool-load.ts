// A pool of 5 with three tenants of 3, which replicas share: each worker takes one name, holds it for a moment, and gives it back.

import { expect } from "vitest";
import { poolName } from "../../server/core/pools.ts";
import { Fault } from "../../server/engine/faults.ts";
import { ask, follower, type Replica } from "./replicas.ts";

/** Repeats a call that the database did not let through. */
async function repeated<Answer>(call: () => Promise<Answer>, tries = 1): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== "unavailable" || tries === TRIES_MAX) throw error;
    return await repeated(call, tries + 1);
  }
}

const TRIES_MAX = 20;
const LIMIT = 5;
const TENANTS = ["a", "b", "c"];
const TENANT_LIMIT = 3;
const HELD_MS = 5;

/** Resolves when all workers have held their names. Throws if more held at once than a limit allows. */
export async function shareAPool(replicas: readonly Replica[], workers: number): Promise<void> {
  const [{ engine: first, store }] = replicas as [Replica];
  const limits = new Map([
    ["p/", LIMIT],
    ...TENANTS.map((tenant) => [`p/${tenant}/`, TENANT_LIMIT] as const),
  ]);
  for (const [prefix, limit] of limits) await first.setPool(prefix, { limit }, undefined, "");
  const held = new Set<string>();
  const most = new Map<string, number>();
  const work = async (index: number) => {
    const { engine } = replicas[index % replicas.length] as Replica;
    const name = `p/${TENANTS[index % TENANTS.length]}/${index}`;
    const who = follower();
    // As a client does: on a cluster, another node's decision about the pool may win some times in a row.
    const request = ask(name, { requestId: `worker ${index}` });
    const { outcome } = await repeated(() => engine.acquire(request, who));
    const claim = outcome.kind === "held" ? outcome.claim : (await who.toldClaim).claim;
    expect(claim.state).toBe("held");
    held.add(name);
    for (const prefix of limits.keys()) {
      const now = [...held].filter((each) => each.startsWith(prefix)).length;
      most.set(prefix, Math.max(now, most.get(prefix) ?? 0));
    }
    await new Promise((resolve) => setTimeout(resolve, HELD_MS));
    held.delete(name);
    await repeated(() => engine.ask({ verb: "release", ref: claim }));
  };
  await Promise.all(Array.from({ length: workers }, (_, index) => work(index)));
  for (const [prefix, limit] of limits) {
    expect(most.get(prefix)).toBeLessThanOrEqual(limit);
    const view = await store.view(poolName(prefix), 0);
    expect(view?.lock).toMatchObject({ heldPermits: 0, holders: 0, waiting: 0 });
  }
}
