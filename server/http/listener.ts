// A listener for HTTP whose clients may be strangers: it bounds their connections, and ends those that are slow, silent or do not
// read. What is at which path is for others to say.

import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { createServer as createTlsServer, Server as TlsServer } from "node:https";
import type { AddressInfo, BlockList, Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { ListenAddress } from "../config/addresses.ts";
import { secureOptions, type TlsMaterial } from "../config/tls-files.ts";
import type { BoundUse } from "../core/bound-use.ts";
import { eachConnection, namedByProxy } from "../grpc/proxy-header.ts";
import { type ConnectionBounds, Connections } from "./connections.ts";
import * as bounds from "./http-bounds.ts";

export interface ListenerOptions {
  /** How its bound of connections is named. */
  readonly bound: "ops_connections" | "http_connections";
  readonly connections: ConnectionBounds;
  /** null: plain HTTP. Clients need no certificate. */
  readonly tls: TlsMaterial | null;
  /** Whose connections begin with a header of the PROXY protocol; unset: nobody's. */
  readonly proxies?: BlockList | undefined;
  /** `identified`: to be called when the sender has proved who it is. */
  readonly answer: (
    request: IncomingMessage,
    response: ServerResponse,
    identified: () => void,
  ) => Promise<void>;
  /** Called when `answer` has failed; its caller got status 500. */
  readonly onError: (error: unknown) => void;
}

export class HttpListener {
  readonly #options: ListenerOptions;
  #tls: TlsMaterial | null;
  #server: Server | TlsServer | undefined;
  /** Also those that have not finished their TLS handshake, which Node's own list leaves out. */
  readonly #connections: Connections<Socket>;
  /** By what requests have as their socket: over TLS, that is another one than the connection's. */
  readonly #connectionOf = new WeakMap<Socket, Socket>();
  /** Of requests that are not answered, or whose answers are not written. */
  readonly #answers = new Set<ServerResponse>();
  /** Of connections whose TLS handshake is not over, by both ends. */
  readonly #shaking = new Map<string, Socket>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#tls = options.tls;
    this.#connections = new Connections(options.bound, options.connections);
  }

  get bound(): BoundUse {
    return this.#connections.bound;
  }

  /** How many connections are open. */
  get size(): number {
    return this.#connections.size;
  }

  /** New connections get this material; the others go on. No effect on a listener without TLS. */
  setTls(tls: TlsMaterial): void {
    if (!this.#tls) return;
    this.#tls = tls;
    if (this.#server && "setSecureContext" in this.#server) this.#server.setSecureContext(ownOptions(tls));
  }

  /** Listens and returns the bound address; port 0 takes a free one. Rejects if the address is not available. */
  async start(address: ListenAddress): Promise<ListenAddress> {
    this.#server ??= await this.#listen(address);
    const bound = this.#server.address() as AddressInfo;
    return { host: bound.address, port: bound.port };
  }

  /** Ends all connections, when what was answered has been written. Can be called twice, and without a start. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    // What ends a call, such as this stop, has told it before; its answer is on its way.
    await setImmediate();
    await Promise.all(Array.from(this.#answers, written));
    for (const socket of this.#connections.keys()) socket.destroy();
    await closed.promise;
  }

  async #listen(address: ListenAddress): Promise<Server | TlsServer> {
    const answer: RequestListener = (request, response) => void this.#answer(request, response);
    const tls = this.#tls && { ...ownOptions(this.#tls), handshakeTimeout: bounds.IDLE_MS_MAX };
    const server = tls ? createTlsServer({ ...TIMES, ...tls }, answer) : createServer(TIMES, answer);
    const { proxies } = this.#options;
    if (proxies) eachConnection(server, (socket, begin) => namedByProxy(socket, proxies, begin));
    server.on("connection", (socket: Socket) => this.#connected(socket, server));
    server.on("secureConnection", (secured: Socket) => {
      const ends = endsOf(secured);
      const socket = this.#shaking.get(ends);
      this.#shaking.delete(ends);
      if (socket) this.#connectionOf.set(secured, socket);
      else secured.destroy();
    });
    // What reads the body says when it goes on. Otherwise Node says so at once, before anybody knows who sends it.
    server.on("checkContinue", answer);
    const listening = Promise.withResolvers<void>();
    server.once("error", listening.reject);
    server.listen(address.port, address.host, listening.resolve);
    await listening.promise;
    return server;
  }

  #connected(socket: Socket, server: Server | TlsServer): void {
    const ends = endsOf(socket);
    // It has gone.
    if (socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    this.#connections.enter(socket, socket.remoteAddress)?.destroy();
    if (server instanceof TlsServer) this.#shaking.set(ends, socket);
    else this.#connectionOf.set(socket, socket);
    socket.once("close", () => {
      this.#connections.leave(socket);
      if (this.#shaking.get(ends) === socket) this.#shaking.delete(ends);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const socket = this.#connectionOf.get(request.socket);
    if (!socket) {
      request.socket.destroy();
      return;
    }
    const requests = this.#connections.began(socket);
    this.#answers.add(response);
    response.once("close", () => {
      this.#answers.delete(response);
      this.#connections.ended(socket);
    });
    if (requests > bounds.REQUESTS_AT_ONCE_MAX) {
      socket.destroy();
      return;
    }
    // Requests that come together are all counted before there is work for any of them.
    await setImmediate();
    if (socket.destroyed) return;
    const identified = () => this.#connections.known(socket);
    try {
      await this.#options.answer(request, response, identified);
    } catch (error) {
      // Its caller has gone before the request was there.
      if (request.destroyed && !request.complete) return;
      this.#options.onError(error);
      if (response.headersSent) response.destroy();
      else
        response
          .writeHead(500, { "content-type": "text/plain" })
          .end("Internal error; the log has the cause.\n");
    } finally {
      endUnread(request, response, socket);
    }
  }
}

const TIMES = {
  headersTimeout: bounds.IDLE_MS_MAX,
  requestTimeout: bounds.REQUEST_MS_MAX,
  keepAliveTimeout: bounds.IDLE_MS_MAX,
  connectionsCheckingInterval: bounds.LATE_CHECK_MS,
};

/** Resolves when an answer has been written, if there is one, or after a short time. */
function written(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (!response.writableEnded || response.writableFinished) resolve();
  const timer = setTimeout(resolve, bounds.LINGER_MS);
  response.once("finish", resolve).once("close", resolve);
  return promise.finally(() => clearTimeout(timer));
}

/** Ends the connection if its client does not read the answer, or does not stop to send what was answered. */
function endUnread(request: IncomingMessage, response: ServerResponse, socket: Socket): void {
  const endAfter = (timeMs: number) => {
    const timer = setTimeout(() => socket.destroy(), timeMs).unref();
    return () => clearTimeout(timer);
  };
  if (!response.closed) response.once("close", endAfter(bounds.READ_MS_MAX));
  if (request.complete) return;
  // Read, and not kept.
  request.resume();
  const inTime = endAfter(bounds.LINGER_MS);
  request.once("end", inTime).once("close", inTime);
}

/** Both ends of a connection, which no other open one has. */
function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** Without the authorities of gRPC's clients: nobody needs a certificate here. */
function ownOptions(tls: TlsMaterial) {
  return secureOptions({ ...tls, clientCa: null });
}
