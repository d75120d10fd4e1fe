// Whether another server over the same database can serve clients when this one cannot: asks those that were in the register
// when it could last be read for a decision. What they were able to do a moment ago proves nothing. Where the database is away
// for all of them, or slow, none proves it in time, and clients stay.

import type { TlsMaterial } from "../../config/tls-material.ts";
import { OTHERS_ASKED_MAX } from "../grpc-bounds.ts";
import { decidesThere } from "./poke-channel.ts";

interface Registered {
  readonly id: bigint;
  readonly address: string;
  readonly secret: string;
  readonly deadlineUs: number;
}

export interface OtherServersOptions {
  /** This one. */
  readonly own: bigint;
  readonly register: () => Promise<{ readonly nowUs: number; readonly replicas: readonly Registered[] }>;
  /** As this server itself is reached: the others are, too. */
  readonly tls: TlsMaterial | null;
  /** Over the network if not given. */
  readonly decides?: typeof decidesThere;
}

export class OtherServers {
  readonly #options: OtherServersOptions;
  #others: readonly Registered[] = [];

  constructor(options: OtherServersOptions) {
    this.#options = options;
  }

  /** Reads the register. Where that rejects, what was known counts on. */
  async learn(): Promise<void> {
    const { own, register } = this.#options;
    const { nowUs, replicas } = await register();
    const others = replicas.filter(({ id, deadlineUs }) => id !== own && deadlineUs > nowUs);
    // One that took any free port cannot say where it is.
    this.#others = others.filter(({ address, secret }) => secret !== "" && !address.endsWith(":0"));
  }

  /** Whether one of them decides within the time. Asks a few, those that were registered last. Never throws. */
  async decide(withinMs: number): Promise<boolean> {
    const { tls, decides = decidesThere } = this.#options;
    const asked = this.#others.slice(-OTHERS_ASKED_MAX).map(async (other) => {
      if (!(await decides(other, tls, withinMs))) throw new Error(`${other.address} does not decide.`);
    });
    return await Promise.any(asked).then(
      () => true,
      () => false,
    );
  }
}
