import { connect } from "@rowlock/client";

await using rowlock = connect({ addresses: [process.env.ROWLOCK_ADDR ?? "127.0.0.1:50051"] });
await rowlock.withLock("etl/load", async (lock) => {
  console.log(`my turn, with fencing token ${lock.token}`);
});
