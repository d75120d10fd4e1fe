// Tells of a trouble, once an hour at the most, whichever of all machines notice it. The lock is never released: it ends by itself.
// Usage: alert.ts TROUBLE

import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", EVERY_SECONDS = "3600" } = process.env;
const [trouble = "disk-full"] = process.argv.slice(2);

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
const lock = await rowlock.tryLock(`alert/${trouble}`, { ttl: Number(EVERY_SECONDS) * 1_000 });
if (lock) {
  // From now on nobody renews it, and nobody releases it.
  await lock.handOver();
  console.log(`${trouble} is told`); // In place of your mail.
}
