// Logs calls that were refused for who their caller is: each address now and then as a warning, with the number suppressed
// in between, and, if grants and releases are audited, each denied call for the audit. Both are bounded for one address
// and for all together, so that nobody fills the disk. Known callers have bounds of their own: strangers, of whom there may
// be any number, hide nothing that a known caller tries. Decides nothing, and knows no credentials.

import { AccessError } from "../access/access-error.ts";
import { Allowance, networkOf, type Rate } from "../core/allowance.ts";
import { RecentMap } from "../core/recent-map.ts";
import type { Span } from "../core/span.ts";
import { type Logger, traceIds } from "../log/log.ts";
import {
  AUDITED_DENIALS_ALL,
  AUDITED_DENIALS_EACH,
  DENIED_ADDRESSES_MAX,
  LOGGED_DENIALS_ALL,
  LOGGED_DENIALS_EACH,
} from "./grpc-bounds.ts";
import type { Reason } from "./messages/call-error.ts";

const REASONS: ReadonlySet<Reason> = new Set([
  "CREDENTIALS_MISSING",
  "CREDENTIALS_WRONG",
  "CREDENTIALS_EXPIRED",
  "RIGHT_MISSING",
]);

/** Whether the reason is about who the caller is. */
export function isDenial(reason: Reason): boolean {
  return REASONS.has(reason);
}

export interface Denied {
  readonly method: string;
  readonly reason: Reason;
  readonly cause: unknown;
  /** Address and port of the other end; unset: unknown. */
  readonly peer?: string | undefined;
  readonly span?: Span | undefined;
}

export class DeniedCalls {
  readonly #logger: Logger;
  readonly #warned = new Bounded(LOGGED_DENIALS_EACH, LOGGED_DENIALS_ALL);
  /** null: calls are not audited. */
  readonly #audited: Bounded | null;

  constructor(logger: Logger, isAudited: boolean) {
    this.#logger = logger;
    this.#audited = isAudited ? new Bounded(AUDITED_DENIALS_EACH, AUDITED_DENIALS_ALL) : null;
  }

  denied({ method, reason, cause, peer = "", span }: Denied): void {
    const { principal } = cause instanceof AccessError ? cause.metadata : {};
    const isKnown = principal !== undefined;
    // Ports change with each connection.
    const address = networkOf(peer.replace(/:\d+$/, ""));
    const line = (suppressed: number) => ({
      ...{ method, reason, peer, suppressed },
      ...(isKnown && { principal }),
      ...traceIds(span),
      ...whyOf(cause),
    });
    const warned = this.#warned.take(`${reason} ${address}`, isKnown);
    if (warned !== null) this.#logger.warn(line(warned), "calls are refused");
    const audited = this.#audited?.take(`${reason} ${principal ?? address}`, isKnown) ?? null;
    if (audited !== null) this.#logger.info(line(audited), "call denied");
  }
}

/** A refusal may know more than its message, which the caller gets: the name of the lock, or what went wrong. */
function whyOf(error: unknown): { readonly why: string; readonly on?: string; readonly cause?: string } {
  if (!(error instanceof Error)) return { why: String(error) };
  const { message: why, cause } = error;
  if (cause === undefined) return { why };
  return cause instanceof Error ? { why, cause: cause.message } : { why, on: String(cause) };
}

/** Lets some through of known callers, and as many of strangers. */
class Bounded {
  readonly #known: SomeOf;
  readonly #strangers: SomeOf;

  constructor(each: Rate, all: Rate) {
    this.#known = new SomeOf(each, all);
    this.#strangers = new SomeOf(each, all);
  }

  take(key: string, isKnown: boolean): number | null {
    return (isKnown ? this.#known : this.#strangers).take(key);
  }
}

interface Of {
  readonly allowance: Allowance;
  suppressed: number;
}

/** Lets some through, of each key and of all. */
class SomeOf {
  readonly #each: Rate;
  readonly #all: Rate;
  readonly #ofAll = new Allowance();
  /** A key that is forgotten loses the number that was suppressed. */
  readonly #ofKeys = new RecentMap<string, Of>(DENIED_ADDRESSES_MAX);

  constructor(each: Rate, all: Rate) {
    this.#each = each;
    this.#all = all;
  }

  /** How many of this key were suppressed before this one; null: this one is. */
  take(key: string): number | null {
    const nowMs = performance.now();
    const of = this.#ofKeys.get(key) ?? { allowance: new Allowance(), suppressed: 0 };
    this.#ofKeys.set(key, of);
    const isOne =
      of.allowance.take(1, this.#each, nowMs) === 1 && this.#ofAll.take(1, this.#all, nowMs) === 1;
    if (!isOne) {
      of.suppressed += 1;
      return null;
    }
    const { suppressed } = of;
    of.suppressed = 0;
    return suppressed;
  }
}
