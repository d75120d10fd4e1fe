// The client's own test servers, by the names that the runner gives them.

import { startTestServer, type TestServer } from "../src/testing.ts";
import type { Command, Verb } from "./verb.ts";

const servers = new Map<string, TestServer>();

export const testServerVerbs: Readonly<Record<string, Verb>> = {
  startTestServer: async (asked) => {
    const server = await startTestServer();
    servers.set(asked.server, server);
    return { address: server.address };
  },
  loseAtTestServer: async (asked) => {
    await serverOf(asked).lose(asked.name);
    return {};
  },
  stopTestServer: async (asked) => {
    await serverOf(asked).stop();
    return {};
  },
};

function serverOf({ server }: Command): TestServer {
  const found = servers.get(server);
  if (!found) throw new Error(`There is no server ${server}.`);
  return found;
}
