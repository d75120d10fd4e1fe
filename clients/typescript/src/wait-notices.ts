// Says why a wait takes so long: in the log, and to the caller's onWaiting. A lock that this client itself holds is worth
// a word at once, as only the client can end that wait.

import type { Acquisition } from "./acquisition.ts";
import type { Clock } from "./clock.ts";
import { Slots } from "./connection/slots.ts";
import type { WaitExplanation } from "./history.ts";
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
      if (place && options.own()) this.#tell({ place, summary: "", causes: [] });
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
      this.#tell(known);
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
      const queued = causes.find(({ kind }) => kind === "queued");
      const { ahead, permitsAhead } = queued?.kind === "queued" ? queued : { ahead: 0, permitsAhead: 0 };
      return { summary, causes, place: { ...place, ahead, permitsAhead } };
    } catch {
      return { summary: "", causes: [], place };
    }
  }

  #tell({ place, summary: said, causes }: Known): void {
    const { name, onWaiting, own, clock, log } = this.#options;
    const lease = own();
    const waitedMs = clock.now() - this.#beganMs;
    const summary = lease ? heldByYouText(lease, clock) : said || `${place.ahead} before it in the queue`;
    if (this.#isFirst)
      log(
        `Waits for the lock "${name}" since ${Math.round(waitedMs / 1_000)} s: ${summary}.`,
        lease !== undefined,
      );
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

export function heldByYouText({ lockName, toldMs }: HeldLease, clock: Clock): string {
  const seconds = Math.round((clock.now() - toldMs) / 1_000);
  return `you hold "${lockName}" yourself, since ${seconds} s; locks are not reentrant`;
}
