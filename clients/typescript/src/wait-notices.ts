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
  readonly name: string;
  readonly onWaiting: LockOptions["onWaiting"];
  readonly explainAfterMs: number;
  /** Returns the lease of this client on the lock, if it holds one. */
  readonly own: () => HeldLease | undefined;
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
    const { ledger, name } = options;
    if (!ledger.first.has(name)) ledger.first.set(name, this);
    const { place } = acquisition;
    try {
      const own = options.own();
      if (place && own && options.isOfAsking(own)) this.#notify({ place, summary: "", causes: [] });
    } catch (error) {
      // The caller gets no object that it could stop.
      this.stop();
      throw error;
    }
    this.#noticeIn(options.explainAfterMs);
  }

  stop(): void {
    const { ledger, name } = this.#options;
    this.#isOver = true;
    clearTimeout(this.#timer);
    if (this.#isFirst) ledger.first.delete(name);
  }

  #noticeIn(ms: number): void {
    if (ms === Number.POSITIVE_INFINITY || this.#isOver) return;
    this.#timer = setTimeout(() => void this.#notice(), ms);
  }

  /** Whether the log has this wait, and not another one for the same lock. */
  get #isFirst(): boolean {
    const { ledger, name } = this.#options;
    return ledger.first.get(name) === this;
  }

  async #notice(): Promise<void> {
    const { ledger, name, onWaiting } = this.#options;
    if (!ledger.first.has(name)) ledger.first.set(name, this);
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
    const { name, onWaiting, own, isOfAsking, clock, log } = this.#options;
    const lease = own();
    const waitedMs = clock.now() - this.#beganMs;
    const isOwn = lease !== undefined && isOfAsking(lease);
    const others = said || `${place.ahead} before it in the queue`;
    const summary = lease ? (isOwn ? heldByYouText : heldHereText)(lease, clock, others) : others;
    if (this.#isFirst)
      log(`Waits for the lock "${name}" since ${Math.round(waitedMs / 1_000)} s: ${summary}.`, isOwn);
    onWaiting?.({
      name,
      waitedMs,
      place: { ...place, waitedMs },
      summary,
      causes,
      heldByYou: lease !== undefined,
    });
  }
}

/** The causes know the place better than the last news of it. */
function placeNow({ pool: _, ...last }: Place, causes: readonly WaitCause[]): Place {
  const now = causes.find((cause) => cause.kind === "queued" || (cause.kind === "pool" && cause.waitsHere));
  if (now?.kind !== "queued" && now?.kind !== "pool") return { ...last, ahead: 0, permitsAhead: 0 };
  const { ahead, permitsAhead } = now;
  const pool = now.kind === "pool" ? now.pool.pattern : "";
  return { ...last, ahead, permitsAhead, ...(pool !== "" && { pool }) };
}

function heldHereText({ lockName, toldMs }: HeldLease, clock: Clock, others: string): string {
  return `other work of this client holds "${lockName}", since ${secondsSince(toldMs, clock)} s: ${others}`;
}

function secondsSince(ms: number, clock: Clock): number {
  return Math.round((clock.now() - ms) / 1_000);
}

export function heldByYouText({ lockName, toldMs }: HeldLease, clock: Clock): string {
  return `you hold "${lockName}" yourself, since ${secondsSince(toldMs, clock)} s; locks are not reentrant`;
}
