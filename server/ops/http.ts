// The HTTP listener for operators: /metrics, /healthz (the process is alive), /readyz (decisions get through), and what
// the page for people answers. Over TLS if it gets a certificate. It shows no secrets. If there are tokens, /metrics
// needs one, because it shows the classes of locks and how much they are used. The probes stay open: orchestrators and
// load balancers have no token, and learn only whether the server works.

import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { ListenAddress } from "../config/listen-address.ts";
import { secureOptions, type TlsMaterial } from "../config/tls-files.ts";
import type { MetricsTokens } from "./metrics-tokens.ts";
import type { Ready } from "./readiness.ts";

/** Scrapers and probes are few, and the page takes few browsers; more connections are a mistake or an attack. */
const CONNECTIONS_MAX = 200;
/** Beyond as many connections, browsers lose theirs after each answer, so that scrapers and probes find one. */
const CROWDED_CONNECTIONS = 100;
const REQUEST_MS_MAX = 10_000;

export interface MetricsHttpOptions {
  readonly metrics: {
    render(accept?: string): Promise<{ readonly text: string; readonly contentType: string }>;
  };
  readonly readiness: { check(): Promise<Ready> };
  /** null: plain HTTP. Clients need no certificate. */
  readonly tls: TlsMaterial | null;
  /** What opens /metrics. */
  readonly tokens: Pick<MetricsTokens, "knows">;
  /** Answers more paths than this listener's own; null: there are no more. */
  readonly page: {
    has(path: string): boolean;
    answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
  } | null;
  /** Called when a page failed; its caller got status 500. */
  readonly onError: (error: unknown) => void;
}

export class MetricsHttp {
  readonly #options: MetricsHttpOptions;
  #tls: TlsMaterial | null;
  #server: Server | TlsServer | undefined;
  /** Also those that have not finished their TLS handshake, which Node's own list leaves out. */
  readonly #sockets = new Set<Socket>();

  constructor(options: MetricsHttpOptions) {
    this.#options = options;
    this.#tls = options.tls;
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
    for (const socket of this.#sockets) socket.destroy();
    await closed.promise;
  }

  async #listen(address: ListenAddress): Promise<Server | TlsServer> {
    const bounds = { requestTimeout: REQUEST_MS_MAX };
    const answer: RequestListener = (request, response) => void this.#answer(request, response);
    const server = this.#tls
      ? createTlsServer({ ...bounds, ...ownOptions(this.#tls), handshakeTimeout: REQUEST_MS_MAX }, answer)
      : createServer(bounds, answer);
    server.maxConnections = CONNECTIONS_MAX;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    const listening = Promise.withResolvers<void>();
    server.once("error", listening.reject);
    server.listen(address.port, address.host, listening.resolve);
    await listening.promise;
    return server;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const path = (request.url ?? "").replace(/\?.*$/, "");
      const { page: forPeople } = this.#options;
      if (forPeople?.has(path)) {
        if (this.#sockets.size > CROWDED_CONNECTIONS) response.setHeader("connection", "close");
        return await forPeople.answer(path, request, response);
      }
      const page = PAGES.get(path);
      if (!page) {
        const paths = [...(forPeople ? ["/"] : []), ...PAGES.keys()];
        return send(response, 404, `Not found. There are ${paths.join(", ")}.\n`);
      }
      if (request.method !== "GET" && request.method !== "HEAD") {
        response.setHeader("allow", "GET, HEAD");
        return send(response, 405, "Only GET and HEAD.\n");
      }
      // Of several headers, Node shows only the first: a proxy in front may have checked another.
      const { authorization: given = [] } = request.headersDistinct;
      if (page.isGuarded && (given.length > 1 || !this.#options.tokens.knows(given[0]))) {
        response.setHeader("www-authenticate", 'Bearer realm="rowlock"');
        return send(response, 401, "A token is needed: authorization: Bearer <token>.\n");
      }
      const { status, text, contentType } = await page.show(this.#options, request.headers.accept);
      send(response, status, text, contentType);
    } catch (error) {
      // Its caller has gone before the request was there.
      if (request.destroyed && !request.complete) return;
      this.#options.onError(error);
      if (response.headersSent) response.destroy();
      else send(response, 500, "Internal error; the log has the cause.\n");
    }
  }
}

/** Without the authorities of gRPC's clients: nobody needs a certificate here. */
function ownOptions(tls: TlsMaterial) {
  return secureOptions({ ...tls, clientCa: null });
}

interface Page {
  /** It needs a token, if there are any. */
  readonly isGuarded: boolean;
  readonly show: (options: MetricsHttpOptions, accept: string | undefined) => Promise<Shown>;
}

interface Shown {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
}

const PAGES = new Map<string, Page>([
  [
    "/metrics",
    {
      isGuarded: true,
      show: async ({ metrics }, accept) => ({ status: 200, ...(await metrics.render(accept)) }),
    },
  ],
  ["/healthz", { isGuarded: false, show: async () => ({ status: 200, text: "ok\n" }) }],
  [
    "/readyz",
    {
      isGuarded: false,
      async show({ readiness }) {
        const answer = await readiness.check();
        return answer.ready
          ? { status: 200, text: "ready\n" }
          : { status: 503, text: `not ready: ${answer.reason}\n` };
      },
    },
  ],
]);

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
