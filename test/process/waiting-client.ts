// A process that waits in one queue and prints what it receives; a test freezes or kills it.
//
//   node waiting-client.ts ADDRESS NAME TTL_SECONDS call|session

import { SessionClient } from "../support/session-client.ts";
import { queued, TestCalls } from "../support/test-calls.ts";

const [address, name, ttl, via] = process.argv.slice(2) as [string, string, string, string];
const client = via === "session" ? new SessionClient(address) : new TestCalls(address);
const asked = {
  name,
  terms: { owner: "waiting-client", lasting: { case: "ttl" as const, value: { seconds: BigInt(ttl) } } },
};
const stream = client.wait(queued(asked));
for (let update = await stream.next(); update; update = await stream.next()) console.log(update.case);
client.close();
