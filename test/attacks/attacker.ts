// Runs one attack on a server, in a process of its own at the lowest priority: `attacker.ts NAME ADDRESS`. Prints
// "attacking" when the attack has its full strength, and at SIGTERM what it has seen of the server, as JSON. ATTACK_TLS, if it
// is set, has the files of TLS as JSON: `ca`, and `cert` and `key` for a server that wants a certificate.

import { setPriority } from "node:os";
import { CONNECTIONS } from "./kinds/connections.ts";
import { FLOODS, FLOODS_OF_KNOWN } from "./kinds/floods.ts";
import { FRAMES } from "./kinds/frames.ts";
import { HEADERS } from "./kinds/headers.ts";
import { HTTP } from "./kinds/http.ts";
import { MESSAGES } from "./kinds/messages.ts";
import { SESSIONS } from "./kinds/sessions.ts";
import { Target } from "./target.ts";

const LOWEST = 19;
const [name = "", address = ""] = process.argv.slice(2);
const attack = {
  ...CONNECTIONS,
  ...FLOODS,
  ...FLOODS_OF_KNOWN,
  ...FRAMES,
  ...HEADERS,
  ...HTTP,
  ...MESSAGES,
  ...SESSIONS,
}[name];
if (!attack) throw new Error(`There is no attack ${name}.`);
setPriority(LOWEST);
const { ATTACK_TLS } = process.env;
const target = new Target(address, ATTACK_TLS ? JSON.parse(ATTACK_TLS) : undefined);
process.on("SIGTERM", () => {
  console.log(JSON.stringify(target.seen));
  process.exit();
});
// An attack whose connections the server has closed goes on until it is ended.
setInterval(() => {}, 1_000);
await attack(target);
