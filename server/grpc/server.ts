// The gRPC server: its bounds, services, start and drain. Owns the listener and the open calls. The caller owns the
// engine, which must outlive the drain, because calls that the drain ends still detach from it.

import { promisify } from "node:util";
import { Server, ServerCredentials, setLogger } from "@grpc/grpc-js";
import { type Gate, type Loss, OPEN_GATE } from "../access/access.ts";
import { certificateRevoked } from "../access/access-error.ts";
import { Usage } from "../access/usage.ts";
import { blockListOf, formatListenAddress, type ListenAddress, type Network } from "../config/addresses.ts";

import { secureOptions, type TlsMaterial } from "../config/tls-files.ts";
import { networkOf, type Rate } from "../core/allowance.ts";
import type { BoundUse } from "../core/bound-use.ts";
import type { Tracer } from "../core/span.ts";
import type { LockEngine } from "../engine/engine.ts";
import type { Logger } from "../log/log.ts";
import type { OutageLog } from "../log/outage-log.ts";
import { SharedAdmission } from "./admission.ts";
import { ArrivingRequests } from "./arriving-requests.ts";
import { ConnectionCalls, type Served, type Shared } from "./call-frame.ts";
import { type CallObserver, FaultLog } from "./call-observer.ts";
import { ConnectionDoor } from "./connection-door.ts";
import { FrontDoor } from "./front-door.ts";
import * as bounds from "./grpc-bounds.ts";
import { lockServiceDefinition, lockServiceHandlers } from "./lock-service.ts";
import { PlaceTurns } from "./methods/wait-in-queue.ts";
import { OpenStreams } from "./open-streams.ts";
import { OpenWaits, type ServerCapacity } from "./open-waits.ts";
import { type PokeServiceOptions, pokeServiceDefinition, pokeServiceHandlers } from "./pokes/poke-service.ts";
import { ReadingTurns } from "./reading-turns.ts";
import { Sessions } from "./session/sessions.ts";
import { StandardServices } from "./standard-services.ts";
import { Standing } from "./standing.ts";
import { explainReceiveLimit, type Listener, limitConnections } from "./transport-limits.ts";

export interface GrpcServerOptions {
  readonly engine: LockEngine;
  readonly observer: CallObserver;
  readonly gate?: Gate;
  readonly usage?: Usage;
  readonly tracer?: Tracer | undefined;
  readonly logger: Logger;
  readonly outage?: Pick<OutageLog, "failed">;
  readonly auditLog?: boolean;
  readonly tls: TlsMaterial | null;
  /** How long a waiter that lost its connection keeps its place; tickets report it. */
  readonly graceMs: number;
  readonly capacity: ServerCapacity;
  readonly streamsMax: number;
  readonly replica: string;
  readonly sessionWaitsMax: number;
  readonly sessionCommandsMax: number;
  readonly receiveBytesMax: number;
  readonly headerBytesMax?: number;
  /** Connections of one address, at once and new ones a second; null or unset: three quarters of all, and any number. */
  readonly addressConnectionsMax?: number | null;
  readonly addressConnectionsPerSecond?: number | null;
  readonly proxyAddresses?: readonly Network[];
  readonly reflection: boolean;
  /** Serves pokes from other servers; unset: the server takes none. */
  readonly pokes?: PokeServiceOptions;
  readonly keepalive?: { readonly intervalMs: number; readonly timeoutMs: number };
  readonly handshakeMs?: number;
  /** null or unset: any. What else is unset is as grpc-bounds.ts says. */
  readonly connectionAgeMaxMs?: number | null;
  readonly connectionIdleMaxMs?: number | null;
  /** How long calls on a connection that is too old may take to finish. */
  readonly finishMs?: number;
}

export interface GrpcServer {
  /** What the calls outside sessions share: another carrier of calls uses it, too, until the drain. */
  readonly served: Served;
  /** Listens, and resolves with the address. Rejects if it cannot listen there. Call it once. */
  start(listen: ListenAddress): Promise<ListenAddress>;
  /** New connections get this material; the others go on. No effect on a server without TLS. */
  setTls(tls: TlsMaterial): void;
  /** Sets the health status, which is SERVING after the start. No effect once the drain has begun. */
  setServing(serving: boolean): void;
  bounds(): readonly BoundUse[];
  /** Ends the sessions and waits whose callers have lost what they came with: their token, or a right. */
  endLost(loss: Loss): void;
  /** Sends the clients of sessions to another server, which has the database that this one has lost. */
  sendElsewhere(): void;
  /**
   * Takes no new connections, ends streams and blocked calls with UNAVAILABLE, lets other calls finish, and cuts off
   * what is left after `deadlineMs`. Later calls return the promise of the first.
   */
  drain(deadlineMs: number): Promise<void>;
}

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { engine, observer, logger, graceMs, capacity } = options;
  const { connectionAgeMaxMs: ageMsMax = null, connectionIdleMaxMs: idleMsMax = null, finishMs } = options;
  // grpc-js has one logger for the whole process, and writes to the error output unless it is given another.
  setLogger({ error: (...words: unknown[]) => logger.warn({ words: words.join(" ") }, "grpc-js warns") });
  const openMax = options.streamsMax + bounds.SHORT_CALLS_MAX;
  const openWaits = new OpenWaits(options.streamsMax, capacity);
  const streams = new OpenStreams(capacity);
  const standing = new Standing({
    ...{ openMax, ageMsMax, finishMs },
    crls: () => tls?.clientCrls,
    onLeaving(peer) {
      openWaits.leave(peer);
      sessions.leave(peer);
    },
    onEnded: (peer) => connectionDoor.stopReading(peer),
  });
  const connectionDoor = new ConnectionDoor({
    bounds: {
      openMax: options.addressConnectionsMax ?? Math.ceil(capacity.connections * bounds.ADDRESS_SHARE),
      rate: rateOf(options.addressConnectionsPerSecond ?? null),
    },
    proxies: options.proxyAddresses && blockListOf(options.proxyAddresses),
    closed: (peer) => {
      openWaits.gone(peer);
      return standing.closed(peer);
    },
  });
  const arriving = new ArrivingRequests({
    onArrived: (stream) => door.arrived(stream),
    isFull: (count) => capacity.isShort() || openWaits.count + count >= capacity.waits,
  });
  const server = new Server({
    "grpc.max_receive_message_length": options.receiveBytesMax,
    "grpc.max_concurrent_streams": openMax,
    "grpc.keepalive_time_ms": options.keepalive?.intervalMs ?? bounds.KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": options.keepalive?.timeoutMs ?? bounds.KEEPALIVE_TIMEOUT_MS,
    // Nobody reads channelz here, and it costs time with every call.
    "grpc.enable_channelz": 0,
    ...(idleMsMax !== null && { "grpc.max_connection_idle_ms": idleMsMax }),
    interceptors: [explainReceiveLimit(options.receiveBytesMax), arriving.interceptor],
  });
  const methods = { engine, turns: new PlaceTurns(), graceUs: graceMs * 1_000 };
  const admission = new SharedAdmission();
  const { gate = OPEN_GATE, usage = new Usage() } = options;
  const connections = new ConnectionCalls(openMax, admission, openWaits, usage);
  const frame = {
    observer,
    faultLog: new FaultLog(logger, options.outage, options.auditLog),
    tracer: options.tracer,
  };
  const door = new FrontDoor({
    headerBytesMax: options.headerBytesMax ?? bounds.HEADER_BYTES_MAX,
    streams,
    standing,
    reading: new ReadingTurns<object>({
      stop: (session) => connectionDoor.stopReading(standing.peerOf(session)),
      rests: (session) => standing.isPoor(session),
      goOn: (session) =>
        standing.isEnding(session) && !standing.isKnown(session)
          ? "gone"
          : connectionDoor.goOnReading(standing.peerOf(session)),
      addressOf: (session) => networkOf(standing.addressOf(session)),
    }),
    isOpen: gate === OPEN_GATE,
    withoutHeader: gate.withoutHeader ?? null,
    frame,
    retryAfterIfLate: (peer) => connections.retryAfterIfLate(peer),
  });
  const listeners: Listener[] = [];
  let { tls } = options;
  limitConnections(server, {
    openMax,
    door,
    standing,
    connectionsMax: capacity.connections,
    handshakeMs: options.handshakeMs,
    onListener(listener) {
      connectionDoor.guard(listener);
      listeners.push(listener);
      // grpc-js has no option for lists of revoked certificates.
      if (tls?.clientCrls && "setSecureContext" in listener) listener.setSecureContext(secureOptions(tls));
    },
  });
  const shared: Shared = { ...frame, methods, gate, callers: standing };
  const sessions = new Sessions(
    {
      ...{ ...shared, admission, openWaits, usage },
      replica: options.replica,
      waitsMax: options.sessionWaitsMax,
      commandsMax: options.sessionCommandsMax,
      messageBytesMax: options.receiveBytesMax,
    },
    capacity,
  );
  const served: Served = { ...shared, connections };
  server.addService(lockServiceDefinition, lockServiceHandlers(served, sessions));
  if (options.pokes) server.addService(pokeServiceDefinition, pokeServiceHandlers(options.pokes, observer));
  const standard = new StandardServices(server, options.reflection);
  let bound: ListenAddress | undefined;
  let draining: Promise<void> | undefined;

  function endEach(whyEnd: Parameters<OpenWaits["endEach"]>[0]): void {
    sessions.endEach(whyEnd);
    openWaits.endEach(whyEnd);
  }

  async function drain(deadlineMs: number): Promise<void> {
    standard.setServing(false);
    const closed = shutDown(server, bound && formatListenAddress(bound), deadlineMs);
    sessions.drain();
    openWaits.drain();
    standard.endStreams();
    await closed;
  }

  return {
    served,
    async start(listen) {
      const bind = promisify(server.bindAsync.bind(server));
      const port = await bind(formatListenAddress(listen), credentialsOf(tls));
      bound = { host: listen.host, port };
      standard.setServing(true);
      return bound;
    },
    setTls(renewed) {
      if (!tls) return;
      tls = renewed;
      for (const listener of listeners)
        if ("setSecureContext" in listener) listener.setSecureContext(secureOptions(renewed));
      // Places and leases stay.
      const why = certificateRevoked();
      const revoked = new Set<string | null>(standing.endRevoked(renewed.clientCrls ?? []));
      endEach(({ peer }) => (revoked.has(peer) ? why : null));
    },
    bounds: (): readonly BoundUse[] => {
      const waits = openWaits.count + arriving.count;
      const openConnections = connectionDoor.count;
      return [
        { bound: "server_waits", kind: "room", used: waits, max: capacity.waits },
        { bound: "server_connections", kind: "room", used: openConnections, max: capacity.connections },
        ...sessions.bounds,
        ...admission.bounds,
        arriving.bound,
        ...streams.bounds,
        connectionDoor.bound,
        connections.bound,
        ...openWaits.bounds,
      ];
    },
    setServing(serving) {
      if (!draining) standard.setServing(serving);
    },
    endLost(loss) {
      endEach(({ identity }) => loss(identity));
    },
    sendElsewhere() {
      if (!draining) sessions.sendElsewhere();
    },
    drain(deadlineMs) {
      draining ??= drain(deadlineMs);
      return draining;
    },
  };
}

/** Connections of one address come in bursts, when all clients behind it come back. */
function rateOf(perSecond: number | null): Rate {
  return {
    most: (perSecond ?? Number.POSITIVE_INFINITY) * bounds.ADDRESS_BURST_S,
    spanMs: bounds.ADDRESS_BURST_S * 1_000,
  };
}

function credentialsOf(tls: TlsMaterial | null): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const clientCa = tls.clientCa === null ? null : Buffer.from(tls.clientCa);
  const pair = { cert_chain: Buffer.from(tls.certificate), private_key: Buffer.from(tls.key) };
  return ServerCredentials.createSsl(clientCa, [pair], clientCa !== null);
}

/**
 * Resolves when all connections are closed, by themselves or by force, or after `deadlineMs`. Without channelz,
 * grpc-js's forceShutdown knows of no connection, so grpc-js's `drain` does the forcing. `drain` must run first,
 * because it skips connections that are already closing.
 */
function shutDown(server: Server, address: string | undefined, deadlineMs: number): Promise<void> {
  if (address !== undefined) server.drain(address, deadlineMs);
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, deadlineMs);
    // tryShutdown fails only for a server that never started or is already shut down: there is nothing left to close.
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
