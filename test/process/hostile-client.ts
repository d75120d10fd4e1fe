// A client that asks for as much as it can send and gives all of it up in the next request, over several sessions. In a process
// of its own, so that what it costs to be hostile is not taken for what it costs the server. Says when it has begun, and at its
// end how many commands it has sent.

import { BareSession, type Command, cancel } from "../support/session-client.ts";
import { TestCalls } from "../support/test-calls.ts";

const [address = "", kind = "captures"] = process.argv.slice(2);
const SESSIONS = 3;
const PER_REQUEST = 200;
/** Requests that the server has not heard of yet. */
const UNHEARD_MAX = 20;

const COMMANDS: Readonly<Record<string, (index: number) => Command>> = {
  captures: () => ({ case: "capture", value: { prefix: "task/", maxLeases: 1 } }) as Command,
  refusals: (index) => ({ case: "acquire", value: { name: `held/${index % 50}` } }) as Command,
};

let sent = 0;

async function attack(command: (index: number) => Command): Promise<never> {
  let heard = 0n;
  const session = new BareSession(new TestCalls(address), { open: {} }, (response) => {
    heard = response.heard;
    // What it was told is of no interest to it.
    session.responses.length = 0;
  });
  // The one that opens it.
  let requests = 1n;
  for (let index = 0; ; ) {
    const asked = session.ask(...Array.from({ length: PER_REQUEST }, () => command(index++)));
    session.send({ commands: asked.map((call) => ({ command: cancel(call) })) });
    requests += 2n;
    if (sent === 0) console.log("begun");
    sent += PER_REQUEST;
    do await new Promise((resolve) => setImmediate(resolve));
    while (requests - heard > UNHEARD_MAX);
  }
}

process.on("SIGTERM", () => {
  console.log(JSON.stringify({ sent }));
  process.exit();
});
const command = COMMANDS[kind];
if (!command) throw new Error(`There is no attack by ${kind}.`);
for (let index = 0; index < SESSIONS; index++)
  attack(command).catch((error: unknown) => console.log(`ended: ${error}`));
