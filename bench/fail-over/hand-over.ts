// Hand-overs between two servers, each on its own Galera node: from the release on one until the waiter on the other
// hears of the grant.

import { startGaleraCluster } from "../../test/support/mysql-family/galera-cluster.ts";
import { databaseAt, Household, type Serving } from "./household.ts";

/** The duration of each, in milliseconds. */
export async function handOvers(count: number): Promise<number[]> {
  const house = new Household();
  try {
    const cluster = await startGaleraCluster();
    house.afterwards(() => cluster.stop());
    const [here, there] = (await databaseAt(cluster.nodes.map(({ url }) => url))) as [string, string];
    let [near, far]: [Serving, Serving] = [await house.serving(here), await house.serving(there)];
    const tookMs: number[] = [];
    for (let round = 0; round < count; round++) {
      tookMs.push(await handOver(near, far, `hand-over-${round}`));
      [near, far] = [far, near];
    }
    return tookMs;
  } finally {
    await house.close();
  }
}

async function handOver(from: Serving, to: Serving, name: string): Promise<number> {
  const { leaseId } = await from.client.lease({ name });
  const stream = to.client.wait({ target: { case: "request", value: { name } } });
  await stream.position();
  const releasedMs = performance.now();
  const released = from.client.call("release", { leaseId });
  await stream.granted();
  const tookMs = performance.now() - releasedMs;
  await released;
  return tookMs;
}
