// A process that holds a lock, or waits for it, and prints what it believes; a test freezes it.
//
//   node holding-client.ts ADDRESS NAME TTL_MS

import { connect } from "../../../clients/typescript/src/index.ts";

const [addresses, name, ttl] = process.argv.slice(2) as [string, string, string];
const rowlock = connect({ addresses, owner: "frozen" });
for (;;) {
  const lock = await rowlock.lock(name, {
    ttl: Number(ttl),
    onPosition: ({ ahead }) => console.log(`waiting behind ${ahead}`),
  });
  console.log(`held ${lock.token}`);
  await new Promise<void>((resolve) => {
    const work = setInterval(() => {
      // Reads the state before writing: the test likely stops the process while it writes the line.
      const isLost = lock.signal.aborted;
      console.log(isLost ? `lost ${lock.token}` : `working ${lock.token}`);
      if (!isLost) return;
      clearInterval(work);
      resolve();
    }, 10);
  });
}
