// Bounds on rates, and on what comes from each address. What one span of time allows may be taken at once, and comes
// back evenly over such a span. Pure: the caller passes the time. Opens and closes nothing.

import { RecentMap } from "./recent-map.ts";

export interface Rate {
  readonly most: number;
  readonly spanMs: number;
}

export class Allowance {
  #taken = 0;
  #atMs = 0;
  #rate: Rate = { most: 0, spanMs: 1 };

  take(wanted: number, rate: Rate, nowMs: number): number {
    this.#giveBack(nowMs);
    this.#rate = rate;
    const given = Math.max(0, Math.min(wanted, Math.floor(rate.most - this.#taken)));
    this.#taken += given;
    return given;
  }

  /** After a `take` that got nothing: time until one can be taken. */
  get waitMs(): number {
    const { most, spanMs } = this.#rate;
    return most === 0 ? spanMs : Math.ceil(((this.#taken + 1 - most) * spanMs) / most);
  }

  /** How much of it is taken and has not come back. */
  taken(nowMs: number): number {
    this.#giveBack(nowMs);
    return this.#taken;
  }

  isWhole(nowMs: number): boolean {
    return this.taken(nowMs) === 0;
  }

  #giveBack(nowMs: number): void {
    const { most, spanMs } = this.#rate;
    this.#taken = Math.max(0, this.#taken - ((nowMs - this.#atMs) * most) / spanMs);
    this.#atMs = nowMs;
  }
}

export interface AddressBounds {
  readonly openMax: number;
  readonly rate: Rate;
}

/** Addresses whose rates are remembered: the one that came longest ago is forgotten first. */
const REMEMBERED_MAX = 10_000;

/**
 * Counts how many are open from each address, and how many came lately. Keeps nothing about addresses from which
 * nothing came for a while.
 */
export class ByAddress {
  readonly #bounds: AddressBounds;
  readonly #open = new Map<string, number>();
  readonly #lately = new RecentMap<string, Allowance>(REMEMBERED_MAX);

  constructor(bounds: AddressBounds) {
    this.#bounds = bounds;
  }

  /** For each address with open ones, how many are open. */
  open(): Iterable<number> {
    return this.#open.values();
  }

  /**
   * Takes one more from the address. Returns the bound that it would exceed instead; then nothing is counted. Call
   * `leave` when one that was taken is closed.
   */
  enter(address: string | undefined, nowMs: number): "open" | "rate" | null {
    const from = networkOf(address);
    const open = this.#open.get(from) ?? 0;
    if (open >= this.#bounds.openMax) return "open";
    if (Number.isFinite(this.#bounds.rate.most) && !this.#takes(from, nowMs)) return "rate";
    this.#open.set(from, open + 1);
    return null;
  }

  leave(address: string | undefined): void {
    const from = networkOf(address);
    const open = (this.#open.get(from) ?? 0) - 1;
    if (open > 0) this.#open.set(from, open);
    else this.#open.delete(from);
  }

  #takes(from: string, nowMs: number): boolean {
    const lately = this.#lately.get(from) ?? new Allowance();
    this.#lately.set(from, lately);
    return lately.take(1, this.#bounds.rate, nowMs) === 1;
  }
}

const IPV4_IN_IPV6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * What counts as one address: an IPv4 address, also as IPv6 writes it, or the /64 network of an IPv6 address, because
 * whoever has one of its addresses has all of them. Empty: unknown, as after the end of a connection.
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return "";
  const inIpv6 = IPV4_IN_IPV6.exec(address);
  if (inIpv6) return inIpv6[1] as string;
  if (!address.includes(":")) return address;
  const [head = "", tail] = (address.split("%")[0] as string).toLowerCase().split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array<string>(zeros).fill("0"), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}
