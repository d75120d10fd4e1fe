// Pokes other servers: finds each in the register when there is first something to tell it, and keeps a connection. One
// poke is under way to each at a time, and what comes up meanwhile goes together. Whatever goes wrong, the poke is lost,
// that server is left alone for a while, and its poll finds what it was not told.

import type { TlsMaterial } from "../../config/tls-material.ts";
import type { ClaimKey } from "../../core/claim.ts";
import type { CallObserver } from "../call-observer.ts";
import { POKE_REST_MS, POKED_CLAIMS_MAX } from "../grpc-bounds.ts";
import type { OwnReplica } from "./own-replica.ts";
import { type PokeChannel, pokeChannel } from "./poke-channel.ts";

export interface PokeSenderOptions {
  /** Reads the register. */
  readonly targets: () => Promise<readonly Pick<OwnReplica, "id" | "address" | "secret">[]>;
  /** As this server itself is reached: the others are, too. */
  readonly tls: TlsMaterial | null;
  readonly observer: Pick<CallObserver, "poke">;
  /** Opens a connection; over the network if not given. */
  readonly connect?: (address: string, tls: TlsMaterial | null) => PokeChannel;
}

interface Peer {
  /** null: not found yet. */
  channel: PokeChannel | null;
  secret: string;
  pending: ClaimKey[];
  isBusy: boolean;
  /** Set while it is left alone: then it is forgotten, and looked up anew. */
  rest: NodeJS.Timeout | undefined;
}

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
      peer = { channel: null, secret: "", pending: [], isBusy: true, rest: undefined };
      this.#peers.set(replica, peer);
      void this.#find(replica, peer);
    }
    if (!peer.rest && peer.pending.length < POKED_CLAIMS_MAX) peer.pending.push({ lockId, ticketNumber });
    else this.#options.observer.poke("lost", 1);
    this.#poke(peer, replica);
  }

  close(): void {
    this.#isClosed = true;
    for (const replica of this.#peers.keys()) this.#forget(replica);
  }

  async #find(replica: bigint, peer: Peer): Promise<void> {
    try {
      const targets = await this.#options.targets();
      if (this.#isClosed) return;
      this.#forgetAllBut(new Set(targets.map(({ id }) => id)).add(replica));
      const target = targets.find(({ id }) => id === replica);
      // One of an earlier version has no secret, and one that took any free port cannot say where it is.
      if (!target?.secret || target.address.endsWith(":0")) return this.#rest(replica, peer);
      const { connect = pokeChannel, tls } = this.#options;
      peer.channel = connect(target.address, tls);
      peer.secret = target.secret;
      peer.isBusy = false;
      this.#poke(peer, replica);
    } catch {
      // The database is away: whoever decides something tells of it.
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

  /** Leaves it alone for a while. After that it is looked up anew. */
  #rest(replica: bigint, peer: Peer): void {
    // It may have been forgotten meanwhile, and found again as another one.
    if (this.#peers.get(replica) !== peer) return;
    this.#hangUp(peer);
    peer.rest = setTimeout(() => this.#forget(replica), POKE_REST_MS).unref();
  }

  #forgetAllBut(there: ReadonlySet<bigint>): void {
    for (const replica of this.#peers.keys()) if (!there.has(replica)) this.#forget(replica);
  }

  /** With its timer, which would otherwise end what comes to its place. */
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
