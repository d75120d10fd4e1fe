// A TCP proxy in front of one of several servers, and able to switch: connections to the previous server are then cut.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

export interface SwitchingProxy {
  readonly port: number;
  /** null: no server; connections are cut immediately. */
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
      // Closing or failing on one side closes the other.
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
