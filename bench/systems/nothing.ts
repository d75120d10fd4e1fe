// A gRPC service in Node that does nothing: the upper limit that Node and gRPC set for a server with work to do.

import { join } from "node:path";
import { startChildServer } from "./child-server.ts";
import type { System } from "./system.ts";

const program = join(import.meta.dirname, "../nothing-server.ts");

export const nothing: System = {
  name: "nothing",
  async start({ directory }) {
    const { said, pid, stop } = await startChildServer(
      process.execPath,
      [program],
      directory,
      /^gRPC (\S+)$/m,
    );
    return {
      version: `grpc-js on Node ${process.versions.node}`,
      target: { system: "rowlock", address: said[1] as string },
      pids: [pid],
      isRowlock: true,
      stop,
    };
  },
};
