// A job that needs several resources at once, each to read or to write. It takes them in the order of their names, as all jobs
// do, so that no two of them wait for each other.
// Usage: resources.ts JOB RESOURCE:read|RESOURCE:write ...

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60" } = process.env;
const [job = "job", ...resources] = process.argv.slice(2);

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: job });
await using held = new AsyncDisposableStack();
/** Aborted when one of them is lost, also while the next one is waited for. */
let signal = new AbortController().signal;
for (const resource of resources.sort()) {
  const [name, how] = resource.split(":");
  const mode = how === "read" ? "shared" : "exclusive";
  const lock = await rowlock.lock(`resource/${name}`, { mode, ttl: Number(TTL_SECONDS) * 1_000, signal });
  held.use(lock);
  signal = AbortSignal.any([signal, lock.signal]);
}
console.log(`${job} begins`);
await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal }); // Replace this with your work.
console.log(`${job} ends`);
