// The open calls of each connection outside its sessions, from arrival until their work is over, even if cancelled. The
// calls of a connection share as much of the engine as a session gets. Keeps nothing about connections without open
// calls.

import type { Identity } from "../access/access.ts";
import type { Usage } from "../access/usage.ts";
import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import { type Admission, admissionOf, type SharedAdmission } from "./admission.ts";
import type { Client } from "./call.ts";
import { tooMuchUnderWay } from "./messages/call-error.ts";
import type { OpenWaits } from "./open-waits.ts";

const BOUND = "calls_on_connection";

export interface Connection extends Client {
  readonly admission: Pick<Admission, "enter" | "retryAfterIfLate">;
  readonly key: string;
  calls: number;
}

export class ConnectionCalls {
  readonly #callsMax: number;
  readonly #admission: SharedAdmission;
  readonly #waits: Pick<OpenWaits, "enter">;
  readonly #usage: Usage;
  /** By the client's address and port, and by its principal: a proxy's connection carries the calls of many. */
  readonly #open = new Map<string, Connection>();

  constructor(callsMax: number, admission: SharedAdmission, waits: Pick<OpenWaits, "enter">, usage: Usage) {
    this.#callsMax = callsMax;
    this.#admission = admission;
    this.#waits = waits;
    this.#usage = usage;
  }

  get bound(): BoundUse {
    const calls = this.#open.values().map((connection) => connection.calls);
    return mostUsed(BOUND, calls, this.#callsMax);
  }

  /** As in Admission, for the connection; undefined for one whose calls bring credentials. */
  retryAfterIfLate(peer: string): number | undefined {
    return this.#open.get(peer)?.admission.retryAfterIfLate();
  }

  /** Connections with open calls. */
  get connections(): number {
    return this.#open.size;
  }

  /** Counts a call, which must leave. Throws OVERLOADED if the connection already has `callsMax` open calls. */
  enter(peer: string, identity: Identity): Connection {
    const { principal } = identity;
    const key = principal === "" ? peer : `${peer} ${principal}`;
    let connection = this.#open.get(key);
    if (!connection) {
      const admission = admissionOf(this.#admission, BOUND, principal);
      const renewals = this.#admission.renewals.of(principal || peer);
      const shared = { waits: this.#waits, usage: this.#usage };
      connection = { ...shared, key, identity, admission, renewals, calls: 0 };
      this.#open.set(key, connection);
    }
    if (connection.calls >= this.#callsMax) throw tooMuchUnderWay(BOUND);
    connection.calls += 1;
    return connection;
  }

  leave(connection: Connection): void {
    connection.calls -= 1;
    if (connection.calls === 0) this.#open.delete(connection.key);
  }
}
