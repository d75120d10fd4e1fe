// A job that needs several resources, each to read or to write. It gets all of them at once, and holds none while it waits.
// Usage: resources.ts JOB RESOURCE:read|RESOURCE:write ...

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60" } = process.env;
const [job = "job", ...resources] = process.argv.slice(2);

const wanted = resources.map((resource) => {
  const [name, how] = resource.split(":");
  return { name: `resource/${name}`, mode: how === "read" ? "shared" : "exclusive" } as const;
});
const [first = { name: "resource/any", mode: "exclusive" }, ...also] = wanted;

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: job });
const options = { mode: first.mode, also, ttl: Number(TTL_SECONDS) * 1_000 };
await rowlock.withLock(first.name, options, async ({ signal }) => {
  console.log(`${job} begins`);
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal }); // Replace this with your work.
  console.log(`${job} ends`);
});
