// Approves a transaction once, however often somebody clicks: node approve.ts 100

import { setTimeout as pause } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "1" } = process.env;
const [transaction = "100"] = process.argv.slice(2);

/** Replace this with your own. Throws only if certainly nothing was paid: a later click may then try again. */
async function pay(token: bigint, signal: AbortSignal): Promise<void> {
  console.log(`pays ${transaction}, with token ${token}`);
  await pause(Number(WORK_SECONDS) * 1_000, undefined, { signal });
  console.log(`paid ${transaction}`);
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
const { lock, refusal } = await rowlock.acquire(`approve/${transaction}`, {
  wait: 0,
  ifStatus: "",
  statusIfLost: "unclear",
  ttl: Number(TTL_SECONDS) * 1_000,
});
if (lock) {
  await using held = lock;
  await pay(held.token, held.signal);
  console.log((await held.release({ status: "approved" })) ? "approved" : "unclear");
} else if (refusal.reason === "STATUS_MISMATCH") {
  console.log(`already ${refusal.status}`);
} else {
  console.log(refusal.reason === "BUSY" ? "in progress" : refusal.message);
}
