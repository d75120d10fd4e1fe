// One execution of a batch job: waits until the job's limit has room for it, and works while it holds a permit.

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60" } = process.env;
const [job = "import", execution = "1"] = process.argv.slice(2);

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: `execution ${execution}` });
await rowlock.withLock(`batch/${job}`, { ttl: Number(TTL_SECONDS) * 1_000 }, async (lock) => {
  console.log(`${execution} begins`);
  await work(lock.signal);
  console.log(`${execution} ends`);
});

/** Replace this with your own. Ends at once when the permit is lost. */
async function work(signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
}
