// The HTTP listener for operators: /metrics, /healthz (the process is alive), /readyz (decisions get through), and what
// the page for people answers. If there are tokens, /metrics needs one, as it shows the classes of locks and their use. The
// probes stay open: orchestrators have no token, and learn only whether the server works. So anybody who reaches the port
// may connect, and nothing that they leave open keeps a probe out: connections.ts says who goes. It shows no secrets.

import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { createServer as createTlsServer, Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { MetricsTokens } from "../access/bearer.ts";
import type { ListenAddress } from "../config/addresses.ts";
import { secureOptions, type TlsMaterial } from "../config/tls-files.ts";
import type { BoundUse } from "../core/bound-use.ts";
import { Connections } from "./connections.ts";
import * as bounds from "./ops-bounds.ts";
import type { Ready } from "./readiness.ts";

export interface MetricsHttpOptions {
  readonly metrics: {
    render(accept?: string): Promise<{ readonly text: string; readonly contentType: string }>;
  };
  readonly readiness: { check(): Promise<Ready> };
  /** null: plain HTTP. Clients need no certificate. */
  readonly tls: TlsMaterial | null;
  readonly tokens: MetricsTokens;
  /** Answers more paths than this listener's own; null: there are no more. */
  readonly page: {
    has(path: string): boolean;
    /** `identified`: to be called when the sender has proved who it is. */
    answer(
      path: string,
      request: IncomingMessage,
      response: ServerResponse,
      identified: () => void,
    ): Promise<void>;
  } | null;
  /** Called when a page failed; its caller got status 500. */
  readonly onError: (error: unknown) => void;
}

export class MetricsHttp {
  readonly #options: MetricsHttpOptions;
  #tls: TlsMaterial | null;
  #server: Server | TlsServer | undefined;
  /** Also those that have not finished their TLS handshake, which Node's own list leaves out. */
  readonly #connections = new Connections<Socket>({
    max: bounds.CONNECTIONS_MAX,
    ofNetworkMax: bounds.CONNECTIONS_OF_NETWORK_MAX,
    few: bounds.CONNECTIONS_FEW,
  });
  /** By what requests have as their socket: over TLS, that is another one than the connection's. */
  readonly #connectionOf = new WeakMap<Socket, Socket>();
  /** Of connections whose TLS handshake is not over, by both ends. */
  readonly #shaking = new Map<string, Socket>();

  constructor(options: MetricsHttpOptions) {
    this.#options = options;
    this.#tls = options.tls;
  }

  get bounds(): readonly BoundUse[] {
    return [this.#connections.bound];
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

  /** Ends all connections. Can be called twice, and without a start. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    for (const socket of this.#connections.keys()) socket.destroy();
    await closed.promise;
  }

  async #listen(address: ListenAddress): Promise<Server | TlsServer> {
    const answer: RequestListener = (request, response) => void this.#answer(request, response);
    const tls = this.#tls && { ...ownOptions(this.#tls), handshakeTimeout: bounds.IDLE_MS_MAX };
    const server = tls ? createTlsServer({ ...TIMES, ...tls }, answer) : createServer(TIMES, answer);
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
    response.once("close", () => this.#connections.ended(socket));
    if (requests > bounds.REQUESTS_AT_ONCE_MAX) {
      socket.destroy();
      return;
    }
    // Requests that come together are all counted before there is work for any of them.
    await setImmediate();
    if (socket.destroyed) return;
    const identified = () => this.#connections.known(socket);
    try {
      await this.#show(request, response, identified);
    } catch (error) {
      // Its caller has gone before the request was there.
      if (request.destroyed && !request.complete) return;
      this.#options.onError(error);
      if (response.headersSent) response.destroy();
      else send(response, 500, "Internal error; the log has the cause.\n");
    } finally {
      endUnread(request, response, socket);
    }
  }

  async #show(request: IncomingMessage, response: ServerResponse, identified: () => void): Promise<void> {
    const path = (request.url ?? "").replace(/\?.*$/, "");
    const { page, tokens, metrics, readiness } = this.#options;
    if (page?.has(path)) {
      if (this.#connections.size > bounds.CROWDED_CONNECTIONS) response.setHeader("connection", "close");
      return await page.answer(path, request, response, identified);
    }
    if (!PATHS.includes(path)) {
      const paths = page ? ["/", ...PATHS] : PATHS;
      return send(response, 404, `Not found. There are ${paths.join(", ")}.\n`);
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return send(response, 405, "Only GET and HEAD.\n");
    }
    if (path === "/healthz") return send(response, 200, "ok\n");
    if (path === "/readyz") {
      const answer = await readiness.check();
      if (answer.ready) return send(response, 200, "ready\n");
      return send(response, 503, `not ready: ${answer.reason}\n`);
    }
    // Of several headers, Node shows only the first: a proxy in front may have checked another.
    const { authorization: given = [] } = request.headersDistinct;
    if (given.length > 1 || !tokens.knows(given[0])) {
      response.setHeader("www-authenticate", 'Bearer realm="rowlock"');
      return send(response, 401, "A token is needed: authorization: Bearer <token>.\n");
    }
    if (tokens.areAsked) identified();
    const { text, contentType } = await metrics.render(request.headers.accept);
    send(response, 200, text, contentType);
  }
}

/** Of this listener itself. */
const PATHS = ["/metrics", "/healthz", "/readyz"];

const TIMES = {
  headersTimeout: bounds.IDLE_MS_MAX,
  requestTimeout: bounds.REQUEST_MS_MAX,
  keepAliveTimeout: bounds.IDLE_MS_MAX,
  connectionsCheckingInterval: bounds.LATE_CHECK_MS,
};

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

function send(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, {
    "content-type": contentType,
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  response.end(text);
}
