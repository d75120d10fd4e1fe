// The composition root: builds the parts of one server, starts them in order, and stops them in reverse order. Only
// this file sees all of them.

import { createServer } from "node:net";
import type { Config } from "./config/config.ts";
import type { ListenAddress } from "./config/listen-address.ts";
import { formatListenAddress } from "./config/listen-address.ts";
import { Engine } from "./engine/engine.ts";
import { HEARTBEATS_PER_GRACE } from "./engine/engine-bounds.ts";
import type { EngineObserver } from "./engine/lock-engine.ts";
import { secretMaker } from "./engine/secrets.ts";
import { OtherServers } from "./grpc/pokes/other-servers.ts";
import { OwnReplica } from "./grpc/pokes/own-replica.ts";
import { PokeSender } from "./grpc/pokes/poke-sender.ts";
import { createGrpcServer } from "./grpc/server.ts";
import type { ServerRoom } from "./grpc/server-room.ts";
import { EventLog } from "./log/event-log.ts";
import type { Log } from "./log/log.ts";
import { OutageLog } from "./log/outage-log.ts";
import { Metrics } from "./metrics/metrics.ts";
import { MetricsHttp } from "./ops/http.ts";
import { heapMaxIn, Memory, roomIn } from "./ops/memory.ts";
import { Readiness } from "./ops/readiness.ts";
import { StateFileError, stateFile } from "./ops/state-file.ts";
import { openReadyStore } from "./storage/open-ready.ts";
import type { ReplicaRow, Store } from "./storage/store.ts";
import { REPLICAS_MAX, StoreError } from "./storage/store.ts";
import { Loop } from "./wakeup/loop.ts";
import { Pokes } from "./wakeup/pokes.ts";
import { pollWakeup } from "./wakeup/poll.ts";
import type { GrantedElsewhere } from "./wakeup/wakeup.ts";

/** Why a server does not start. The message tells the operator what to do. */
export class StartupError extends Error {
  constructor(message: string, options: { cause: unknown }) {
    super(message, options);
    this.name = "StartupError";
  }
}

export interface AppOptions {
  readonly log: Log;
  readonly version: string;
  readonly nodeVersion: string;
  /** As in CliContext. */
  readonly memoryMax: number;
}

export interface App {
  /** The bound address, such as `127.0.0.1:50051`. */
  readonly grpcAddress: string;
  /** null: off. */
  readonly metricsAddress: string | null;
  readonly databaseProduct: string;
  /** Drains and stops everything. Can be called twice. */
  stop(): Promise<void>;
}

/** How often the server reads in the register which other servers could serve its clients. */
const LEARN_INTERVAL_MS = 1_000;
/**
 * Time after the drain to write the last words to the database. With the time that the process takes to exit, a stop
 * takes at most 10 s by default.
 */
const GOODBYE_MS = 1_000;

/** Starts a server. Throws a StartupError for what an operator can fix; everything is stopped again by then. */
export async function startApp(config: Config, options: AppOptions): Promise<App> {
  const { log, version, nodeVersion } = options;
  const metrics = new Metrics({ classes: config.metricsClasses, nodeMetrics: true });
  const outage = new OutageLog(log);
  // Checked first: a server that cannot be reached afterwards must not do anything to the database.
  await refuseTaken("ROWLOCK_METRICS_LISTEN", config.metricsListen);
  await refuseTaken("ROWLOCK_LISTEN", config.listen);
  const store = await openReadyStore(config, metrics.store, log).catch(cannotStart);
  metrics.observeStore(store, { version, node: nodeVersion, database: store.product });
  const parts = new Parts();
  parts.add(() => store.close());
  try {
    const replica = new OwnReplica({ ...config, localHost: store.localHost, version });
    const sender = new PokeSender({
      targets: async () => (await store.replicas(REPLICAS_MAX)).replicas,
      tls: config.tls,
      observer: metrics.calls,
    });
    parts.add(async () => sender.close());
    const send = (granted: GrantedElsewhere) => sender.send(granted);
    const { engine, pokes } = buildEngine(
      config,
      options.memoryMax,
      store,
      metrics,
      outage,
      log,
      replica,
      send,
    );
    await engine.start().catch(cannotStart);
    parts.add(() => engine.stop());

    const grpc = createGrpcServer({
      ...config,
      engine,
      replica: String(engine.replica),
      observer: metrics.calls,
      logger: log,
      outage,
      room: roomOf(config, options.memoryMax, parts, log),
      pokes: {
        secret: replica.secret,
        onPoke: (claims) => pokes.poked(claims),
        decides: () => readiness.decides(),
      },
    });
    const others = new OtherServers({
      own: engine.replica,
      register: () => store.replicas(REPLICAS_MAX),
      tls: config.tls,
    });
    const readiness = new Readiness({
      probe: (heard) => engine.probe(heard),
      recent: () => engine.recent,
      onAnswer: (cause) => (cause === null ? outage.probeWorked() : outage.probeFailed(cause)),
      graceMs: config.graceMs,
      othersDecide: (withinMs) => others.decide(withinMs),
      onElsewhere: () => grpc.sendElsewhere(),
    });
    readiness.subscribe(({ ready }) => grpc.setServing(ready));
    metrics.observeReadiness(readiness);
    const metricsAddress = await startMetrics(config, metrics, readiness, parts, log);
    const grpcAddress = await grpc.start(config.listen).catch(cannotListen("ROWLOCK_LISTEN", config.listen));
    replica.port = grpcAddress.port;
    await engine.register();
    await others.learn().catch(() => {});
    engine.onTrouble = () => void readiness.check();
    const loops = [
      new Loop({
        name: "health",
        intervalMs: readiness.intervalMs,
        jitter: 0.1,
        run: async () => void (await readiness.check()),
        onFailure: (loop, error) => log.error({ loop, err: error }, "background work failed"),
      }),
      new Loop({
        name: "other-servers",
        intervalMs: LEARN_INTERVAL_MS,
        jitter: 0.1,
        run: () => others.learn(),
        // The health loop logs that the database is away.
        onFailure: () => {},
      }),
    ];
    for (const loop of loops) loop.start();
    // The loops stop after the drain: a probe that hangs must not delay the last answers to waiters.
    parts.add(async () => void (await Promise.all(loops.map((loop) => loop.stop()))));
    parts.add(() => grpc.drain(config.drainTimeoutMs));
    parts.add(async () => readiness.drain());
    let stopping: Promise<void> | undefined;
    return {
      grpcAddress: formatListenAddress(grpcAddress),
      metricsAddress,
      databaseProduct: store.product,
      stop() {
        stopping ??= stopInTime(parts, config.drainTimeoutMs + GOODBYE_MS, log);
        return stopping;
      },
    };
  } catch (error) {
    await parts.stop();
    throw error;
  }
}

/**
 * A database that is away must not keep a server from stopping. What the server does not write then lapses by itself:
 * places, transactions, the entry in the register.
 */
async function stopInTime(parts: Parts, timeMs: number, log: Log): Promise<void> {
  const timeOver = Promise.withResolvers<never>();
  const late = new StoreError("unavailable", "timeout", "The database did not answer in time.");
  const timer = setTimeout(() => timeOver.reject(late), timeMs);
  try {
    await Promise.race([parts.stop(), timeOver.promise]);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.warn({ reason: error.reason }, `shutdown did not finish at the database: ${error.message}`);
  } finally {
    clearTimeout(timer);
  }
}

/** The started parts, to be stopped in reverse order. */
class Parts {
  readonly #stops: (() => Promise<void>)[] = [];
  #stopping: Promise<void> | undefined;

  add(stop: () => Promise<void>): void {
    this.#stops.push(stop);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** Stops all parts, even if one fails; rejects with the first failure. */
  async #stopAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const stop of this.#stops.reverse()) await stop().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}

function buildEngine(
  config: Config,
  memoryMax: number,
  store: Store,
  metrics: Metrics,
  outage: OutageLog,
  log: Log,
  replica: ReplicaRow,
  send: (granted: GrantedElsewhere) => void,
): { engine: Engine; pokes: Pokes } {
  const graceUs = config.graceMs * 1_000;
  const observers = [metrics.engine.observe, new EventLog(log, { audit: config.auditLog, outage }).observe];
  const observer: EngineObserver = (event) => {
    for (const observe of observers) observe(event);
  };
  const onFailure = (loop: string, error: unknown) => observer({ kind: "loop_failed", loop, error });
  const pokes = new Pokes({ poll: pollWakeup(config.pollIntervalMs, onFailure), send, onFailure });
  const engine = new Engine({
    store,
    observer,
    wakeup: pokes,
    policy: {
      graceUs,
      attachedForUs: graceUs + graceUs / HEARTBEATS_PER_GRACE,
      retentionUs: config.retentionMs * 1_000,
      queueMax: config.queueMax,
    },
    replica,
    lanes: store.lanes,
    commandsQueuedMax: config.commandsMax,
    namesPerSecond: config.namesPerSecond ?? roomIn(heapMaxIn(memoryMax)).namesPerSecond,
    idleLockUs: config.idleLockRetentionMs * 1_000,
    ...(config.stateFile === null ? {} : { memory: stateFile(config.stateFile) }),
    failOverPauseUs: config.failOverPauseMs === null ? null : config.failOverPauseMs * 1_000,
    newSecret: secretMaker(),
  });
  return { engine, pokes };
}

/** What this server has room for, by its settings and its memory. */
function roomOf(config: Config, memoryMax: number, parts: Parts, log: Log): ServerRoom {
  const heapMax = heapMaxIn(memoryMax);
  const room = roomIn(heapMax);
  const memory = new Memory({
    heapMax,
    onChange: (isShort, usedBytes) => {
      if (isShort) log.warn({ usedBytes, heapMax }, "memory is short: new waits and sessions are refused");
      else log.info({ usedBytes, heapMax }, "memory is sufficient again");
    },
  });
  memory.start();
  parts.add(async () => memory.stop());
  return {
    waits: config.waitsMax ?? room.waits,
    sessions: config.sessionsMax ?? room.sessions,
    connections: config.connectionsMax ?? room.connections,
    isShort: () => memory.isShort,
  };
}

async function startMetrics(
  config: Config,
  metrics: Metrics,
  readiness: Readiness,
  parts: Parts,
  log: Log,
): Promise<string | null> {
  if (!config.metricsListen) return null;
  const http = new MetricsHttp({
    metrics,
    readiness,
    onError: (error) => log.error({ err: error }, "a page of the metrics listener failed"),
  });
  const bound = await http
    .start(config.metricsListen)
    .catch(cannotListen("ROWLOCK_METRICS_LISTEN", config.metricsListen));
  parts.add(() => http.stop());
  return formatListenAddress(bound);
}

/** An operator can fix what the database cannot do; anything else is a bug. */
function cannotStart(error: unknown): never {
  throw error instanceof StoreError || error instanceof StateFileError
    ? new StartupError(error.message, { cause: error })
    : error;
}

/**
 * Binds the address and releases it again. An address that is held but not served would look to load balancers like a
 * server that takes calls.
 */
async function refuseTaken(setting: string, address: ListenAddress | null): Promise<void> {
  if (!address || address.port === 0) return;
  const probe = createServer();
  const bound = Promise.withResolvers<void>();
  probe.once("error", bound.reject);
  probe.listen(address.port, address.host, bound.resolve);
  await bound.promise.catch(cannotListen(setting, address));
  const closed = Promise.withResolvers<void>();
  probe.close(() => closed.resolve());
  await closed.promise;
}

function cannotListen(setting: string, address: ListenAddress): (error: unknown) => never {
  return (error) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartupError(
      `It cannot listen on ${formatListenAddress(address)} (${why}). Stop whatever uses that address, or set ${setting}.`,
      { cause: error },
    );
  };
}
