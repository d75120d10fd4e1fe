// A TCP proxy through which a server answers late: what clients send goes on at once, what the server sends is held back. It can
// also lose all that is said on the connections there are.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

export interface LateProxy {
  readonly port: number;
  /** By how much, for all that the server sends from now on. */
  delayAnswers(ms: number): void;
  /** What is said from now on, on these connections and on new ones, is lost. */
  freeze(): void;
  /** The connections that were frozen stay so. */
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
      // The end of one side is the end of the other; errors are that too.
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
