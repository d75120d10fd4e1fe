// What answers over HTTP: at the port for operators the page and the door through which it calls, and at an address of its own the
// door alone, for everybody. The code of a door is only loaded if there is one.

import type { Access } from "./access/access.ts";
import { MetricsTokens } from "./access/bearer.ts";
import { blockListOf, isLoopback, type ListenAddress } from "./config/addresses.ts";
import type { Config } from "./config/config.ts";
import type { TlsMaterial } from "./config/tls-files.ts";
import type { Served } from "./grpc/call-frame.ts";
import type { PageOptions } from "./page/page.ts";

export interface HttpOptions {
  readonly config: Pick<Config, "access" | "allowPlaintextTokens" | "httpOrigins" | "proxyAddresses">;
  readonly served: Served;
  /** null: the server asks nobody who calls. */
  readonly gate: Access | null;
}

/** The page, and the door beside it. */
export async function pageAt(
  { host }: ListenAddress,
  {
    metricsTokens,
    ...page
  }: Omit<PageOptions, "callers" | "open" | "faultLog"> & { readonly metricsTokens: MetricsTokens },
  options: HttpOptions,
) {
  const { Page } = await import("./page/page.ts");
  const { PAGE_CALLS, PAGE_WATCHES } = await import("./page/page-bounds.ts");
  const { Door } = await import("./http/door.ts");
  const callers = await callersOf(options, metricsTokens, isLoopback(host));
  const { served } = options;
  const open = { calls: ["page_calls", PAGE_CALLS], streams: ["page_watches", PAGE_WATCHES] } as const;
  const door = new Door({ served, callers, open, origins: new Set() });
  return { door, page: new Page({ ...page, callers, open: door.calls, faultLog: served.faultLog }) };
}

/** The door alone, at an address of its own. */
export async function doorAlone(
  tls: TlsMaterial | null,
  onError: (error: unknown) => void,
  options: HttpOptions,
) {
  const { Door } = await import("./http/door.ts");
  const { HttpListener } = await import("./http/listener.ts");
  const { CALLS, CONNECTIONS, STREAMS } = await import("./http/http-bounds.ts");
  const callers = await callersOf(options, new MetricsTokens(null), true);
  const { httpOrigins, proxyAddresses } = options.config;
  const open = { calls: ["http_calls", CALLS], streams: ["http_streams", STREAMS] } as const;
  const door = new Door({
    served: options.served,
    callers,
    open,
    origins: new Set(httpOrigins),
  });
  const listener = new HttpListener({
    bound: "http_connections",
    connections: CONNECTIONS,
    tls,
    proxies: proxyAddresses ? blockListOf(proxyAddresses) : undefined,
    onError,
    async answer(request, response, identified) {
      const path = (request.url ?? "").replace(/\?.*$/, "");
      if (door.has(path)) await door.answer(path, request, response, identified);
      else
        response
          .writeHead(404, { "content-type": "text/plain" })
          .end("Not found. There are /rowlock.v1.LockService/, /terraform/ and /openapi.json.\n");
    },
  });
  return { listener, bounds: () => [listener.bound, ...door.bounds] };
}

async function callersOf(
  { config: { access, allowPlaintextTokens }, gate }: HttpOptions,
  metricsTokens: MetricsTokens,
  strangersMayAct: boolean,
) {
  const { Callers } = await import("./http/callers.ts");
  const takesTokens = (access?.tokens ?? access?.jwt ?? null) !== null;
  return new Callers({ gate, takesTokens, allowPlaintextTokens, metricsTokens, strangersMayAct });
}
