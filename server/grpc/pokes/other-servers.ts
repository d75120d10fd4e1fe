// Finds out whether another server over the same database can serve clients when this one cannot. Asks the servers in
// the last register that could be read for a decision, because what they could do a moment ago proves nothing. If the
// database is away or slow for all of them, none proves it in time, and clients stay here.

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
  /** This server's id. */
  readonly own: bigint;
  readonly register: () => Promise<{ readonly nowUs: number; readonly replicas: readonly Registered[] }>;
  /** This server's own TLS material; the other servers are reached in the same way. */
  readonly tls: TlsMaterial | null;
  /** Default: asks over the network. */
  readonly decides?: typeof decidesThere;
}

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
    // A server that listens on any free port (0) cannot say where it is.
    this.#others = others.filter(({ address, secret }) => secret !== "" && !address.endsWith(":0"));
  }

  /** Whether one of them decides within the time. Asks the few that registered last. Never rejects. */
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
