// Takes a lock, and holds it until it is lost or somebody writes to standard input. See players.ts.

import { connect, type RowlockError } from "../../clients/typescript/src/index.ts";

const say = (...words: string[]) => process.stdout.write(`${JSON.stringify(words)}\n`);
const { ROWLOCK_ADDR = "", LOCK = "", CA = "" } = process.env;
const rowlock = connect({
  addresses: ROWLOCK_ADDR,
  giveUpAfter: Number(process.env.GIVE_UP_SECONDS) * 1_000,
  ...(CA && { tls: CA === "system" ? true : { ca: { file: CA } } }),
});
say("begins");
try {
  await rowlock.withLock(LOCK, { ttl: 5_000, onPosition: () => say("waiting") }, async ({ signal }) => {
    say("held");
    const leave = new Promise((resolve) => process.stdin.once("data", resolve));
    const lost = new Promise((resolve) => signal.addEventListener("abort", () => resolve("signalled")));
    if ((await Promise.race([leave, lost])) === "signalled") say("signalled");
  });
  say("left");
} catch (error) {
  const { name, reason, message } = error as RowlockError;
  say("failed", `${name}, reason ${reason}`, message);
}
process.exit();
