// One worker: waits until the limit has room for it, and loads its part while it holds a permit.

import type { RowlockClient } from "@rowlock/client";
import type { Progress } from "./progress.ts";
import { ordersOf } from "./source.ts";
import type { Warehouse } from "./warehouse.ts";

interface Tools {
  readonly rowlock: RowlockClient;
  readonly warehouse: Warehouse;
  readonly progress: Progress;
}

export async function loadPart(part: string, { rowlock, warehouse, progress }: Tools): Promise<void> {
  const options = {
    owner: part,
    ttl: 10_000,
    // The client calls this whenever the place in the queue changes. With 0 ahead, this part is next.
    onPosition: ({ ahead }: { ahead: number }) => progress.tell(part, `waits, ${ahead} before it`),
    positionInterval: 250,
  };
  try {
    await rowlock.withLock("etl/load", options, async (lock) => {
      let rows = 0;
      progress.tell(part, `loads, with token ${lock.token}`);
      // Ends at once when the lock is lost, before another worker can have the permit.
      for await (const orders of ordersOf(part, lock.signal)) {
        warehouse.load(part, orders, lock.token);
        rows += orders.length;
        progress.count(part, rows);
      }
      progress.tell(part, "done");
    });
  } catch (error) {
    progress.tell(part, `failed: ${error instanceof Error ? error.message : error}`);
    throw error;
  }
}
