// An HTTP proxy as machines have one in http_proxy: it connects to whatever a client asks for by CONNECT, and keeps what
// was asked and said.

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxy {
  /** As a variable of the environment names it. */
  readonly url: string;
  /** `host:port` of each connection that was asked for. */
  readonly asked: readonly string[];
  /** All bytes from clients, also those that were no CONNECT. */
  readonly heard: () => string;
  close(): Promise<void>;
}

export interface ConnectProxyOptions {
  /** Where it connects instead, by the host that was asked for. */
  readonly hosts?: Readonly<Record<string, { readonly host: string; readonly port: number }>>;
  /** Refuses all connections with this status. */
  readonly refusal?: string;
}

export async function startConnectProxy({
  hosts = {},
  refusal,
}: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const asked: string[] = [];
  const heard: Buffer[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("data", () => {});
    return socket;
  };
  const server = createServer((_, response) => void response.writeHead(400).end());
  server.on("connection", (socket: Socket) => {
    keep(socket);
    socket.on("data", (bytes: Buffer) => heard.push(bytes));
  });
  server.on("connect", ({ url = "", headers }: IncomingMessage, client: Socket, head: Buffer) => {
    asked.push(url);
    heard.push(Buffer.from(JSON.stringify(headers)));
    if (refusal !== undefined) {
      client.end(`HTTP/1.1 ${refusal}\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${url}`);
    const there = keep(
      connect(hosts[hostname] ?? { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) }),
    );
    there.on("connect", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      there.write(head);
      client.pipe(there).pipe(client);
    });
    there.on("close", () => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    heard: () => Buffer.concat(heard).toString("latin1"),
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
