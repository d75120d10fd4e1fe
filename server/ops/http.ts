// The HTTP listener for operators: /metrics, /healthz (the process is alive), /readyz (decisions get through), and what
// the page for people answers. If there are tokens, /metrics needs one, as it shows the classes of locks and their use. The
// probes stay open: orchestrators have no token, and learn only whether the server works. So anybody who reaches the port
// may connect, and nothing that they leave open keeps a probe out: connections.ts says who goes. It shows no secrets.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { MetricsTokens } from "../access/bearer.ts";
import type { ListenAddress } from "../config/addresses.ts";
import type { TlsMaterial } from "../config/tls-files.ts";
import type { BoundUse } from "../core/bound-use.ts";
import { HttpListener } from "../http/listener.ts";
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
  /** What answers more paths than this listener's own. */
  readonly more: readonly {
    has(path: string): boolean;
    /** `identified`: to be called when the sender has proved who it is. */
    answer(
      path: string,
      request: IncomingMessage,
      response: ServerResponse,
      identified: () => void,
    ): Promise<void>;
  }[];
  /** Called when a page failed; its caller got status 500. */
  readonly onError: (error: unknown) => void;
}

export class MetricsHttp {
  readonly #options: MetricsHttpOptions;
  readonly #listener: HttpListener;

  constructor(options: MetricsHttpOptions) {
    this.#options = options;
    this.#listener = new HttpListener({
      bound: "ops_connections",
      connections: bounds.CONNECTIONS,
      tls: options.tls,
      answer: (...http) => this.#show(...http),
      onError: options.onError,
    });
  }

  get bounds(): readonly BoundUse[] {
    return [this.#listener.bound];
  }

  /** New connections get this material; the others go on. No effect on a listener without TLS. */
  setTls(tls: TlsMaterial): void {
    this.#listener.setTls(tls);
  }

  /** Listens and returns the bound address; port 0 takes a free one. Rejects if the address is not available. */
  start(address: ListenAddress): Promise<ListenAddress> {
    return this.#listener.start(address);
  }

  /** Ends all connections. Can be called twice, and without a start. */
  stop(): Promise<void> {
    return this.#listener.stop();
  }

  async #show(request: IncomingMessage, response: ServerResponse, identified: () => void): Promise<void> {
    const path = (request.url ?? "").replace(/\?.*$/, "");
    const { more, tokens, metrics, readiness } = this.#options;
    const other = more.find((each) => each.has(path));
    if (other) {
      if (this.#listener.size > bounds.CROWDED_CONNECTIONS) response.setHeader("connection", "close");
      return await other.answer(path, request, response, identified);
    }
    if (!PATHS.includes(path)) {
      const paths = more.length > 0 ? ["/", ...PATHS] : PATHS;
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
