// A TCP proxy through which a server answers late: what clients send goes on at once, what the server sends is held back.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

export interface LateProxy {
  readonly port: number;
  /** By how much, for all that the server sends from now on. */
  delayAnswers(ms: number): void;
  close(): Promise<void>;
}

export async function startLateProxy(host: string, port: number): Promise<LateProxy> {
  let delayMs = 0;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(port, host);
    const held: Buffer[] = [];
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
    client.on("data", (chunk) => server.write(chunk));
    server.on("data", (chunk: Buffer) => {
      // One that comes later never overtakes, also when it is held back for less.
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
    async close() {
      const closed = once(proxy, "close");
      proxy.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
