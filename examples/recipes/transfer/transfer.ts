// Moves money between two accounts: it takes both locks at once, and each account refuses a writer whose token is too old.
// Usage: transfer.ts FROM TO AMOUNT

import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WAIT_SECONDS = "10" } = process.env;
const [from = "1", to = "2", amount = "1"] = process.argv.slice(2);

// Any database will do: the UPDATE is the same in MySQL.
using database = new DatabaseSync(process.env.ACCOUNTS ?? "accounts.db", { timeout: 10_000 });
const change = database.prepare(
  "UPDATE account SET balance = balance + ?, fence = ? WHERE name = ? AND fence <= ?",
);

/** Replace this with your own: what a transfer asks before it writes. */
async function check(signal: AbortSignal): Promise<void> {
  await sleep(Number(process.env.WORK_SECONDS ?? "0") * 1_000, undefined, { signal });
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
const options = {
  also: [`account/${to}`],
  ttl: Number(TTL_SECONDS) * 1_000,
  wait: Number(WAIT_SECONDS) * 1_000,
};
await rowlock.withLock(`account/${from}`, options, async (lock) => {
  console.log(`begins with tokens ${[...lock.tokens.values()].join(" and ")}`);
  await check(lock.signal);
  // Nothing may be awaited within the transaction: it is one of this connection.
  database.exec("BEGIN IMMEDIATE");
  const done = [from, to].every((account) => {
    const token = lock.tokenOf(`account/${account}`);
    const by = account === from ? -Number(amount) : Number(amount);
    return change.run(by, token, account, token).changes === 1;
  });
  database.exec(done ? "COMMIT" : "ROLLBACK");
  if (!done) throw new Error("nothing was moved: a token is too old, or there is no such account");
  console.log(`moved ${amount} from ${from} to ${to}`);
});
