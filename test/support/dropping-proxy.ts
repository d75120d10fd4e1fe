// A TCP proxy that loses things. An answer: the request reaches the server, which acts on it, and the client's
// connection is cut when the answer comes. Or whole connections, which the client learns of when it next uses them. Or all
// that is said on connections that stay open.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";

export interface DroppingProxy {
  readonly port: number;
  /** Loses the answer to the next request that ends with `text`. Resolves when it has done so, `meanwhile` included. */
  dropAnswerTo(text: string, meanwhile?: () => Promise<unknown>): Promise<void>;
  /** Loses that request itself: the server's side is cut at once, the client's after `meanwhile`. Likewise. */
  dropRequest(text: string, meanwhile?: () => Promise<unknown>): Promise<void>;
  /** The connections there are take nothing any more: each is cut when the client next sends something. */
  loseConnections(): void;
  /** Loses what clients send from now on over the connections there are; what the server sends still arrives. */
  mute(): void;
  /** Loses all that is sent from now on, both ways and on new connections, as if the server were frozen. */
  freeze(): void;
  /** Cuts every connection and refuses new ones, as a server does that was killed. */
  leave(): void;
  /** On the same port. */
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

/** What is to be lost next. */
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
      // The end of one side is the end of the other; errors are that too.
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
