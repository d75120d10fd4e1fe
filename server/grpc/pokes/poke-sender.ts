// Pokes other servers: looks each up in the register when there is first a claim to send, and keeps a connection.
// Only one poke to each server is under way at a time; claims that come up meanwhile go together in the next one. If
// anything goes wrong, the poke is lost, that server gets no pokes for a while, and finds the claims by its own poll.

import type { TlsMaterial } from "../../config/tls-files.ts";
import type { ClaimKey } from "../../core/claim.ts";
import type { CallObserver } from "../call-observer.ts";
import { POKE_REST_MS, POKED_CLAIMS_MAX } from "../grpc-bounds.ts";
import { isReachable, type OwnReplica, type PokeChannel, pokeChannel } from "./registered-servers.ts";

export interface PokeSenderOptions {
  readonly register: () => Promise<{
    readonly replicas: readonly Pick<OwnReplica, "id" | "address" | "secret">[];
  }>;
  /** This server's own TLS material, read for each connection; the other servers are reached in the same way. */
  readonly tls: () => TlsMaterial | null;
  readonly observer: Pick<CallObserver, "poke">;
  readonly connect?: (address: string, tls: TlsMaterial | null) => PokeChannel;
}

interface Peer {
  channel: PokeChannel | null;
  secret: string;
  pending: ClaimKey[];
  isBusy: boolean;
  /** Set while this server gets no pokes; when it fires, the peer is forgotten and will be looked up again. */
  rest: NodeJS.Timeout | undefined;
}

export class PokeSender {
  readonly #options: PokeSenderOptions;
  readonly #peers = new Map<bigint, Peer>();
  #isClosed = false;

  constructor(options: PokeSenderOptions) {
    this.#options = options;
  }

  /** Never waits and never throws. A claim that cannot be sent counts as lost. */
  send({ replica, lockId, ticketNumber }: ClaimKey & { readonly replica: bigint }): void {
    if (this.#isClosed) return;
    let peer = this.#peers.get(replica);
    if (!peer) {
      peer = { channel: null, secret: "", pending: [], isBusy: true, rest: undefined };
      this.#peers.set(replica, peer);
      void this.#find(replica, peer);
    }
    if (!peer.rest && peer.pending.length < POKED_CLAIMS_MAX) peer.pending.push({ lockId, ticketNumber });
    else this.#options.observer.poke("lost", 1);
    this.#poke(peer, replica);
  }

  /** Connects anew to every server it has something to send to: the TLS material is another one. */
  reconnect(): void {
    for (const replica of this.#peers.keys()) this.#forget(replica);
  }

  close(): void {
    this.#isClosed = true;
    this.reconnect();
  }

  async #find(replica: bigint, peer: Peer): Promise<void> {
    try {
      const { replicas } = await this.#options.register();
      // The peer may have been forgotten meanwhile.
      if (this.#peers.get(replica) !== peer) return;
      const there = new Set(replicas.map(({ id }) => id)).add(replica);
      for (const known of this.#peers.keys()) if (!there.has(known)) this.#forget(known);
      const target = replicas.find(({ id }) => id === replica);
      if (!target || !isReachable(target)) return this.#rest(replica, peer);
      const { connect = pokeChannel, tls } = this.#options;
      peer.channel = connect(target.address, tls());
      peer.secret = target.secret;
      peer.isBusy = false;
      this.#poke(peer, replica);
    } catch {
      // The database is away, which the next decision will report.
      this.#rest(replica, peer);
    }
  }

  #poke(peer: Peer, replica: bigint): void {
    const { channel, secret } = peer;
    if (peer.isBusy || !channel || peer.pending.length === 0) return;
    peer.isBusy = true;
    const claims = peer.pending.splice(0);
    channel.poke(secret, claims, (error) => {
      this.#options.observer.poke(error ? "lost" : "sent", claims.length);
      peer.isBusy = false;
      if (error) this.#rest(replica, peer);
      else this.#poke(peer, replica);
    });
  }

  /** Sends this server no pokes for a while, and then forgets it, so that it is looked up again. */
  #rest(replica: bigint, peer: Peer): void {
    // This peer may have been forgotten meanwhile, and the server found again as a new peer.
    if (this.#peers.get(replica) !== peer) return;
    this.#hangUp(peer);
    peer.rest = setTimeout(() => this.#forget(replica), POKE_REST_MS).unref();
  }

  /** Also clears the timer, which would otherwise forget the peer that replaces this one. */
  #forget(replica: bigint): void {
    const peer = this.#peers.get(replica);
    if (!peer) return;
    this.#peers.delete(replica);
    clearTimeout(peer.rest);
    this.#hangUp(peer);
  }

  #hangUp(peer: Peer): void {
    peer.channel?.close();
    peer.channel = null;
    if (peer.pending.length > 0) this.#options.observer.poke("lost", peer.pending.length);
    peer.pending = [];
  }
}
