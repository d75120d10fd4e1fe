// Pokes other servers: finds each in the register when there is first something to tell it, and keeps a connection. One
// poke is under way to each at a time, and what comes up meanwhile goes together. Whatever goes wrong, the poke is lost,
// that server is left alone for a while, and its poll finds what it was not told.

import type { ClientOptions } from "@grpc/grpc-js";
import { Client, credentials } from "@grpc/grpc-js";
import { ReplicaService } from "#proto/rowlock/internal/v1/replica_service_pb.js";
import type { TlsMaterial } from "../../config/tls-material.ts";
import type { ClaimKey } from "../../core/claim.ts";
import type { CallObserver } from "../call-observer.ts";
import { POKE_REST_MS, POKE_TIMEOUT_MS, POKED_CLAIMS_MAX } from "../grpc-bounds.ts";
import { encode } from "../messages/encoding.ts";
import { definitionOf } from "../methods/lock-service.ts";
import type { OwnReplica } from "./own-replica.ts";

export interface PokeSenderOptions {
  /** Reads the register. */
  readonly targets: () => Promise<readonly Pick<OwnReplica, "id" | "address" | "secret">[]>;
  /** As this server itself is reached: the others are, too. */
  readonly tls: TlsMaterial | null;
  readonly observer: Pick<CallObserver, "poke">;
}

interface Peer {
  /** null: not found yet, or left alone for a while. */
  client: Client | null;
  secret: string;
  pending: ClaimKey[];
  isBusy: boolean;
}

const POKE = definitionOf(ReplicaService.method.poke);
const { input } = ReplicaService.method.poke;

const CHANNEL: ClientOptions = {
  "grpc.enable_channelz": 0,
  "grpc.enable_retries": 0,
  "grpc.use_local_subchannel_pool": 1,
  // Servers are reached by their addresses, which TLS does not take for names.
  "grpc.ssl_target_name_override": "rowlock",
};

export class PokeSender {
  readonly #options: PokeSenderOptions;
  readonly #peers = new Map<bigint, Peer>();
  #isClosed = false;

  constructor(options: PokeSenderOptions) {
    this.#options = options;
  }

  /** Never waits, never fails. */
  send({ replica, lockId, ticketNumber }: ClaimKey & { readonly replica: bigint }): void {
    if (this.#isClosed) return;
    let peer = this.#peers.get(replica);
    if (!peer) {
      peer = { client: null, secret: "", pending: [], isBusy: true };
      this.#peers.set(replica, peer);
      void this.#find(replica, peer);
    }
    if (peer.pending.length < POKED_CLAIMS_MAX) peer.pending.push({ lockId, ticketNumber });
    else this.#options.observer.poke("lost", 1);
    this.#poke(peer, replica);
  }

  close(): void {
    this.#isClosed = true;
    for (const { client } of this.#peers.values()) client?.close();
    this.#peers.clear();
  }

  async #find(replica: bigint, peer: Peer): Promise<void> {
    try {
      const targets = await this.#options.targets();
      this.#forgetAllBut(new Set(targets.map(({ id }) => id)).add(replica));
      const target = targets.find(({ id }) => id === replica);
      // One of an earlier version has no secret, and one that took any free port cannot say where it is.
      if (this.#isClosed || !target?.secret || target.address.endsWith(":0"))
        return this.#rest(replica, peer);
      peer.client = new Client(target.address, this.#credentials(), CHANNEL);
      peer.secret = target.secret;
      peer.isBusy = false;
      this.#poke(peer, replica);
    } catch {
      // The database is away: whoever decides something tells of it.
      this.#rest(replica, peer);
    }
  }

  #poke(peer: Peer, replica: bigint): void {
    const { client, secret } = peer;
    if (peer.isBusy || !client || peer.pending.length === 0) return;
    peer.isBusy = true;
    const claims = peer.pending.splice(0);
    const message = encode(input, { secret, claims });
    const options = { deadline: Date.now() + POKE_TIMEOUT_MS };
    client.makeUnaryRequest(POKE.path, asItIs, asItIs, message, options, (error) => {
      this.#options.observer.poke(error ? "lost" : "sent", claims.length);
      peer.isBusy = false;
      if (error) this.#rest(replica, peer);
      else this.#poke(peer, replica);
    });
  }

  /** Leaves it alone for a while. After that it is looked up anew. */
  #rest(replica: bigint, peer: Peer): void {
    peer.client?.close();
    peer.client = null;
    peer.isBusy = true;
    if (peer.pending.length > 0) this.#options.observer.poke("lost", peer.pending.length);
    peer.pending = [];
    setTimeout(() => this.#peers.delete(replica), POKE_REST_MS).unref();
  }

  #forgetAllBut(there: ReadonlySet<bigint>): void {
    for (const [replica, { client }] of this.#peers) {
      if (there.has(replica)) continue;
      client?.close();
      this.#peers.delete(replica);
    }
  }

  /**
   * Other servers show certificates of the same makers as this one, under whatever names; the secret, which only a reader
   * of the database has, goes to them alone.
   */
  #credentials() {
    const { tls } = this.#options;
    if (!tls) return credentials.createInsecure();
    const { certificate, key, clientCa } = tls;
    const trusted = Buffer.from([certificate, clientCa ?? ""].join("\n"));
    return credentials.createSsl(trusted, Buffer.from(key), Buffer.from(certificate), {
      checkServerIdentity: () => undefined,
    });
  }
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
