// The conformance driver of this client: it reads commands as lines of JSON from standard input, and writes results and
// events to standard output; test/clients/conformance/README.md has the protocol. It must not do the client's work.

import { createInterface } from "node:readline";
import { type ConnectOptions, connect, type RowlockClient } from "../src/index.ts";
import { failureOf } from "./failure.ts";
import { fencedStoreVerbs } from "./fenced-store-verbs.ts";
import { HeldLocks } from "./held-locks.ts";
import { operatorVerbs } from "./operator-verbs.ts";
import { recordVerbs } from "./record-verbs.ts";
import { testServerVerbs } from "./test-servers.ts";
import { tlsOf } from "./tls-files.ts";
import { TokenFunctions } from "./token-functions.ts";
import type { Command, Verb } from "./verb.ts";
import { watchVerbs } from "./watches.ts";
import { workVerbs } from "./workers.ts";

const clients = new Map<string, RowlockClient>();
const tokens = new TokenFunctions();
const locks = new HeldLocks(clientOf, (event) => say(event));

const verbs: Readonly<Record<string, Verb>> = {
  ...operatorVerbs(clientOf),
  ...recordVerbs(clientOf),
  ...locks.verbs,
  ...watchVerbs(clientOf, say),
  ...workVerbs(clientOf, say),
  ...testServerVerbs,
  ...fencedStoreVerbs,
  connect: async (asked) => {
    const {
      client,
      addresses,
      owner,
      labels,
      giveUpAfterMs,
      connectTimeoutMs,
      explainAfterMs,
      tls,
      headers,
    } = asked;
    const { token, tokenFile, tokenFunction, allowTokenInPlaintext } = asked;
    const options: ConnectOptions = {
      addresses,
      ...(owner !== undefined && { owner }),
      ...(labels && { labels }),
      ...(giveUpAfterMs !== undefined && { giveUpAfter: giveUpAfterMs }),
      ...(connectTimeoutMs !== undefined && { connectTimeout: connectTimeoutMs }),
      ...(explainAfterMs !== undefined && { explainAfter: explainAfterMs }),
      // Its log would drown what the driver says of itself.
      log: () => {},
      ...(tls && { tls: tlsOf(tls) }),
      ...(headers && { headers }),
      ...(token !== undefined && { token }),
      ...(tokenFile !== undefined && { token: { file: tokenFile } }),
      ...(tokenFunction !== undefined && { token: tokens.functionOf(client, tokenFunction) }),
      ...(allowTokenInPlaintext !== undefined && { allowTokenInPlaintext }),
    };
    clients.set(client, connect(options));
    return {};
  },
  setToken: async ({ client, token }) => {
    tokens.set(client, token);
    return {};
  },
  close: async (asked) => {
    await clientOf(asked).close();
    return {};
  },
  block: async ({ ms }) => {
    const untilMs = performance.now() + ms;
    while (performance.now() < untilMs);
    return {};
  },
};

function clientOf({ client }: Command): RowlockClient {
  const found = clients.get(client);
  if (!found) throw new Error(`There is no client ${client}.`);
  return found;
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function run(command: Command): Promise<void> {
  const { id } = command;
  try {
    const verb = verbs[command.do];
    if (!verb) throw new Error(`There is no command ${command.do}.`);
    const result = await verb(command, (early) => say({ id, result: early }));
    if (result) say({ id, result });
  } catch (error) {
    say({ id, error: failureOf(error) });
  }
}

for await (const line of createInterface(process.stdin)) void run(JSON.parse(line));
await Promise.all([...clients.values()].map((client) => client.close()));
