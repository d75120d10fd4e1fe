// Whether another server over the same database can serve clients when this one cannot: asks the health of those that were in
// the register when it could last be read. Where the database is away for all of them, none can, and clients stay.

import { HealthCheckResponse_ServingStatus } from "#proto/grpc/health/v1/health_pb.js";
import type { TlsMaterial } from "../../config/tls-material.ts";
import { OTHERS_ASKED_MAX } from "../grpc-bounds.ts";
import { healthOf } from "./poke-channel.ts";

interface Registered {
  readonly id: bigint;
  readonly address: string;
  readonly deadlineUs: number;
}

export interface OtherServersOptions {
  /** This one. */
  readonly own: bigint;
  readonly register: () => Promise<{ readonly nowUs: number; readonly replicas: readonly Registered[] }>;
  /** As this server itself is reached: the others are, too. */
  readonly tls: TlsMaterial | null;
  /** Over the network if not given. */
  readonly health?: typeof healthOf;
}

export class OtherServers {
  readonly #options: OtherServersOptions;
  /** Where they are reached. */
  #addresses: readonly string[] = [];
  #isLearning = false;

  constructor(options: OtherServersOptions) {
    this.#options = options;
  }

  /** Reads the register, once at a time. Does not wait; where it cannot be read, what was known counts on. */
  learn(): void {
    if (this.#isLearning) return;
    this.#isLearning = true;
    const { own, register } = this.#options;
    register()
      .then(({ nowUs, replicas }) => {
        const others = replicas.filter(({ id, deadlineUs }) => id !== own && deadlineUs > nowUs);
        // One that took any free port cannot say where it is.
        this.#addresses = others.map(({ address }) => address).filter((address) => !address.endsWith(":0"));
      })
      // Readiness tells of a database that is away.
      .catch(() => {})
      .finally(() => {
        this.#isLearning = false;
      });
  }

  /** Whether one of them serves now. Asks a few, those that were registered last. Never throws. */
  async serve(): Promise<boolean> {
    const { tls, health = healthOf } = this.#options;
    const asked = this.#addresses.slice(-OTHERS_ASKED_MAX).map(async (address) => {
      if ((await health(address, tls)) !== HealthCheckResponse_ServingStatus.SERVING)
        throw new Error(`${address} does not serve.`);
    });
    return await Promise.any(asked).then(
      () => true,
      () => false,
    );
  }
}
