// Says why a wait takes so long: in the log, and to the caller's onWaiting. Work that waits for the lock under which it
// runs itself is worth a warning at once, as nobody else can end that wait. Other work of the same client is not.

import type { Acquisition } from "./acquisition.ts";
import type { Clock } from "./clock.ts";
import { Slots } from "./connection/slots.ts";
import type { WaitCause, WaitExplanation } from "./history.ts";
import type { HeldLease } from "./leases/held-lease.ts";
import type { LockOptions, Place } from "./options.ts";

/** The interval of further notices of one wait. */
const AGAIN_MS = 60_000;

/**
 * What the waits of a client share, as there may be thousands: one asks after the other, and of those for one lock only
 * the first is in the log.
 */
export class WaitLedger {
  readonly slots = new Slots(1);
  readonly first = new Map<string, WaitNotices>();
}

export interface WaitNoticesOptions {
  readonly ledger: WaitLedger;
  readonly clock: Clock;
  /** Of all its locks, the first one first. */
  readonly names: readonly [string, ...string[]];
  readonly onWaiting: LockOptions["onWaiting"];
  readonly explainAfterMs: number;
  /** Returns the leases of this client on any of the locks, oldest first. */
  readonly own: () => readonly HeldLease[];
  /** Whether the work that asks runs under this lease. */
  readonly isOfAsking: (lease: HeldLease) => boolean;
  /** Asks a server why a place waits. */
  readonly explain: (ticketId: string) => Promise<WaitExplanation>;
  readonly log: (message: string, isOwn: boolean) => void;
}

/** What is known about a wait. */
type Known = Pick<WaitExplanation, "summary" | "causes"> & { readonly place: Place };

export class WaitNotices {
  readonly #options: WaitNoticesOptions;
  readonly #acquisition: Acquisition;
  readonly #beganMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** Begins with the first place of `acquisition`. May throw what the caller's onWaiting throws. */
  constructor(acquisition: Acquisition, options: WaitNoticesOptions) {
    this.#acquisition = acquisition;
    this.#options = options;
    this.#beganMs = options.clock.now();
    const { ledger, names } = options;
    if (!ledger.first.has(names[0])) ledger.first.set(names[0], this);
    const { place } = acquisition;
    try {
      if (place && options.own().some(options.isOfAsking)) this.#notify({ place, summary: "", causes: [] });
    } catch (error) {
      // The caller gets no object that it could stop.
      this.stop();
      throw error;
    }
    this.#noticeIn(options.explainAfterMs);
  }

  stop(): void {
    const { ledger, names } = this.#options;
    this.#isOver = true;
    clearTimeout(this.#timer);
    if (this.#isFirst) ledger.first.delete(names[0]);
  }

  #noticeIn(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY || this.#isOver) return;
    this.#timer = setTimeout(() => void this.#notice(), ms);
  }

  /** Whether the log has this wait, and not another one for the same lock. */
  get #isFirst(): boolean {
    const { ledger, names } = this.#options;
    return ledger.first.get(names[0]) === this;
  }

  async #notice(): Promise<void> {
    const { ledger, names, onWaiting } = this.#options;
    if (!ledger.first.has(names[0])) ledger.first.set(names[0], this);
    if (!onWaiting && !this.#isFirst) {
      this.#noticeIn(AGAIN_MS);
      return;
    }
    const known = await ledger.slots.run(() => this.#known());
    if (this.#isOver) return;
    try {
      this.#notify(known);
    } catch (error) {
      this.#acquisition.abandon(error);
    }
    this.#noticeIn(AGAIN_MS);
  }

  /** Asks why it waits. Without an answer, for example because of a missing right, only the last place is known. */
  async #known(): Promise<Known> {
    const place = this.#acquisition.place as Place;
    if (this.#isOver) return { summary: "", causes: [], place };
    try {
      const { summary, causes } = await this.#options.explain(place.ticketId);
      return { summary, causes, place: placeNow(place, causes) };
    } catch {
      return { summary: "", causes: [], place };
    }
  }

  #notify({ place, summary: said, causes }: Known): void {
    const { names, onWaiting, own, isOfAsking, clock, log } = this.#options;
    const leases = own();
    const lease = leases.find(isOfAsking) ?? leases[0];
    const waitedMs = clock.now() - this.#beganMs;
    const isOwn = lease !== undefined && isOfAsking(lease);
    const { ahead, waitsFor } = place;
    const where = waitsFor === undefined || ahead === 0 ? "" : ` of "${waitsFor}"`;
    const others = said || `${ahead} before it in the queue${where}`;
    const summary = lease ? (isOwn ? heldByYouText : heldHereText)(lease, names, clock, others) : others;
    const quoted = names.map((name) => `"${name}"`).join(", ");
    const what = names.length === 1 ? "lock" : "locks";
    if (this.#isFirst)
      log(`Waits for the ${what} ${quoted} since ${Math.round(waitedMs / 1_000)} s: ${summary}.`, isOwn);
    onWaiting?.({
      name: names[0],
      waitedMs,
      place: { ...place, waitedMs },
      summary,
      causes,
      heldByYou: lease !== undefined,
    });
  }
}

/** The causes know the place better than the last news of it. */
function placeNow({ pool: _, waitsFor: lastFor, ...last }: Place, causes: readonly WaitCause[]): Place {
  const places = causes.filter(
    (cause) => cause.kind === "queued" || (cause.kind === "pool" && cause.waitsHere),
  ) as readonly Extract<WaitCause, { kind: "queued" | "pool" }>[];
  // Of several locks, that one counts at which most are before it.
  const [now] = places.toSorted((one, other) => other.ahead - one.ahead);
  const anyFor = causes.find(({ lockName }) => lockName !== undefined)?.lockName ?? lastFor;
  const waitsFor = now?.kind === "pool" ? undefined : (now?.lockName ?? anyFor);
  const { ahead, permitsAhead } = now ?? { ahead: 0, permitsAhead: 0 };
  const pool = now?.kind === "pool" ? now.pool.pattern : "";
  return {
    ...last,
    ahead,
    permitsAhead,
    ...(pool !== "" && { pool }),
    ...(waitsFor !== undefined && { waitsFor }),
  };
}

/** Which of these locks the lease has. */
function heldOf({ tokens }: HeldLease, names: readonly string[]): string {
  return names
    .filter((name) => tokens.has(name))
    .map((name) => `"${name}"`)
    .join(", ");
}

function heldHereText(lease: HeldLease, names: readonly string[], clock: Clock, others: string): string {
  const since = secondsSince(lease.toldMs, clock);
  return `other work of this client holds ${heldOf(lease, names)}, since ${since} s: ${others}`;
}

function secondsSince(ms: number, clock: Clock): number {
  return Math.round((clock.now() - ms) / 1_000);
}

export function heldByYouText(lease: HeldLease, names: readonly string[], clock: Clock): string {
  const since = secondsSince(lease.toldMs, clock);
  return `you hold ${heldOf(lease, names)} yourself, since ${since} s; locks are not reentrant`;
}
