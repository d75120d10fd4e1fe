// A connection to another server, for pokes and requests to decide. With TLS, the other end must prove that it is the
// server at this address before anything is sent: the secret in a poke is the only reason to believe it.

import { X509Certificate } from "node:crypto";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { ClientOptions } from "@grpc/grpc-js";
import { Client, credentials } from "@grpc/grpc-js";
import { ReplicaService } from "#proto/rowlock/internal/v1/replica_service_pb.js";
import { parseListenAddress } from "../../config/addresses.ts";
import type { TlsMaterial } from "../../config/tls-files.ts";
import type { ClaimKey } from "../../core/claim.ts";
import { POKE_TIMEOUT_MS } from "../grpc-bounds.ts";
import { asItIs, definitionOf } from "../lock-service.ts";
import { encode } from "../messages/messages.ts";

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
export function decidesThere(
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

/**
 * Connects when there is first something to send. `tls`: this server's own material; the other servers are reached in
 * the same way.
 */
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
