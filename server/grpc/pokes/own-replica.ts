// This server's entry in the database's register: who it is, and where other servers reach it.

import { randomBytes } from "node:crypto";
import { formatListenAddress, isAnyHost, type ListenAddress } from "../../config/listen-address.ts";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../../core/random-numbers.ts";
import { secretMaker } from "../../engine/secrets.ts";

export interface OwnReplicaOptions {
  readonly listen: ListenAddress;
  /** null: the address on which it listens. */
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
