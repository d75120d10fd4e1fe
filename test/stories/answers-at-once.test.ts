// When many locks are busy, the server makes many reads that complete answers (who holds, what place). These reads
// must not take all database connections from the calls that decide.

import { afterEach, expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { ask, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { wrapped } from "../support/wrapped-store.ts";

const LOCKS = 20;
let replicas: Replicas | undefined;
afterEach(async () => {
  await replicas?.stop();
});

test("only a few of them are read at once, and all are answered", async () => {
  let atOnce = 0;
  let most = 0;
  const slowly = async <Answer>(read: () => Promise<Answer>): Promise<Answer> => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await new Promise((resolve) => setImmediate(resolve));
    atOnce -= 1;
    return await read();
  };
  replicas = await startReplicas({ fresh: freshSqlite }, 1, {}, (store) => {
    return wrapped(store, {
      holders: (...args) => slowly(() => store.holders(...args)),
      queue: (...args) => slowly(() => store.queue(...args)),
    });
  });
  const { engine, store } = replicas.all[0] as Replica;
  const held = await Promise.all(
    Array.from({ length: LOCKS }, (_, index) => engine.acquire(ask(`busy/${index}`), null)),
  );
  const answers = held.flatMap(({ lockId }) => [
    engine.holders(lockId),
    engine.place({ lockId, ticketNumber: 1n, levels: null }),
  ]);
  expect(await Promise.all(answers)).toHaveLength(2 * LOCKS);
  expect(most).toBeLessThanOrEqual(store.readers);
});
