// A server in this process with its page: the port for operators, who may use it, and requests to it.

import { afterEach } from "vitest";
import { MetricsTokens } from "../../server/access/bearer.ts";
import type { GrpcServer } from "../../server/grpc/server.ts";
import { Callers, type CallersOptions } from "../../server/http/callers.ts";
import { Door } from "../../server/http/door.ts";
import { MetricsHttp } from "../../server/ops/http.ts";
import { Readiness } from "../../server/ops/readiness.ts";
import { Activity } from "../../server/page/activity.ts";
import type { Files } from "../../server/page/assets.ts";
import { Page } from "../../server/page/page.ts";
import { PAGE_CALLS, PAGE_WATCHES } from "../../server/page/page-bounds.ts";
import { type StartOptions, startServer, type TestServer } from "../support/harness.ts";
import { EventReader, type Json } from "./event-reader.ts";
import { type Answered, type Asked, answered, posted, sent } from "./requests.ts";

export { knownCallers, knownPolicy } from "../support/known-callers.ts";

export const FILES: Files = new Map([
  ["index.html", Buffer.from("<!doctype html><title>Rowlock</title>")],
  ["page.js", Buffer.from("export {};")],
  ["page.css", Buffer.from("body{}")],
]);

export interface PageServer extends TestServer {
  readonly port: number;
  readonly door: Door;
  /** Who uses the page. */
  readonly callers: Callers;
  readonly readiness: Readiness;
  readonly metricsTokens: MetricsTokens;
  readonly errors: readonly unknown[];
  /** How many are open at the port for operators. */
  connections(): number;
  /** Sends a request with the page's header. */
  ask(path: string, asked?: Asked): Promise<Answered>;
  /** Calls a verb, and answers with its JSON. */
  call(verb: string, body: object, token?: string): Promise<Json>;
  /** Opens a watch. `from`: the loopback address that it comes from. */
  watch(prefix: string, token?: string, from?: string): Promise<EventReader>;
}

export interface PageServerOptions
  extends Pick<StartOptions, "grpc" | "wrapEngine" | "tracer">,
    Partial<CallersOptions> {
  readonly metricsToken?: string;
  /** What /metrics shows. */
  readonly metrics?: string;
}

const stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** Starts one that stops after the test. By default it asks nobody who calls. */
export async function startPageServer({
  metricsToken,
  metrics = "up 1\n",
  grpc = {},
  wrapEngine,
  tracer,
  ...options
}: PageServerOptions = {}): Promise<PageServer> {
  const gate = options.gate ?? null;
  const server = await startServer({
    grpc: { ...grpc, ...(gate && { gate }) },
    ...(wrapEngine && { wrapEngine }),
    ...(tracer && { tracer }),
  });
  stops.push(() => server.stop());
  const errors: unknown[] = [];
  const metricsTokens = new MetricsTokens(metricsToken === undefined ? null : [metricsToken]);
  const readiness = new Readiness({ probe: async () => {} });
  const asked = {
    takesTokens: gate !== null,
    allowPlaintextTokens: false,
    metricsTokens,
    strangersMayAct: true,
    ...options,
    gate,
  };
  const { served } = server.grpc as GrpcServer;
  const callers = new Callers(asked);
  const door = new Door({
    served,
    callers,
    origins: new Set(),
    open: { calls: ["page_calls", PAGE_CALLS], streams: ["page_watches", PAGE_WATCHES] },
  });
  const page = new Page({
    callers,
    open: door.calls,
    faultLog: served.faultLog,
    activity: new Activity(),
    readiness,
    server: { version: "1.2.3", database: "SQLite 3", replica: String(server.engine.replica) },
    files: FILES,
  });
  const http = new MetricsHttp({
    metrics: { render: async () => ({ text: metrics, contentType: "text/plain" }) },
    readiness,
    tls: null,
    tokens: metricsTokens,
    more: [door, page],
    onError: (error) => errors.push(error),
  });
  stops.push(() => http.stop());
  const { port } = await http.start({ host: "127.0.0.1", port: 0 });
  const ask = async (path: string, asked: Asked = {}) => answered(await sent(port, path, asked));
  return {
    ...server,
    port,
    door,
    callers,
    readiness,
    metricsTokens,
    errors,
    connections: () => http.bounds.reduce((sum, { used }) => sum + used, 0),
    ask,
    async call(verb, body, token) {
      const { json } = await ask(`/rowlock.v1.LockService/${verb}`, posted(body, token));
      return json;
    },
    async watch(prefix, token, from = "127.0.0.1") {
      const { headers, ...rest } = posted({ prefix }, token);
      const asked = { ...rest, headers: { ...headers, accept: "text/event-stream" }, from };
      const reader = new EventReader(await sent(port, "/rowlock.v1.LockService/WatchLocks", asked));
      stops.push(async () => reader.leave());
      return reader;
    },
  };
}
