// The source of the data. Replace it with your own: this one makes up orders, in batches with pauses.

import { setTimeout as pause } from "node:timers/promises";

const BATCHES = 20;
const BATCH_ROWS = 50;
const PAUSE_MS = 100;

export interface Order {
  readonly id: number;
  readonly cents: number;
}

/** The batches of one part. Throws when the signal is aborted. */
export async function* ordersOf(part: string, signal: AbortSignal): AsyncGenerator<Order[]> {
  for (let batch = 0; batch < BATCHES; batch++) {
    await pause(PAUSE_MS, undefined, { signal });
    yield Array.from({ length: BATCH_ROWS }, (_, row) => {
      const id = batch * BATCH_ROWS + row;
      return { id, cents: (id * 37 + part.length * 11) % 10_000 };
    });
  }
}
