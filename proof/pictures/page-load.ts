// The locks of a web shop and of the jobs around it, in real time: loads of a warehouse that run three at a time, a
// stock that everybody wants, readers beside readers, a report that failed, invoices that are paused, and an operator.

import { setTimeout as sleep } from "node:timers/promises";
import { connect, type LockOptions, RowlockError } from "../../clients/typescript/src/index.ts";

const EXPECTED = ["LEASE_LOST", "TIMED_OUT", "FORCE_RELEASED", "CLOSED"];

export interface PageLoad {
  /** Ends all of it. */
  stop(): Promise<void>;
}

export async function startPageLoad(address: string): Promise<PageLoad> {
  const client = connect({ addresses: [address], owner: "shop" });
  const ended = new AbortController();
  const { signal } = ended;
  const running: Promise<unknown>[] = [];
  const expected = (error: unknown) => {
    if (!(error instanceof RowlockError && EXPECTED.includes(error.reason)) && !signal.aborted) throw error;
  };
  const repeat = (once: () => Promise<unknown>) => {
    const rounds = async () => {
      while (!signal.aborted) await once().catch(expected);
    };
    running.push(rounds());
  };
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  const about = (ms: number) => ms * (0.6 + 0.8 * Math.random());
  const hold = (name: string, owner: string, holdMs: number, restMs: number, options: LockOptions = {}) =>
    repeat(async () => {
      await client.withLock(name, { ttl: 60_000, owner, signal, ...options }, () => pause(about(holdMs)));
      await pause(about(restMs));
    });
  const take = (name: string, owner: string, options: LockOptions = {}) =>
    running.push(client.lock(name, { owner, signal, ...options }).catch(expected));

  await client.setLimit({ pattern: "etl/*" }, 3, { reason: "the warehouse takes three loads at a time" });
  await client.setLimit({ pattern: "shop/*" }, 1, { reason: "as sold" });
  await client.setLimit({ name: "task/thumbnails" }, 5, { reason: "one for each core" });
  await client.setLimit({ name: "report/invoices" }, 0, { reason: "month-end closing, ask Ines" });
  await client.updateRecord("report/daily-sales", {
    status: "failed",
    attemptsLeft: 1,
    notBefore: new Date(Date.now() + 25 * 60_000),
  });
  await client.updateRecord("etl/customers", { status: "loading" });

  for (const [at, table] of ["orders", "prices", "stock", "returns", "clicks", "reviews"].entries())
    hold("etl/load", `load-${table}`, 9_000 + 1_500 * at, 6_000, { labels: { host: `etl-${(at % 3) + 1}` } });
  for (let host = 1; host <= 3; host++) hold("etl/customers", `crm-sync-${host}`, 7_000, 2_000);
  for (let host = 1; host <= 5; host++) hold("shop/stock/sku-4711", `checkout-${host}`, 900, 400);
  for (let cart = 1; cart <= 12; cart++) hold(`shop/cart/${7_300 + cart * 17}`, "checkout", 120, 300);
  for (let host = 1; host <= 4; host++)
    hold("shop/search-index", `search-${host}`, 5_000, 300, { mode: "shared" });
  hold("shop/search-index", "reindex", 3_000, 12_000, { mode: "exclusive" });
  hold("cron/close-carts", "web-2", 20_000, 100);
  take("backup/mysql", "backup-1", { ttl: "forever", labels: { job: "nightly" } });
  take("report/daily-sales", "reporting-2");
  for (const host of [1, 2]) take("report/invoices", `billing-${host}`);
  for (let worker = 1; worker <= 6; worker++) take("task/thumbnails", `thumb-${worker}`, { permits: 1 });

  const operator = async () => {
    await pause(8_000);
    await client.setLimit({ name: "task/thumbnails" }, 3, { reason: "the new disks are slow" });
    // Two holders that never come back: one expires, and an operator ends the other.
    for (;;) {
      await client.acquire("etl/load", { owner: "load-legacy", ttl: 1_000, signal }).catch(expected);
      await pause(45_000);
      if (signal.aborted) return;
      const { holders } = await client.getLock("etl/load");
      const oldest = holders[0];
      if (oldest)
        await client
          .forceRelease({ name: "etl/load", ticketNumber: oldest.ticketNumber }, "it hangs since the deploy")
          .catch(expected);
      await pause(40_000);
    }
  };
  running.push(operator());
  return {
    async stop() {
      ended.abort();
      await client.close();
      await Promise.all(running);
    },
  };
}
