// This server as the register in the database has it: who it is, and where other servers reach it.

import { randomBytes } from "node:crypto";
import { formatListenAddress, isAnyHost, type ListenAddress } from "../../config/listen-address.ts";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../../core/random-numbers.ts";
import { secretMaker } from "../../engine/secrets.ts";

export interface OwnReplicaOptions {
  readonly listen: ListenAddress;
  /** null: where it listens. */
  readonly advertise: ListenAddress | null;
  /** From where it reaches the database; null: not over a network. */
  readonly localHost: string | null;
  readonly version: string;
}

export class OwnReplica {
  readonly id = randomNumberOf(randomBytes(RANDOM_NUMBER_BYTES));
  readonly secret = secretMaker()();
  readonly version: string;
  /** Of the listener, which may have taken any free one. */
  port: number;
  readonly #options: OwnReplicaOptions;

  constructor(options: OwnReplicaOptions) {
    this.version = options.version;
    this.port = options.listen.port;
    this.#options = options;
  }

  /** Where others reach it. A database that is reached over the network is a place from which they all can come. */
  get address(): string {
    const { listen, advertise, localHost } = this.#options;
    const host = isAnyHost(listen.host) ? (localHost ?? listen.host) : listen.host;
    return formatListenAddress(advertise ?? { host, port: this.port });
  }
}
