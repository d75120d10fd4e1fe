// A crowd of waiters at one lock, in its own process, so that the cost of running many waiters is not counted as the
// server's cost. A granted waiter releases and comes again, so that all places move all the time. Prints when all
// waiters have places, and at the end how many places it received since then and in how many seconds.

import { TestCalls } from "../support/test-calls.ts";

const [address = "", name = "", size = ""] = process.argv.slice(2);
/** As many waiters as a server accepts on one connection. */
const PER_CONNECTION = 1_000;
const request = {
  target: { case: "request" as const, value: { name } },
  minUpdateInterval: { seconds: 0n, nanos: 0 },
};
let standing = 0;
let told = 0;
let sinceMs = 0;

async function takeTurns(client: TestCalls): Promise<never> {
  for (let turn = 0; ; turn++) {
    const stream = client.wait(request);
    for (let steps = 0; ; steps++) {
      const update = await stream.next();
      if (update?.case === "granted") {
        await client.call("release", { leaseId: update.value.leaseId });
        break;
      }
      // The first place is part of the answer to the call.
      if (steps > 0) told += 1;
      else if (turn === 0) stands();
    }
  }
}

function stands(): void {
  standing += 1;
  if (standing < Number(size)) return;
  told = 0;
  sinceMs = performance.now();
  console.log("standing");
}

process.on("SIGTERM", () => {
  console.log(JSON.stringify({ told, seconds: (performance.now() - sinceMs) / 1e3 }));
  process.exit();
});
for (let index = 0; index < Number(size); index += PER_CONNECTION) {
  const client = new TestCalls(address);
  const here = Math.min(PER_CONNECTION, Number(size) - index);
  for (let waiter = 0; waiter < here; waiter++) void takeTurns(client);
}
