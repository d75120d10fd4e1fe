// Servers in this process: an engine, a chosen store and a gRPC server, assembled as the app does it, but with access
// to every part. Several servers may share one database.

import type { Duration } from "@bufbuild/protobuf/wkt";
import { expect, onTestFinished } from "vitest";
import { msOf } from "../../clients/typescript/src/times.ts";
import type { Asked, Event } from "../../server/core/command.ts";
import type { Policy } from "../../server/core/rows.ts";
import type { Tracer } from "../../server/core/span.ts";
import type { AnswerTo, WatchEvent } from "../../server/engine/answers.ts";
import type { Engine, LockEngine } from "../../server/engine/engine.ts";
import type { CallObserver, Via } from "../../server/grpc/call-observer.ts";
import type { GrpcServer, GrpcServerOptions } from "../../server/grpc/server.ts";
import { createGrpcServer } from "../../server/grpc/server.ts";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import { begunVerbs } from "./begun-verbs.ts";
import { NO_BOUND } from "./no-bound.ts";
import { drainingInTime, drainMs, stopInTime } from "./stop-in-time.ts";
import { TestCalls } from "./test-calls.ts";
import { startEngine } from "./test-engine.ts";
import { wrapped } from "./wrapped-store.ts";

export { until } from "./until.ts";

/** Makes the clients that servers come with. */
let clientOf = (address: string, _grpc: GrpcServer) => new TestCalls(address);

/** From now on, servers of this process come with such clients, whose calls use another transport. */
export function useClients(make: typeof clientOf): void {
  clientOf = make;
}

export interface StartOptions {
  /** A new in-memory database by default. */
  readonly url?: string;
  /** The port of an earlier server; a free port by default. */
  readonly port?: number;
  readonly rules?: Partial<Policy>;
  /** Wraps the store below the engine: to watch what is read. */
  readonly wrapStore?: (store: Store) => Store;
  /** Wraps the engine below the gRPC server: to inject faults and to watch. */
  readonly wrapEngine?: (engine: LockEngine) => LockEngine;
  readonly grpc?: Partial<GrpcServerOptions>;
  /** Traces the calls; none by default. */
  readonly tracer?: Tracer;
}

/** A call that ended, as metrics see it. */
export interface SeenCall {
  readonly method: string;
  readonly code: string;
  readonly seconds: number;
  readonly via: Via;
}

/** Ignores everything. */
export const silentObserver: CallObserver = {
  call() {},
  streamOpened() {},
  streamClosed() {},
  sessionClosed() {},
  sessionMessage() {},
  poke() {},
};

export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface TestServer {
  /** The URL of its database. */
  readonly url: string;
  /** host:port */
  readonly address: string;
  readonly client: TestCalls;
  readonly grpc: GrpcServer;
  readonly engine: Engine;
  readonly store: Store;
  /** Events about claims and limits, in order. */
  readonly events: readonly Event[];
  /** Events about watches of locks, in order. */
  readonly watchEvents: readonly WatchEvent[];
  readonly calls: readonly SeenCall[];
  readonly openStreams: () => number;
  readonly openSessions: () => number;
  /** How sessions ended: names of the status codes, in order. */
  readonly sessionEnds: readonly string[];
  readonly logLines: readonly LogLine[];
  /** Failures of background loops; a test that expects none looks here. */
  readonly loopFailures: readonly unknown[];
  /** Resolves with the next event that fits, or with an earlier one. */
  event(fits: (event: Event) => boolean): Promise<Event>;
  stop(): Promise<void>;
}

export async function startServer(options: StartOptions = {}): Promise<TestServer> {
  const url = options.url ?? "sqlite::memory:";
  await migrateUp(url);
  const opened = await openStore(url);
  const store = options.wrapStore?.(opened) ?? opened;
  const seen = new Seen();
  const { tracer } = options;
  const started = await startEngine(store, options.rules, null, tracer !== undefined);
  const { engine, policy, events, watchEvents, failures, event } = started;
  const grpc = drainingInTime(
    createGrpcServer({
      engine: options.wrapEngine?.(engine) ?? engine,
      observer: seen,
      logger: seen.logger,
      tls: null,
      graceMs: policy.graceUs / 1_000,
      capacity: NO_BOUND,
      streamsMax: 1_000,
      replica: String(engine.replica),
      sessionWaitsMax: 5_000,
      sessionCommandsMax: 5_000,
      receiveBytesMax: 65_536,
      reflection: true,
      tracer,
      ...options.grpc,
    }),
  );
  const { host, port } = await grpc.start({ host: "127.0.0.1", port: options.port ?? 0 });
  const address = `${host}:${port}`;
  const client = clientOf(address, grpc);
  return {
    url,
    address,
    client,
    grpc,
    engine,
    store,
    events,
    watchEvents,
    calls: seen.calls,
    openStreams: () => seen.openStreams,
    openSessions: () => grpc.bounds().find(({ bound }) => bound === "server_sessions")?.used ?? 0,
    sessionEnds: seen.sessionEnds,
    logLines: seen.logLines,
    loopFailures: failures,
    event,
    async stop() {
      client.close();
      await stopInTime(
        { name: "the gRPC server", stop: () => grpc.drain(drainMs()) },
        { name: "the engine", stop: () => engine.stop() },
        { name: "the store", stop: () => store.close() },
      );
    },
  };
}

/** A server for the test that starts it, with which it stops. */
export async function serverOfTest(options?: StartOptions): Promise<TestServer> {
  const server = await startServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** Closes the client when the test that made it is over. */
export function clientOfTest<One extends TestCalls>(client: One): One {
  onTestFinished(() => client.close());
  return client;
}

/** Records everything that the gRPC server reports about itself. */
class Seen implements CallObserver {
  readonly calls: SeenCall[] = [];
  readonly logLines: LogLine[] = [];
  /** Names of the status codes. */
  readonly sessionEnds: string[] = [];
  openStreams = 0;
  readonly pokes = { sent: 0, lost: 0, received: 0 };

  readonly logger = {
    debug() {},
    info: this.#log("info"),
    warn: this.#log("warn"),
    error: this.#log("error"),
  };

  call(method: string, code: string, seconds: number, via: Via): void {
    this.calls.push({ method, code, seconds, via });
  }

  sessionClosed(code: string): void {
    this.sessionEnds.push(code);
  }

  sessionMessage(): void {}

  poke(what: "sent" | "lost" | "received", claims: number): void {
    this.pokes[what] += claims;
  }

  streamOpened(): void {
    this.openStreams += 1;
  }

  streamClosed(): void {
    this.openStreams -= 1;
  }

  #log(level: LogLine["level"]) {
    return (fields: object, message: string) => {
      this.logLines.push({ level, fields: fields as LogLine["fields"], message });
    };
  }
}

/** Answers commands of these verbs instead of an engine. */
type Replaced = {
  readonly [Verb in Asked["verb"]]?: (
    asked: Extract<Asked, { readonly verb: Verb }>,
  ) => Promise<AnswerTo<Verb>>;
};

/** The engine with some verbs replaced. */
export function replacing(engine: LockEngine, verbs: Partial<LockEngine>, asks: Replaced = {}): LockEngine {
  const ask: LockEngine["ask"] = (asked) => {
    const own = asks[asked.verb] as LockEngine["ask"] | undefined;
    return own ? own(asked) : engine.ask(asked);
  };
  const own = { acquire: engine.acquire.bind(engine), ask, ...verbs };
  return wrapped(engine, { ...begunVerbs(own), ask, ...verbs });
}

/**
 * Expects the rest of a time of `ofSeconds`: never more than that, and less by the time passed since, which is longer
 * on a busy machine.
 */
export function expectLeft(left: Duration | undefined, ofSeconds: number): void {
  const ms = left ? msOf(left) : Number.NaN;
  expect(ms).toBeLessThanOrEqual(ofSeconds * 1_000);
  expect(ms).toBeGreaterThan(ofSeconds * 500);
}

/** The lock's number in a ticket id or lease id. */
export function lockIdOf(claimId: string): bigint {
  return BigInt(Number.parseInt(claimId.split(".")[0] as string, 36));
}
