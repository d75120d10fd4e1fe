// The gRPC server: its bounds, its services, its start and its drain. Owns the listener and the open calls; the engine
// belongs to the caller and must outlive the drain, as calls that are ended take their leave there.

import { Server, ServerCredentials, setLogger } from "@grpc/grpc-js";
import type { ListenAddress } from "../config/listen-address.ts";
import { formatListenAddress } from "../config/listen-address.ts";
import type { TlsMaterial } from "../config/tls-material.ts";
import type { LockEngine } from "../engine/lock-engine.ts";
import type { Logger } from "../log/log.ts";
import type { OutageLog } from "../log/outage-log.ts";
import { AdmissionRoom } from "./admission.ts";
import type { CallObserver } from "./call-observer.ts";
import { ConnectionCalls } from "./connection-calls.ts";
import { FaultLog } from "./fault-log.ts";
import { KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS, SHORT_CALLS_MAX } from "./grpc-bounds.ts";
import { lockServiceDefinition, lockServiceHandlers } from "./methods/lock-service.ts";
import { OpenWaits } from "./methods/open-waits.ts";
import { PlaceTurns } from "./methods/place-turns.ts";
import { type PokeServiceOptions, pokeServiceDefinition, pokeServiceHandlers } from "./pokes/poke-service.ts";
import { NO_BOUND, type ServerRoom } from "./server-room.ts";
import { Sessions } from "./session/sessions.ts";
import { StandardServices } from "./standard-services.ts";
import { explainReceiveLimit, limitConnections } from "./transport-limits.ts";

export interface GrpcServerOptions {
  readonly engine: LockEngine;
  readonly observer: CallObserver;
  readonly logger: Logger;
  /** Takes the failures of calls that belong to an outage of the database; unset: they are told like all others. */
  readonly outage?: Pick<OutageLog, "failed">;
  /** null: plain text. */
  readonly tls: TlsMaterial | null;
  /** How long a waiter that lost its connection keeps its place: what tickets say. */
  readonly graceMs: number;
  /** Unset: as much as there is. */
  readonly room?: ServerRoom;
  /** Most open waits on one connection: blocked calls and streams. */
  readonly streamsMax: number;
  /** This server, as clients of sessions are told. */
  readonly replica: string;
  /** Of one session: waits, and other commands under way. */
  readonly sessionWaitsMax: number;
  readonly sessionCommandsMax: number;
  /** Largest request. */
  readonly receiveBytesMax: number;
  readonly reflection: boolean;
  /** Where other servers poke this one; unset: nowhere. */
  readonly pokes?: PokeServiceOptions;
  /** Pings to clients that are silent; unset: as grpc-bounds.ts says. */
  readonly keepalive?: { readonly intervalMs: number; readonly timeoutMs: number };
  /** How long a connection may take to show that it speaks HTTP/2; unset: as grpc-bounds.ts says. */
  readonly handshakeMs?: number;
}

export interface GrpcServer {
  /** Listens, and says where. Rejects if the address cannot be had. To be called once. */
  start(listen: ListenAddress): Promise<ListenAddress>;
  /** What health says: SERVING after the start until told otherwise. */
  setServing(serving: boolean): void;
  /** Tells the clients of sessions to go on at another server, which has the database that this one has lost. */
  sendElsewhere(): void;
  /**
   * Takes no new connections, ends streams and blocked calls with UNAVAILABLE, lets other calls finish, and cuts off
   * what is left when the time is over. Can be called twice; the first time counts.
   */
  drain(deadlineMs: number): Promise<void>;
}

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { engine, observer, logger, graceMs } = options;
  // What grpc-js has to say it says once for the whole process, and on the error output unless told otherwise.
  setLogger({ error: (...words: unknown[]) => logger.warn({ words: words.join(" ") }, "grpc-js warns") });
  const openMax = options.streamsMax + SHORT_CALLS_MAX;
  const server = new Server({
    "grpc.max_receive_message_length": options.receiveBytesMax,
    "grpc.max_concurrent_streams": openMax,
    "grpc.keepalive_time_ms": options.keepalive?.intervalMs ?? KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": options.keepalive?.timeoutMs ?? KEEPALIVE_TIMEOUT_MS,
    // Nobody reads channelz here, and it costs something with every call.
    "grpc.enable_channelz": 0,
    interceptors: [explainReceiveLimit(options.receiveBytesMax)],
  });
  const room = options.room ?? NO_BOUND;
  limitConnections(server, { openMax, connectionsMax: room.connections, handshakeMs: options.handshakeMs });
  const openWaits = new OpenWaits(options.streamsMax, room);
  const context = { engine, openWaits, turns: new PlaceTurns(), graceUs: graceMs * 1_000 };
  const admission = new AdmissionRoom();
  const calls = new ConnectionCalls(context, openMax, admission);
  const frame = { observer, faultLog: new FaultLog(logger, options.outage) };
  const sessions = new Sessions(
    {
      methods: context,
      admission,
      openWaits,
      frame,
      replica: options.replica,
      waitsMax: options.sessionWaitsMax,
      commandsMax: options.sessionCommandsMax,
      messageBytesMax: options.receiveBytesMax,
    },
    room,
  );
  server.addService(lockServiceDefinition, lockServiceHandlers(calls, frame, sessions));
  if (options.pokes) server.addService(pokeServiceDefinition, pokeServiceHandlers(options.pokes, observer));
  const standard = new StandardServices(server, options.reflection);
  let bound: ListenAddress | undefined;
  let draining: Promise<void> | undefined;

  async function drain(deadlineMs: number): Promise<void> {
    standard.setServing(false);
    const closed = shutDown(server, bound && formatListenAddress(bound), deadlineMs);
    sessions.drain();
    openWaits.drain();
    standard.endStreams();
    await closed;
  }

  return {
    async start(listen) {
      const port = await bind(server, listen, credentialsOf(options.tls));
      bound = { host: listen.host, port };
      standard.setServing(true);
      return bound;
    },
    setServing(serving) {
      if (!draining) standard.setServing(serving);
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

function credentialsOf(tls: TlsMaterial | null): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const clientCa = tls.clientCa === null ? null : Buffer.from(tls.clientCa);
  const pair = { cert_chain: Buffer.from(tls.certificate), private_key: Buffer.from(tls.key) };
  return ServerCredentials.createSsl(clientCa, [pair], clientCa !== null);
}

function bind(server: Server, listen: ListenAddress, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(formatListenAddress(listen), credentials, (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

/**
 * Resolves when all connections are closed, by themselves or by force. Without channelz, grpc-js's forceShutdown knows
 * of no connection, so its drain does the forcing; that must be told first, as it looks away from connections that
 * are being closed already.
 */
function shutDown(server: Server, address: string | undefined, deadlineMs: number): Promise<void> {
  if (address !== undefined) server.drain(address, deadlineMs);
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, deadlineMs);
    // It fails only for a server that was never started or is shut down already: there is nothing left to close.
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
