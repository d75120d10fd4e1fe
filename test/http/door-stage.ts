// A door at an address of its own, over a server of gRPC in this process.

import type { Access } from "../../server/access/access.ts";
import { MetricsTokens } from "../../server/access/bearer.ts";
import type { GrpcServer } from "../../server/grpc/server.ts";
import { Callers } from "../../server/http/callers.ts";
import { Door } from "../../server/http/door.ts";
import { CALLS, CONNECTIONS, STREAMS } from "../../server/http/http-bounds.ts";
import { HttpListener } from "../../server/http/listener.ts";

export interface DoorStage {
  readonly door: Door;
  /** Of the verbs. */
  readonly url: string;
  readonly errors: readonly unknown[];
  post(verb: string, body: object, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>;
  stop(): Promise<void>;
}

export async function startDoor(
  { served }: GrpcServer,
  origins: readonly string[] = [],
  gate: Access | null = null,
): Promise<DoorStage> {
  const errors: unknown[] = [];
  const door = new Door({
    served,
    callers: new Callers({
      gate,
      takesTokens: gate !== null,
      allowPlaintextTokens: false,
      metricsTokens: new MetricsTokens(null),
      strangersMayAct: true,
    }),
    origins: new Set(origins),
    open: { calls: ["http_calls", CALLS], streams: ["http_streams", STREAMS] },
  });
  const listener = new HttpListener({
    bound: "http_connections",
    connections: CONNECTIONS,
    tls: null,
    onError: (error) => errors.push(error),
    answer: (request, response, identified) => door.answer(request.url ?? "", request, response, identified),
  });
  const { port } = await listener.start({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${port}/rowlock.v1.LockService`;
  return {
    ...{ door, url, errors },
    post: (verb, body, headers = {}, signal) =>
      fetch(`${url}/${verb}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
        signal: signal ?? null,
      }),
    stop: () => listener.stop(),
  };
}
