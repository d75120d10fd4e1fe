// The gRPC server: its bounds, its services, its start and its drain. Owns the listener and the open calls; the engine
// belongs to the caller and must outlive the drain, as calls that are ended take their leave there.

import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { LockEngine } from "../engine/lock-engine.ts";
import type { CallObserver, Logger } from "./call-observer.ts";
import { FaultLog } from "./fault-log.ts";
import { KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS } from "./grpc-bounds.ts";
import { lockServiceDefinition, lockServiceHandlers } from "./lock-service.ts";
import { OpenWaits } from "./open-waits.ts";
import { explainReceiveLimit } from "./receive-limit.ts";
import { StandardServices } from "./standard-services.ts";

/** PEM texts. */
export interface TlsOptions {
  readonly certificate: string;
  readonly key: string;
  /** Whose clients may connect; null: clients need no certificate. */
  readonly clientCa: string | null;
}

export interface GrpcServerOptions {
  readonly engine: LockEngine;
  readonly observer: CallObserver;
  readonly logger: Logger;
  /** null: plain text. */
  readonly tls: TlsOptions | null;
  /** How long a waiter that lost its connection keeps its place: what tickets say. */
  readonly graceMs: number;
  /** Most calls and streams at once on one connection. */
  readonly streamsMax: number;
  /** Largest request. */
  readonly receiveBytesMax: number;
  readonly reflection: boolean;
}

export interface ListenAddress {
  /** A name or an address; one of IPv6 without brackets. */
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

export interface GrpcServer {
  /** Listens, and says where. Rejects if the address cannot be had. To be called once. */
  start(listen: ListenAddress): Promise<ListenAddress>;
  /** What health says: SERVING after the start until told otherwise. */
  setServing(serving: boolean): void;
  /**
   * Takes no new connections, ends streams and blocked calls with UNAVAILABLE, lets other calls finish, and cuts off
   * what is left when the time is over. Can be called twice; the first time counts.
   */
  drain(deadlineMs: number): Promise<void>;
}

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const { engine, observer, logger, graceMs } = options;
  const server = new Server({
    "grpc.max_receive_message_length": options.receiveBytesMax,
    "grpc.max_concurrent_streams": options.streamsMax,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    // Nobody reads channelz here, and it costs something with every call.
    "grpc.enable_channelz": 0,
    interceptors: [explainReceiveLimit(options.receiveBytesMax)],
  });
  const openWaits = new OpenWaits();
  const verbs = { engine, openWaits, graceUs: graceMs * 1_000 };
  server.addService(
    lockServiceDefinition,
    lockServiceHandlers(verbs, { observer, faultLog: new FaultLog(logger) }),
  );
  const standard = new StandardServices(server, options.reflection);
  let draining: Promise<void> | undefined;

  async function drain(deadlineMs: number): Promise<void> {
    standard.setServing(false);
    const closed = shutDown(server, deadlineMs);
    openWaits.drain();
    standard.endStreams();
    await closed;
  }

  return {
    async start(listen) {
      const port = await bind(server, listen, credentialsOf(options.tls));
      standard.setServing(true);
      return { host: listen.host, port };
    },
    setServing(serving) {
      if (!draining) standard.setServing(serving);
    },
    drain(deadlineMs) {
      draining ??= drain(deadlineMs);
      return draining;
    },
  };
}

function credentialsOf(tls: TlsOptions | null): ServerCredentials {
  if (!tls) return ServerCredentials.createInsecure();
  const clientCa = tls.clientCa === null ? null : Buffer.from(tls.clientCa);
  const pair = { cert_chain: Buffer.from(tls.certificate), private_key: Buffer.from(tls.key) };
  return ServerCredentials.createSsl(clientCa, [pair], clientCa !== null);
}

function bind(
  server: Server,
  { host, port }: ListenAddress,
  credentials: ServerCredentials,
): Promise<number> {
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, boundPort) => {
      if (error) reject(error);
      else resolve(boundPort);
    });
  });
}

/** Resolves when all connections are closed, by themselves or by force. */
function shutDown(server: Server, deadlineMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, deadlineMs);
    // It fails only for a server that was never started or is shut down already: there is nothing left to close.
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
