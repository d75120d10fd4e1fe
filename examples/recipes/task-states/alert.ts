// Reports a problem at most once an hour, however many machines notice it. The lock is never released: it ends by itself.
// Usage: alert.ts TROUBLE

import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", EVERY_SECONDS = "3600" } = process.env;
const [trouble = "disk-full"] = process.argv.slice(2);

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
const lock = await rowlock.tryLock(`alert/${trouble}`, { ttl: Number(EVERY_SECONDS) * 1_000 });
if (lock) {
  // From now on nobody renews it, and nobody releases it.
  await lock.handOver();
  console.log(`${trouble} was reported`); // Replace this with your mail.
}
