// A TCP proxy before one of several servers, which can be another one from now on: connections to the one before are cut.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

export interface SwitchingProxy {
  readonly port: number;
  /** null: to none, connections are cut at once. */
  to(port: number | null): void;
  close(): Promise<void>;
}

export async function startSwitchingProxy(port: number): Promise<SwitchingProxy> {
  let target: number | null = port;
  const sockets = new Set<Socket>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const proxy = createServer((client) => {
    if (target === null) {
      client.destroy();
      return;
    }
    const server = connect(target, "127.0.0.1");
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      // The end of one side is the end of the other; errors are that too.
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    server.pipe(client);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    port: (proxy.address() as AddressInfo).port,
    to(other) {
      target = other;
      cut();
    },
    async close() {
      const closed = once(proxy, "close");
      proxy.close();
      cut();
      await closed;
    },
  };
}
