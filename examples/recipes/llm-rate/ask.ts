// Asks a model one question after the other, as one of many processes that share its rate: node ask.ts QUESTION...

import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", MODEL = "model/large", TTL_SECONDS = "30" } = process.env;
const { MODEL_URL = "http://127.0.0.1:8080/", REST_SECONDS = "10" } = process.env;

/** Replace this with your own. Returns the answer, or for how long the model wants no more questions. */
async function ask(question: string, signal: AbortSignal): Promise<string | { restMs: number }> {
  const response = await fetch(MODEL_URL, { method: "POST", body: question, signal });
  const text = await response.text();
  if (response.ok) return text;
  if (response.status !== 429) throw new Error(`the model has answered ${response.status}: ${text}`);
  return { restMs: Number(response.headers.get("retry-after") ?? REST_SECONDS) * 1_000 };
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
for (const question of process.argv.slice(2)) {
  for (;;) {
    // Waits in the queue: for room, for the rate, and for the end of a rest.
    await using lock = await rowlock.lock(MODEL, { ttl: Number(TTL_SECONDS) * 1_000 });
    const answer = await ask(question, lock.signal);
    if (typeof answer === "string") {
      console.log(`${question}: ${answer}`);
      break;
    }
    // The model's 429: until the rest is over, no process has a turn.
    await lock.release({ coolDown: answer.restMs });
  }
}
