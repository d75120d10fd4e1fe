// Puts tasks into a queue, with three attempts each. One that is there already, in whatever state, stays as it is.
// Usage: put.ts QUEUE TASK ...

import { connect, RowlockError } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051" } = process.env;
const [queue = "mail", ...tasks] = process.argv.slice(2);

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
for (const task of tasks) {
  try {
    await rowlock.updateRecord(`tasks/${queue}/${task}`, { status: "new", attemptsLeft: 3, ifVersion: 0 });
  } catch (error) {
    if (!(error instanceof RowlockError && error.reason === "VERSION_MISMATCH")) throw error;
    console.error(`${queue}/${task} is there already`);
  }
}
