// A TCP proxy that delays a server's answers: it passes on what clients send immediately and holds back what the server
// sends. It can also lose all traffic on existing connections.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

export interface LateProxy {
  readonly port: number;
  /** Sets the delay for everything that the server sends from now on. */
  delayAnswers(ms: number): void;
  /** Loses all traffic from now on, on existing and new connections. */
  freeze(): void;
  /** Passes on the traffic of new connections again; those that were frozen stay frozen. */
  thaw(): void;
  close(): Promise<void>;
}

export async function startLateProxy(host: string, port: number): Promise<LateProxy> {
  let delayMs = 0;
  let isFrozen = false;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(port, host);
    const held: Buffer[] = [];
    let isLost = isFrozen;
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
    client.on("data", (chunk) => {
      isLost ||= isFrozen;
      if (!isLost) server.write(chunk);
    });
    server.on("data", (chunk: Buffer) => {
      isLost ||= isFrozen;
      if (isLost) return;
      // A later chunk never overtakes an earlier one, even if its delay is shorter.
      held.push(chunk);
      setTimeout(() => client.write(held.shift() as Buffer), delayMs);
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    port: (proxy.address() as AddressInfo).port,
    delayAnswers(ms) {
      delayMs = ms;
    },
    freeze() {
      isFrozen = true;
    },
    thaw() {
      isFrozen = false;
    },
    async close() {
      const closed = once(proxy, "close");
      proxy.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
