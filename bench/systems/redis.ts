// One Redis that syncs each change to its log before it answers, which is not its default.

import { freePort } from "../../test/support/mysql-family/private-server.ts";
import { startChildServer } from "./child-server.ts";
import type { System } from "./system.ts";

const DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];

export const redis: System = {
  name: "redis",
  async start({ directory }) {
    const port = await freePort();
    const args = ["--bind", "127.0.0.1", "--port", String(port), "--dir", directory, ...DURABLE];
    const says = /Redis version=([^,\s]+)[\s\S]*Ready to accept connections/;
    const { said, pid, stop } = await startChildServer("redis-server", args, directory, says);
    return {
      version: said[1] as string,
      target: { system: "redis", address: `127.0.0.1:${port}` },
      pids: [pid],
      stop,
    };
  },
};
