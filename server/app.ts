// The composition root: builds the parts of one server, starts them in order, and stops them in reverse order. Only
// this file knows all of them.

import { once } from "node:events";
import { createServer } from "node:net";
import { MetricsTokens } from "./access/bearer.ts";
import { hashOf } from "./access/tokens-file.ts";
import { metricsTokenFile } from "./config/access-config.ts";
import { formatListenAddress, isLoopback, type ListenAddress } from "./config/addresses.ts";
import type { Config } from "./config/config.ts";
import { databaseEnds } from "./config/database-login.ts";
import { type FilesOutcome, ReloadedFiles } from "./config/reloaded-files.ts";
import { listenerEnds, tlsFiles } from "./config/tls-files.ts";
import { keptForBy, USUALLY_KEPT_US } from "./core/kept-for.ts";
import { Engine } from "./engine/engine.ts";
import { HEARTBEATS_PER_GRACE } from "./engine/engine-bounds.ts";
import { Loop } from "./engine/loop.ts";
import { PokeSender } from "./grpc/pokes/poke-sender.ts";
import { OtherServers, OwnReplica } from "./grpc/pokes/registered-servers.ts";
import { createGrpcServer } from "./grpc/server.ts";
import { EventLog } from "./log/event-log.ts";
import type { Log } from "./log/log.ts";
import { OutageLog } from "./log/outage-log.ts";
import { Metrics } from "./metrics/metrics.ts";
import { MetricsHttp } from "./ops/http.ts";
import { capacityIn, heapMaxIn, Memory } from "./ops/memory.ts";
import { Readiness } from "./ops/readiness.ts";
import { StateFileError, stateFile } from "./ops/state-file.ts";
import { Activity } from "./page/activity.ts";
import { pageFiles } from "./page/assets.ts";
import { startAccess } from "./start-access.ts";
import { doorAlone, pageAt } from "./start-http.ts";
import { openReadyStore } from "./storage/open-ready.ts";
import { REPLICAS_MAX, StoreError } from "./storage/store.ts";
import { startSendingMetrics } from "./tracing/sent-metrics.ts";
import { startTracing } from "./tracing/tracing.ts";

/** Why a server does not start. The message says what to do. */
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
  /** The environment of the process, for the variables of OpenTelemetry; unset: there are no traces. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface App {
  /** The bound address, such as `127.0.0.1:50051`. */
  readonly grpcAddress: string;
  /** Of the door for everybody over HTTP; null: off. */
  readonly httpAddress: string | null;
  /** null: off. */
  readonly metricsAddress: string | null;
  readonly databaseProduct: string;
  /** Reads the files again that may change while the server runs, and returns their names in the log. Never rejects. */
  reload(): Promise<readonly string[]>;
  /** Drains and stops everything. Can be called twice. */
  stop(): Promise<void>;
}

/** How often the server reads in the register which other servers could serve its clients. */
const LEARN_INTERVAL_MS = 1_000;
/** For the last rows, after the drain. With the exit of the process, a stop takes at most 10 s by default. */
const RETIRE_MS = 1_000;

/** Starts a server. Throws a StartupError for what an operator can fix; everything is stopped again by then. */
export async function startApp(config: Config, options: AppOptions): Promise<App> {
  // Checked first: a server that cannot be reached afterwards must not do anything to the database.
  await refuseTaken({ ROWLOCK_METRICS_LISTEN: config.metricsListen, ROWLOCK_LISTEN: config.listen });
  const stops = new AsyncDisposableStack();
  try {
    const started = await startParts(config, options, stops);
    let stopping: Promise<void> | undefined;
    return {
      ...started,
      stop() {
        stopping ??= stopInTime(stops, config.drainTimeoutMs + RETIRE_MS, options.log);
        return stopping;
      },
    };
  } catch (error) {
    await stops.disposeAsync();
    throw error;
  }
}

async function startParts(
  config: Config,
  { log, version, nodeVersion, memoryMax, env = {} }: AppOptions,
  stops: AsyncDisposableStack,
): Promise<Omit<App, "stop">> {
  const { metricsListen, listen } = config;
  const metrics = new Metrics({
    classes: config.metricsClasses,
    label: config.metricsLabel,
    jobs: config.metricsJobs,
    nodeMetrics: true,
  });
  const outage = new OutageLog(log);
  const heapMax = heapMaxIn(memoryMax);
  const capacity = capacityIn(heapMax, config);
  const store = await openReadyStore({ ...config, ...capacity, version }, metrics.store, log).catch(
    cannotStart,
  );
  stops.defer(() => store.close());
  metrics.observeStore(store, { version, node: nodeVersion, database: store.product });
  const register = () => store.replicas(REPLICAS_MAX);

  const memory = new Memory({
    heapMax,
    onChange: (isShort, usedBytes) => {
      if (isShort) log.warn({ usedBytes, heapMax }, "memory is short: new waits and sessions are refused");
      else log.info({ usedBytes, heapMax }, "memory is sufficient again");
    },
  });
  memory.start();
  stops.defer(() => memory.stop());

  const replica = new OwnReplica({ ...config, localHost: store.localHost, version });
  const origin = { version, instance: String(replica.id) };
  const tracing = await startTracing(env, origin, log);
  stops.defer(() => tracing?.stop());
  const tracer = tracing?.tracer;
  // Replaced when its files change.
  let { tls } = config;
  const sender = new PokeSender({ register, tls: () => tls, observer: metrics.calls });
  stops.defer(() => sender.close());

  const onOutcome = (outcome: FilesOutcome) => {
    metrics.filesRead(outcome);
    const { kind, what } = outcome;
    if (kind === "failed") log.warn({ files: what, faults: outcome.faults }, outcome.holds);
    else if (kind === "new") log.info({ files: what }, "changed files are in force");
  };
  const files = new ReloadedFiles({ onOutcome });
  const callers =
    config.access && startAccess(config.access, { files, store, replica: replica.id, onOutcome, log });
  const activity = config.page && metricsListen ? new Activity() : null;
  const events = new EventLog(log, { audit: config.auditLog, outage });
  const observers = [metrics.engine, activity?.observe, callers?.observe, events.observe];

  const graceUs = config.graceMs * 1_000;
  const retentionUs = config.retentionMs * 1_000;
  const keptFor = keptForBy(retentionUs, config.history);
  const kept = [USUALLY_KEPT_US, retentionUs, config.history, config.changesRetentionMs];
  const engine = new Engine({
    store,
    leastKeptUs: keptFor.least,
    observers: observers.filter((each) => each !== undefined),
    pollIntervalMs: config.pollIntervalMs,
    poke: (granted) => sender.send(granted),
    policy: {
      graceUs,
      attachedForUs: graceUs + graceUs / HEARTBEATS_PER_GRACE,
      keptForUs: keptFor.of,
      queueMax: config.queueMax,
    },
    replica,
    lanes: store.lanes,
    commandsQueuedMax: config.commandsMax,
    namesPerSecond: capacity.namesPerSecond,
    cleaning: {
      idleLockUs: config.idleLockRetentionMs * 1_000,
      retentionUs,
      historyRowsMax: config.historyRowsMax,
      changesUs: config.changesRetentionMs * 1_000,
      keptBy: hashOf(JSON.stringify(kept)),
    },
    doctorIntervalMs: config.doctorIntervalMs,
    ...(config.stateFile === null ? {} : { memory: stateFile(config.stateFile) }),
    isTraced: tracer !== undefined,
    failOverPauseUs: config.failOverPauseMs === null ? null : config.failOverPauseMs * 1_000,
  });
  await engine.start().catch(cannotStart);
  stops.defer(() => engine.stop());

  const grpc = createGrpcServer({
    ...config,
    engine,
    ...(callers && { gate: callers.access, usage: callers.usage }),
    replica: String(replica.id),
    observer: metrics.calls,
    tracer,
    logger: log,
    outage,
    capacity: { ...capacity, isShort: memory.isShort },
    pokes: {
      secret: replica.secret,
      onPoke: (claims) => engine.poked(claims),
      decides: () => readiness.decides(),
    },
  });

  let isPauseLogged = false;
  const others = new OtherServers({ own: replica.id, register, tls: () => tls });
  const readiness = new Readiness({
    probe: (heard) => engine.probe(heard),
    recent: () => engine.recent,
    onAnswer(cause) {
      if (cause !== null) return outage.probeFailed(cause);
      outage.probeWorked();
      // Once, with the first decision: a fail-over from before the start is no event here.
      if (!isPauseLogged && engine.pausedForUs > 0)
        log.warn(
          { forMs: Math.round(engine.pausedForUs / 1_000) },
          "nothing is granted yet, because the database has failed over or was restored",
        );
      isPauseLogged = true;
    },
    graceMs: config.graceMs,
    othersDecide: (withinMs) => others.decide(withinMs),
    onElsewhere: () => grpc.sendElsewhere(),
  });
  readiness.subscribe(({ ready }) => grpc.setServing(ready));
  metrics.observeReadiness(readiness);

  const metricsTokens = new MetricsTokens(config.metricsTokens);
  const overHttp = { config, served: grpc.served, gate: callers?.access ?? null };
  const pages =
    activity &&
    metricsListen &&
    (await pageAt(
      metricsListen,
      {
        metricsTokens,
        activity,
        readiness,
        server: { version, database: store.product, replica: String(replica.id) },
        files: pageFiles(),
      },
      overHttp,
    ));
  const onHttpError = (error: unknown) => log.error({ err: error }, "an answer over HTTP failed");
  const everybody = config.httpListen && (await doorAlone(tls, onHttpError, overHttp));
  const http = new MetricsHttp({
    metrics,
    readiness,
    tls: config.metricsTls ? tls : null,
    tokens: metricsTokens,
    more: pages ? [pages.door, pages.page] : [],
    onError: onHttpError,
  });
  metrics.observeBounds(() => [
    ...engine.bounds,
    ...grpc.bounds(),
    ...(metricsListen ? http.bounds : []),
    ...(pages?.door.bounds ?? []),
    ...(everybody ? everybody.bounds() : []),
    ...(callers?.usage.bounds ?? []),
    memory.bound,
  ]);
  // The files may hold a certificate that is not valid today, which counts only at the start.
  if (tls) metrics.certificatesInForce(listenerEnds(tls));
  metrics.certificatesInForce(databaseEnds(config.databaseLogin.tls));
  files.add(tlsFiles(config), (renewed) => {
    tls = renewed;
    grpc.setTls(renewed);
    http.setTls(renewed);
    if (everybody) everybody.listener.setTls(renewed);
    sender.reconnect();
    metrics.certificatesInForce(listenerEnds(renewed));
  });
  files.add(metricsTokenFile(config), (renewed) => {
    metricsTokens.replace(renewed);
    grpc.endLost((identity) => identity.ended(Date.now()));
  });
  stops.defer(() => files.stop());
  stops.defer(() => callers?.stop());
  await files.start();
  await callers?.begin().catch(cannotStart);
  const sending = await startSendingMetrics(env, origin, log, () => metrics.values());
  stops.defer(() => sending?.stop());
  callers?.watch((loss) => grpc.endLost(loss));
  sayWhoMayCall(config, log);

  stops.defer(() => http.stop());
  const httpAddress =
    metricsListen &&
    (await http.start(metricsListen).catch(cannotListen("ROWLOCK_METRICS_LISTEN", metricsListen)));
  if (everybody) stops.defer(() => everybody.listener.stop());
  const everybodyAddress =
    everybody &&
    config.httpListen &&
    (await everybody.listener
      .start(config.httpListen)
      .catch(cannotListen("ROWLOCK_HTTP_LISTEN", config.httpListen)));
  const grpcAddress = await grpc.start(listen).catch(cannotListen("ROWLOCK_LISTEN", listen));

  replica.port = grpcAddress.port;
  await engine.register();
  await others.learn().catch(() => {});
  engine.onTrouble = () => void readiness.check();
  const health = new Loop({
    name: "health",
    intervalMs: readiness.intervalMs,
    jitter: 0.1,
    run: async () => void (await readiness.check()),
    onFailure: (loop, error) => log.error({ loop, err: error }, "background work failed"),
  });
  const learning = new Loop({
    name: "other-servers",
    intervalMs: LEARN_INTERVAL_MS,
    jitter: 0.1,
    run: () => others.learn(),
    // The health loop logs that the database is away.
    onFailure: () => {},
  });
  for (const loop of [health, learning]) loop.start();
  // The loops stop after the drain: a probe that hangs must not delay the last answers to waiters.
  stops.defer(async () => void (await Promise.all([health.stop(), learning.stop()])));
  stops.defer(() => grpc.drain(config.drainTimeoutMs));
  stops.defer(() => readiness.drain());

  return {
    async reload() {
      await files.reload();
      return files.names;
    },
    grpcAddress: formatListenAddress(grpcAddress),
    httpAddress: everybodyAddress && formatListenAddress(everybodyAddress),
    metricsAddress: httpAddress && formatListenAddress(httpAddress),
    databaseProduct: store.product,
  };
}

/** What an operator should know of a server that others can reach. */
function sayWhoMayCall({ access, listen, httpListen }: Config, log: Log): void {
  if ([listen, httpListen].every((address) => !address || isLoopback(address.host))) return;
  if (!access) log.warn("everybody who reaches this server may do everything: see docs/security.md");
  else if (access.policy === null)
    log.warn("everybody with credentials may do everything: set ROWLOCK_POLICY_FILE, see docs/security.md");
}

/** A database that is away must not keep a server from stopping: what it does not write then lapses by itself. */
async function stopInTime(stops: AsyncDisposableStack, timeMs: number, log: Log): Promise<void> {
  const timeOver = Promise.withResolvers<never>();
  const late = new StoreError("unavailable", "timeout", "The database did not answer in time.");
  const timer = setTimeout(() => timeOver.reject(late), timeMs);
  try {
    await Promise.race([stops.disposeAsync(), timeOver.promise]);
  } catch (error) {
    const first = firstOf(error);
    if (!(first instanceof StoreError)) throw first;
    log.warn({ reason: first.reason }, `shutdown did not finish at the database: ${first.message}`);
  } finally {
    clearTimeout(timer);
  }
}

/** All parts are stopped even if one fails. What failed later suppresses what failed first. */
function firstOf(failure: unknown): unknown {
  return failure instanceof SuppressedError ? firstOf(failure.suppressed) : failure;
}

/** An operator can fix what the database cannot do; anything else is a bug. */
function cannotStart(error: unknown): never {
  throw error instanceof StoreError || error instanceof StateFileError
    ? new StartupError(error.message, { cause: error })
    : error;
}

/** Binds the addresses, and releases them: one that is held but not served would look like a server that takes calls. */
async function refuseTaken(addresses: Readonly<Record<string, ListenAddress | null>>): Promise<void> {
  const faults: unknown[] = [];
  for (const [setting, address] of Object.entries(addresses)) {
    if (!address || address.port === 0) continue;
    const probe = createServer().listen(address.port, address.host);
    await once(probe, "listening")
      .then(() => once(probe.close(), "close"))
      .catch(cannotListen(setting, address))
      .catch((error: unknown) => faults.push(error));
  }
  const [first, second] = faults;
  if (first instanceof StartupError && second instanceof StartupError)
    throw new StartupError(`${first.message} ${second.message}`, { cause: first.cause });
  if (first) throw first;
}

function cannotListen(setting: string, address: ListenAddress): (error: unknown) => never {
  return (error) => {
    const why = error instanceof Error ? error.message : String(error);
    const advice = howToListen((error as NodeJS.ErrnoException).code, setting);
    throw new StartupError(`It cannot listen on ${formatListenAddress(address)} (${why}). ${advice}`, {
      cause: error,
    });
  };
}

function howToListen(code: string | undefined, setting: string): string {
  if (code === "EADDRINUSE") return `Stop whatever uses that address, or set ${setting}.`;
  if (code === "EADDRNOTAVAIL")
    return `This machine does not have that address: set ${setting} to one that it has.`;
  if (code === "EACCES") return `This user may not take that port: set ${setting} to a port above 1023.`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `That name has no address: correct ${setting}.`;
  return `Set ${setting} to an address where it can listen.`;
}
