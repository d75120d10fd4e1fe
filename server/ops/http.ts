// The HTTP listener for operators: /metrics, /healthz (the process is alive), /readyz (decisions get through). It is
// plain text and open to everybody who can reach it, so it answers only reads and shows no secrets.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ListenAddress } from "../config/listen-address.ts";
import type { Ready } from "./readiness.ts";

/** Scrapers and probes are few; more connections are a mistake or an attack. */
const CONNECTIONS_MAX = 100;
const REQUEST_MS_MAX = 10_000;

export interface MetricsHttpOptions {
  readonly metrics: { readonly contentType: string; render(): Promise<string> };
  readonly readiness: { check(): Promise<Ready> };
  /** Called when a page failed; its caller got status 500. */
  readonly onError: (error: unknown) => void;
}

export class MetricsHttp {
  readonly #options: MetricsHttpOptions;
  #server: Server | undefined;

  constructor(options: MetricsHttpOptions) {
    this.#options = options;
  }

  /** Listens and returns the bound address; port 0 takes a free one. Rejects if the address is not available. */
  async start(address: ListenAddress): Promise<ListenAddress> {
    this.#server ??= await listen(address, (request, response) => this.#answer(request, response));
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
    server.closeAllConnections();
    await closed.promise;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const page = PAGES.get((request.url ?? "").replace(/\?.*$/, ""));
      if (!page) return send(response, 404, `Not found. There are ${[...PAGES.keys()].join(", ")}.\n`);
      if (request.method !== "GET" && request.method !== "HEAD") {
        response.setHeader("allow", "GET, HEAD");
        return send(response, 405, "Only GET and HEAD.\n");
      }
      const { status, text, contentType } = await page(this.#options);
      send(response, status, text, contentType);
    } catch (error) {
      this.#options.onError(error);
      send(response, 500, "Internal error; the log has the cause.\n");
    }
  }
}

interface Page {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
}

const PAGES = new Map<string, (options: MetricsHttpOptions) => Promise<Page>>([
  [
    "/metrics",
    async ({ metrics }) => ({ status: 200, text: await metrics.render(), contentType: metrics.contentType }),
  ],
  ["/healthz", async () => ({ status: 200, text: "ok\n" })],
  [
    "/readyz",
    async ({ readiness }) => {
      const answer = await readiness.check();
      return answer.ready
        ? { status: 200, text: "ready\n" }
        : { status: 503, text: `not ready: ${answer.reason}\n` };
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

async function listen(
  address: ListenAddress,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Server> {
  const server = createServer({ requestTimeout: REQUEST_MS_MAX }, (request, response) => {
    void answer(request, response);
  });
  server.maxConnections = CONNECTIONS_MAX;
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(address.port, address.host, listening.resolve);
  await listening.promise;
  return server;
}
