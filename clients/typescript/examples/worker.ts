// A worker: takes tasks that are due, two at once, until it is asked to stop. Make some tasks first:
//
//   rowlock update task/1 --status new
//   ROWLOCK_ADDR=127.0.0.1:50051 node worker.ts

import { connect } from "@rowlock/client";

await using rowlock = connect({ addresses: process.env.ROWLOCK_ADDR ?? "127.0.0.1:50051" });
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.once("SIGINT", () => stop.abort());

await rowlock.work(
  "task/",
  async ({ name, token, signal }) => {
    console.log(`works on ${name}, with fencing token ${token}`);
    // Stops if the lock is lost, for example because somebody has ended it.
    signal.throwIfAborted();
  },
  { concurrency: 2, ifStatus: "new", statusWhenDone: "done", statusIfLost: "failed", signal: stop.signal },
);
console.log("stopped");
