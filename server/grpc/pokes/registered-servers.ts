// The register of servers: this server's own entry, and how the others are reached, for pokes and requests to decide.
// With TLS, the other end must prove that it is the server at this address before anything is sent: the secret in a poke
// is the only reason to believe it.

import { randomBytes, X509Certificate } from "node:crypto";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { Client, type ClientOptions, credentials } from "@grpc/grpc-js";
import { ReplicaService } from "#proto/rowlock/internal/v1/replica_service_pb.js";
import {
  formatListenAddress,
  isAnyHost,
  type ListenAddress,
  parseListenAddress,
} from "../../config/addresses.ts";
import type { TlsMaterial } from "../../config/tls-files.ts";
import type { ClaimKey } from "../../core/claim.ts";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../../core/rows.ts";
import { secretMaker } from "../../engine/secrets.ts";
import { OTHERS_ASKED_MAX, POKE_TIMEOUT_MS } from "../grpc-bounds.ts";
import { definitionOf } from "../lock-service.ts";
import { asItIs, encode } from "../messages/messages.ts";

export interface OwnReplicaOptions {
  readonly listen: ListenAddress;
  readonly advertise: ListenAddress | null;
  /** The local host from which it reaches the database; null: not over a network. */
  readonly localHost: string | null;
  readonly version: string;
}

export class OwnReplica {
  readonly id = randomNumberOf(randomBytes(RANDOM_NUMBER_BYTES));
  readonly secret = secretMaker()();
  readonly version: string;
  /** The listener's port. If the setting is 0, the caller sets the actual port once the server listens. */
  port: number;
  readonly #options: OwnReplicaOptions;

  constructor(options: OwnReplicaOptions) {
    this.version = options.version;
    this.port = options.listen.port;
    this.#options = options;
  }

  /**
   * Where other servers reach this one. If it listens on all hosts, that is the local host from which it reaches the
   * database: the other servers use the same database, so they should be able to reach this host.
   */
  get address(): string {
    const { listen, advertise, localHost } = this.#options;
    const host = isAnyHost(listen.host) ? (localHost ?? listen.host) : listen.host;
    return formatListenAddress(advertise ?? { host, port: this.port });
  }
}

/**
 * A server of an earlier version has no secret. A server that listens on any free port (0) cannot say where it is, nor can
 * one that listens on all hosts and has no address of its own.
 */
export function isReachable({ address, secret }: Pick<OwnReplica, "address" | "secret">): boolean {
  const where = parseListenAddress(address);
  return secret !== "" && where !== null && where.port !== 0 && !isAnyHost(where.host);
}

interface Registered extends Pick<OwnReplica, "id" | "address" | "secret"> {
  readonly deadlineUs: number;
}

export interface OtherServersOptions {
  readonly own: bigint;
  readonly register: () => Promise<{ readonly nowUs: number; readonly replicas: readonly Registered[] }>;
  readonly tls: () => TlsMaterial | null;
  readonly decides?: typeof decidesThere;
}

/**
 * Finds out whether another server can serve clients when this one cannot. Asks the servers in the last register that
 * could be read for a decision, because what they could do a moment ago proves nothing. If the database is away or
 * slow for all of them, none proves it in time, and clients stay here.
 */
export class OtherServers {
  readonly #options: OtherServersOptions;
  #others: readonly Registered[] = [];

  constructor(options: OtherServersOptions) {
    this.#options = options;
  }

  /** Reads the register. Rejects if that fails; the servers known before then still count. */
  async learn(): Promise<void> {
    const { own, register } = this.#options;
    const { nowUs, replicas } = await register();
    const others = replicas.filter(({ id, deadlineUs }) => id !== own && deadlineUs > nowUs);
    this.#others = others.filter(isReachable);
  }

  /** Whether one of them decides within the time. Asks the few that registered last. Never rejects. */
  async decide(withinMs: number): Promise<boolean> {
    const { tls, decides = decidesThere } = this.#options;
    const asked = this.#others.slice(-OTHERS_ASKED_MAX).map(async (other) => {
      if (!(await decides(other, tls(), withinMs))) throw new Error(`${other.address} does not decide.`);
    });
    return await Promise.any(asked).then(
      () => true,
      () => false,
    );
  }
}

export interface PokeChannel {
  /** Calls `done` once: with the reason why the poke did not get through, or with null. */
  poke(secret: string, claims: readonly ClaimKey[], done: (error: Error | null) => void): void;
  close(): void;
}

const POKE = definitionOf(ReplicaService.method.poke);
const { input } = ReplicaService.method.poke;
const DECIDE = definitionOf(ReplicaService.method.decide);

const CHANNEL: ClientOptions = {
  "grpc.enable_channelz": 0,
  "grpc.enable_retries": 0,
  "grpc.use_local_subchannel_pool": 1,
  // A proxy of the environment could read what pokes contain, and knows no addresses of servers.
  "grpc.enable_http_proxy": 0,
  // Servers are reached by IP address, but TLS accepts only names. checkServerIdentity below ignores this name.
  "grpc.ssl_target_name_override": "rowlock",
};

/** Whether the server at this address proves within the time that it can decide. Never rejects. */
function decidesThere(
  { address, secret }: { readonly address: string; readonly secret: string },
  tls: TlsMaterial | null,
  withinMs: number,
): Promise<boolean> {
  const client = clientOf(address, tls);
  const options = { deadline: Date.now() + withinMs };
  const message = encode(ReplicaService.method.decide.input, { secret });
  return new Promise((resolve) => {
    client.makeUnaryRequest(DECIDE.path, asItIs, asItIs, message, options, (error) => {
      client.close();
      resolve(error === null);
    });
  });
}

function clientOf(address: string, tls: TlsMaterial | null): Client {
  return new Client(address, tls ? checked(address, tls) : credentials.createInsecure(), CHANNEL);
}

/** Connects when there is first something to send. `tls`: this server's own; the others are reached in the same way. */
export function pokeChannel(address: string, tls: TlsMaterial | null): PokeChannel {
  const client = clientOf(address, tls);
  return {
    poke(secret, claims, done) {
      const message = encode(input, { secret, claims: [...claims] });
      const options = { deadline: Date.now() + POKE_TIMEOUT_MS };
      client.makeUnaryRequest(POKE.path, asItIs, asItIs, message, options, (error) => done(error));
    },
    close: () => client.close(),
  };
}

/** The other servers' certificates come from the same authorities as this server's. */
function checked(address: string, { certificate, key, clientCa }: TlsMaterial) {
  const own = new X509Certificate(certificate).raw;
  const host = parseListenAddress(address)?.host ?? address;
  const trusted = Buffer.from([certificate, clientCa ?? ""].join("\n"));
  return credentials.createSsl(trusted, Buffer.from(key), Buffer.from(certificate), {
    checkServerIdentity: (_name, shown) => whyNotServer(host, shown, own),
  });
}

/**
 * Why this certificate is not that of the server at the host; undefined: it is. A valid certificate names the host,
 * or is this server's own, which several servers may share: then the other end has its key, too.
 */
function whyNotServer(host: string, shown: PeerCertificate, own: Buffer): Error | undefined {
  return own.equals(shown.raw) ? undefined : checkServerIdentity(host, shown);
}
