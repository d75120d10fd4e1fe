// Works on a path of a tree: as the reader of each folder above it, and as the writer of the path itself, all at once.
// Usage: path.ts JOB PATH

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60" } = process.env;
const { WAIT_SECONDS = "10", TREE = "tree" } = process.env;
const [job = "job", path = "a/b"] = process.argv.slice(2);

const steps = path.split("/");
/** At most seven: an eighth folder above has no lock. */
const above = steps.slice(1).map((_, at) => `${TREE}/${steps.slice(0, at + 1).join("/")}`);
const options = {
  mode: "exclusive",
  also: above.map((name) => ({ name, mode: "shared" }) as const),
  ttl: Number(TTL_SECONDS) * 1_000,
  wait: Number(WAIT_SECONDS) * 1_000,
} as const;

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: job });
await rowlock.withLock(`${TREE}/${path}`, options, async ({ signal }) => {
  console.log(`${job} begins`);
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal }); // Replace this with your work.
  console.log(`${job} ends`);
});
