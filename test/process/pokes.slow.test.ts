// Two servers over one database that poll each other's changes only once a minute: a waiter at one server is notified
// at once of a grant by the other.

import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { freshDatabase, mysqlFamily } from "../support/database.ts";
import { type GaleraCluster, startGaleraCluster } from "../support/mysql-family/galera-cluster.ts";
import { openPlainConnection } from "../support/mysql-stage.ts";
import { queued, type TestCalls } from "../support/test-calls.ts";
import { until } from "../support/until.ts";
import { metric, processStage } from "./stage.ts";

const stage = processStage("after all");
/** The longest interval that is allowed, longer than a test may take. */
const SELDOM = ["--poll-interval", "1m"];
const acquire = (request: object) => queued(request);

/** A client waits at the second server and the first server grants. Resolves when the waiter receives the grant. */
async function handOver(from: TestCalls, to: TestCalls, name: string): Promise<void> {
  const { leaseId } = await from.lease({ name });
  const stream = to.wait(acquire({ name }));
  await stream.position();
  await from.call("release", { leaseId });
  expect((await stream.granted()).lockName).toBe(name);
}

describe.each(mysqlFamily().map((found) => ({ found, label: `${found.flavour} ${found.version}` })))(
  "on $label",
  ({ found }) => {
    const fresh = () => stage.database(() => freshDatabase(found));

    test("the other server notifies a waiter of its grant, again and again, either way", async () => {
      const url = await fresh();
      const [near, far] = [await stage.serving(url, ...SELDOM), await stage.serving(url, ...SELDOM)];
      for (let round = 0; round < 5; round++) {
        await handOver(near.client, far.client, `there ${round}`);
        await handOver(far.client, near.client, `back ${round}`);
      }
      await until(async () => (await metric(near, 'rowlock_pokes_total{event="sent"}')) === 5);
      expect(await metric(near, 'rowlock_pokes_total{event="received"}')).toBe(5);
      expect(await metric(near, "rowlock_replicas")).toBe(2);
    });
  },
);

describe.runIf(inject("galera"))("between two nodes of Galera", () => {
  const ROUNDS = 50;
  let cluster: GaleraCluster;
  beforeAll(async () => {
    cluster = await startGaleraCluster();
  }, 240_000);
  afterAll(() => cluster?.stop());

  test("a waiter is notified of its grant though its server's node applies it later", async () => {
    // Dropped together with the cluster.
    const { url } = await freshDatabase(cluster.nodes[0]);
    const near = await stage.serving(url, ...SELDOM);
    const { pathname } = new URL(url);
    const there = Object.assign(new URL(cluster.nodes[1].url), { pathname }).href;
    const far = await stage.serving(there, ...SELDOM);
    // The first server's node may apply the other one's address later, too. Until then a poke is lost.
    const register = await openPlainConnection(url);
    await until(async () => {
      const entries = await register.run("SELECT address FROM rowlock_replica");
      return entries.filter(({ address }) => !String(address).endsWith(":0")).length === 2;
    });
    register.close();
    const tookMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const beganMs = performance.now();
      await handOver(near.client, far.client, `there ${round}`);
      await handOver(far.client, near.client, `back ${round}`);
      tookMs.push((performance.now() - beganMs) / 2);
    }
    tookMs.sort((a, b) => a - b);
    console.info(
      `hand-overs, with their waits: median ${tookMs[ROUNDS / 2]?.toFixed(1)} ms, longest ${tookMs.at(-1)?.toFixed(1)} ms`,
    );
    expect(tookMs).toHaveLength(ROUNDS);
  });
});
