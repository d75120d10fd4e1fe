// A small company's night, in fast motion: jobs that may run N at a time, a report that runs alone, readers beside
// readers, workers that capture tasks, an operator who raises a limit, and a holder that is ended.

import { setTimeout as sleep } from "node:timers/promises";
import { connect, type RowlockClient, RowlockError } from "../../clients/typescript/src/index.ts";

const EXPECTED = ["LEASE_LOST", "TIMED_OUT", "FORCE_RELEASED", "CLOSED"];

/** Runs the load for so many seconds, divided among the servers. */
export async function load(addresses: readonly string[], seconds: number): Promise<void> {
  const clients = addresses.map((address, at) => connect({ addresses: [address], owner: `host-${at + 1}` }));
  const of = (at: number) => clients[at % clients.length] as RowlockClient;
  const endMs = Date.now() + seconds * 1_000;
  const until = async (once: () => Promise<unknown>) => {
    while (Date.now() < endMs) {
      await once().catch((error: unknown) => {
        if (!(error instanceof RowlockError) || !EXPECTED.includes(error.reason)) throw error;
      });
    }
  };
  const hold = (at: number, name: string, holdMs: number, options = {}) =>
    until(async () => {
      await of(at).withLock(name, options, () => sleep(holdMs * (0.5 + Math.random())));
      await sleep(50 * Math.random());
    });
  await of(0).setLimit({ pattern: "etl/*" }, 2, { reason: "one database" });
  for (let task = 1; task <= 60; task++) await of(0).updateRecord(`tasks/${task}`, { status: "new" });
  const operator = async () => {
    await sleep(seconds * 500);
    await of(0).setLimit({ pattern: "etl/*" }, 5, { reason: "night shift" });
    await sleep(seconds * 200);
    await of(1)
      .forceRelease({ name: "report/daily" }, "it hangs")
      .catch(() => {});
  };
  await Promise.all([
    operator(),
    ...["orders", "prices", "stock"].flatMap((table, nth) =>
      Array.from({ length: 3 + nth }, (_, at) =>
        hold(at, `etl/${table}`, 900, { ttl: 2_000, owner: `${table}-job-${at + 1}` }),
      ),
    ),
    ...Array.from({ length: 4 }, (_, at) => hold(at, "report/daily", 400, { owner: `report-${at + 1}` })),
    ...Array.from({ length: 6 }, (_, at) =>
      hold(at, "catalogue/prices", 60, { mode: at === 0 ? "exclusive" : "shared", owner: `page-${at + 1}` }),
    ),
    ...Array.from({ length: 3 }, (_, at) =>
      until(async () => {
        const { locks } = await of(at).capture({
          prefix: "tasks/",
          count: 2,
          ifStatus: ["new"],
          wait: 1_000,
        });
        await Promise.all(
          locks.map(async (lock) => {
            await sleep(200 * Math.random());
            await lock.release({ status: "new", coolDown: 1_000 + 2_000 * Math.random() });
          }),
        );
      }),
    ),
  ]);
  await Promise.all(clients.map((client) => client.close()));
}
