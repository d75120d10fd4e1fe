// A TCP proxy that loses data on demand: an answer (the server acts on the request, and the client's connection is cut
// when the answer comes), whole connections (which the client notices when it next uses them), or all traffic on
// connections that stay open.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

export interface DroppingProxy {
  readonly port: number;
  /** Loses the answer to the next request that ends with `text`. Resolves after that, including `meanwhile`. */
  dropAnswerTo(text: string, meanwhile?: () => Promise<unknown>): Promise<void>;
  /**
   * Loses that request itself: cuts the server's side immediately and the client's after `meanwhile`. Resolves after
   * both.
   */
  dropRequest(text: string, meanwhile?: () => Promise<unknown>): Promise<void>;
  /** Existing connections take nothing any more: each is cut when the client next sends something. */
  loseConnections(): void;
  /** Loses what clients send from now on over existing connections; what the server sends still arrives. */
  mute(): void;
  /** Loses all traffic from now on, in both directions and on new connections, as if the server were frozen. */
  freeze(): void;
  /** Cuts every connection and refuses new ones, like a server that was killed. */
  leave(): void;
  /** Listens again on the same port. */
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

/** What to lose next. */
interface Armed {
  readonly text: Buffer;
  readonly isRequest: boolean;
  readonly meanwhile: () => Promise<unknown>;
  readonly done: () => void;
}

export async function startDroppingProxy(host: string, port: number): Promise<DroppingProxy> {
  let armed: Armed | null = null;
  const sockets = new Set<Socket>();
  const lost = new Set<Socket>();
  const muted = new Set<Socket>();
  let frozen = false;
  const proxy = createServer((client) => {
    const server = connect(port, host);
    let dropping: Armed | null = null;
    const drop = async ({ meanwhile, done }: Armed) => {
      await meanwhile();
      client.destroy();
      done();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      // Closing or failing on one side closes the other.
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        server.destroy();
        if (!dropping) client.destroy();
      });
    }
    client.on("data", (chunk: Buffer) => {
      if (frozen || muted.has(client)) return;
      if (lost.has(client)) {
        client.destroy();
        return;
      }
      if (armed && chunk.subarray(-armed.text.length).equals(armed.text)) {
        dropping = armed;
        armed = null;
        if (dropping.isRequest) {
          server.destroy();
          void drop(dropping);
          return;
        }
      }
      server.write(chunk);
    });
    server.on("data", (chunk) => {
      if (frozen) return;
      if (!dropping) {
        client.write(chunk);
        return;
      }
      void drop(dropping);
      server.removeAllListeners("data");
      server.resume();
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port: ownPort } = proxy.address() as AddressInfo;
  const leave = () => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: ownPort,
    dropAnswerTo: (text, meanwhile = async () => {}) =>
      new Promise((done) => {
        armed = { text: Buffer.from(text), isRequest: false, meanwhile, done };
      }),
    dropRequest: (text, meanwhile = async () => {}) =>
      new Promise((done) => {
        armed = { text: Buffer.from(text), isRequest: true, meanwhile, done };
      }),
    loseConnections() {
      for (const socket of sockets) lost.add(socket);
    },
    mute() {
      for (const socket of sockets) muted.add(socket);
    },
    freeze() {
      frozen = true;
    },
    leave,
    async comeBack() {
      proxy.listen(ownPort, "127.0.0.1");
      await once(proxy, "listening");
    },
    async close() {
      const closed = proxy.listening ? once(proxy, "close") : undefined;
      leave();
      await closed;
    },
  };
}
