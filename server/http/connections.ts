// Who keeps a connection to a listener when there are too many. A new connection always gets in, so that a
// probe always does, and another one goes for it. Only decides: the listener opens and closes. Knows no time: the order
// of what happened is enough.

import { networkOf } from "../core/allowance.ts";
import type { BoundUse } from "../core/bound-use.ts";

export interface ConnectionBounds {
  readonly max: number;
  readonly ofNetworkMax: number;
  /** Networks with no more than that are equals. */
  readonly few: number;
}

interface Entry {
  readonly network: string;
  /** The order in which connections came. */
  readonly came: number;
  /** The order in which their last requests came, among the same numbers. */
  asked: number;
  /** Requests that have arrived and are not answered. */
  requests: number;
  /** Its client has proved who it is. */
  isKnown: boolean;
}

export class Connections<Key> {
  readonly #name: BoundUse["bound"];
  readonly #bounds: ConnectionBounds;
  readonly #open = new Map<Key, Entry>();
  #turns = 0;

  constructor(name: BoundUse["bound"], bounds: ConnectionBounds) {
    this.#name = name;
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#open.size;
  }

  get bound(): BoundUse {
    return { bound: this.#name, kind: "room", used: this.#open.size, max: this.#bounds.max };
  }

  keys(): Iterable<Key> {
    return this.#open.keys();
  }

  /** Enters a new connection. Returns the one that must be closed for it, which has left; null: there is room. */
  enter(key: Key, address: string): Key | null {
    const network = networkOf(address);
    const { max, ofNetworkMax } = this.#bounds;
    let victim: Key | null = null;
    if (this.#count(network) >= ofNetworkMax) victim = this.#victim(network, ofNetworkMax);
    else if (this.#open.size >= max) victim = this.#victim(null, max);
    if (victim !== null) this.leave(victim);
    const came = this.#turns++;
    this.#open.set(key, { network, came, asked: came, requests: 0, isKnown: false });
    return victim;
  }

  /** Can be called twice. */
  leave(key: Key): void {
    this.#open.delete(key);
  }

  /** A request has arrived. Returns how many of the connection are not answered, with this one. */
  began(key: Key): number {
    const entry = this.#open.get(key);
    if (!entry) return 1;
    if (entry.requests === 0) entry.asked = this.#turns++;
    entry.requests += 1;
    return entry.requests;
  }

  ended(key: Key): void {
    const entry = this.#open.get(key);
    if (entry) entry.requests -= 1;
  }

  known(key: Key): void {
    const entry = this.#open.get(key);
    if (entry) entry.isKnown = true;
  }

  /**
   * Of all, or of a network. Connections with requests or known clients stay, unless they are more than half: then new
   * ones would take each other's place before their requests arrive. Of these, strangers go first. Of all, those of the
   * network with the most; and then the oldest, whatever it has asked since, so that no other one outlasts a new one.
   */
  #victim(network: string | null, max: number): Key | null {
    const candidates = [...this.#open].filter(([, entry]) => network === null || entry.network === network);
    const busy = candidates.filter(isBusy);
    const isOfBusy = busy.length > max / 2 || busy.length === candidates.length;
    const pool = isOfBusy ? busy : candidates.filter((each) => !isBusy(each));
    const strangers = pool.filter(([, { isKnown }]) => !isKnown);
    const turnOf = ({ came, asked }: Entry) => (isOfBusy ? asked : came);
    const counts = Map.groupBy(this.#open.values(), (entry) => entry.network);
    // Of the connections of its network; 0: few.
    const excessOf = (entry: Entry) => {
      const count = counts.get(entry.network)?.length ?? 0;
      return count > this.#bounds.few ? count : 0;
    };
    const [chosen] = (strangers.length > 0 ? strangers : pool).sort(
      ([, a], [, b]) => excessOf(b) - excessOf(a) || turnOf(a) - turnOf(b),
    );
    return chosen ? chosen[0] : null;
  }

  #count(network: string): number {
    return this.#open.values().reduce((count, entry) => count + Number(entry.network === network), 0);
  }
}

function isBusy([, { requests, isKnown }]: readonly [unknown, Entry]): boolean {
  return requests > 0 || isKnown;
}
