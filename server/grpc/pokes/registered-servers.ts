// The register of servers, for pokes: this server's own entry, and the other servers over the same database.

import { randomBytes } from "node:crypto";
import {
  formatListenAddress,
  isAnyHost,
  type ListenAddress,
  parseListenAddress,
} from "../../config/addresses.ts";
import type { TlsMaterial } from "../../config/tls-files.ts";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../../core/rows.ts";
import { secretMaker } from "../../engine/secrets.ts";
import { OTHERS_ASKED_MAX } from "../grpc-bounds.ts";
import { decidesThere } from "./poke-channel.ts";

export interface OwnReplicaOptions {
  readonly listen: ListenAddress;
  /** null: the address on which it listens. */
  readonly advertise: ListenAddress | null;
  /** The local host from which it reaches the database; null: not over a network. */
  readonly localHost: string | null;
  readonly version: string;
}

/** This server's entry: who it is, and where other servers reach it. */
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
  /** This server's id. */
  readonly own: bigint;
  readonly register: () => Promise<{ readonly nowUs: number; readonly replicas: readonly Registered[] }>;
  /** As that of a PokeSender. */
  readonly tls: () => TlsMaterial | null;
  /** Default: asks over the network. */
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
