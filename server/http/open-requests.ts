// Counts the requests that are open at a listener for HTTP: of all, of each caller and from each network, so that nobody takes the
// room of the others. Whoever takes a place has been identified before, if the server asks who calls.

import type { ServerResponse } from "node:http";
import type { Identity } from "../access/access.ts";
import { networkOf } from "../core/allowance.ts";
import type { BoundUse } from "../core/bound-use.ts";
import { type BoundOfRequests, tooManyRequests } from "../grpc/messages/call-error.ts";

export interface Shares {
  readonly max: number;
  readonly ofCaller: number;
  readonly ofNetwork: number;
}

interface Entry {
  /** Empty: the server asks nobody who calls. */
  readonly caller: string;
  readonly network: string;
  readonly response: ServerResponse;
}

export class OpenRequests {
  readonly #bound: BoundOfRequests;
  readonly #shares: Shares;
  readonly #mayEnd: (response: ServerResponse) => boolean;
  /** The oldest comes first. */
  readonly #entries = new Set<Entry>();

  /** `mayEnd`: whether a request may be ended for that of another caller. */
  constructor(bound: BoundOfRequests, shares: Shares, mayEnd: (response: ServerResponse) => boolean) {
    this.#bound = bound;
    this.#shares = shares;
    this.#mayEnd = mayEnd;
  }

  get bound(): BoundUse {
    return { bound: this.#bound, kind: "room", used: this.#entries.size, max: this.#shares.max };
  }

  /**
   * Counts a request until it is answered or its browser has gone. Throws a CallError if there is no room for it. If there
   * is no room at all, the caller with the most gives one of its places to a caller with fewer.
   */
  enter({ principal: caller }: Pick<Identity, "principal">, response: ServerResponse): void {
    const entry = { caller, network: networkOf(response.socket?.remoteAddress ?? ""), response };
    const { max, ofCaller, ofNetwork } = this.#shares;
    if (caller !== "" && this.#count((other) => other.caller === caller) >= ofCaller)
      throw tooManyRequests(this.#bound, "ofCaller");
    if (this.#count(({ network }) => network === entry.network) >= ofNetwork)
      throw tooManyRequests(this.#bound, "ofNetwork");
    if (this.#entries.size >= max && !this.#endedFor(entry)) throw tooManyRequests(this.#bound, "max");
    this.#entries.add(entry);
    response.once("close", () => this.#entries.delete(entry));
  }

  #count(fits: (entry: Entry) => boolean): number {
    let count = 0;
    for (const entry of this.#entries) if (fits(entry)) count += 1;
    return count;
  }

  /** Ends a request of whoever has the most, if that leaves them no fewer than the newcomer. */
  #endedFor(newcomer: Entry): boolean {
    const countOf = (of: Entry) => this.#count((entry) => ownerOf(entry) === ownerOf(of));
    let chosen: Entry | undefined;
    let most = countOf(newcomer) + 1;
    for (const entry of this.#entries) {
      const count = this.#mayEnd(entry.response) ? countOf(entry) : 0;
      if (count > most) [chosen, most] = [entry, count];
    }
    if (!chosen) return false;
    this.#entries.delete(chosen);
    chosen.response.destroy();
    return true;
  }
}

/** Callers without a name are distinguished by their networks. */
function ownerOf({ caller, network }: Entry): string {
  return caller === "" ? `from ${network}` : `by ${caller}`;
}
