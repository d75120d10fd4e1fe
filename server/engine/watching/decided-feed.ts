// Tells those who ask for it which locks were decided about, by whichever replica: looks as long as somebody asks, once for
// all of them, and rests in between, so that reading for display leaves the database to others. Tells a lock again and
// again for some seconds, as each sweep goes back behind the one before it.

import type { DecidedLock, Store } from "../../storage/store.ts";
import { WATCH_REST_MS_MAX, WATCH_REST_SHARE } from "../engine-bounds.ts";
import { type Break, DecidedSweeps } from "./decided-sweeps.ts";

export interface DecidedListener {
  seen(lock: DecidedLock): void;
  /** What was not seen before may have changed, too. */
  broke(why: Break): void;
  /** After each sweep. `rulesChanged`: limit rules have, since the one before it. */
  swept(rulesChanged: boolean): Promise<void>;
}

export interface DecidedFeedOptions {
  readonly read: Store["decidedSince"];
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class DecidedFeed {
  readonly #options: DecidedFeedOptions;
  readonly #listeners = new Set<DecidedListener>();
  readonly #sweeps: DecidedSweeps;
  /** After the last sweep that got through. */
  #restMs = 0;
  /** performance.now() before which nothing is looked for. */
  #restUntilMs = 0;
  /** Limit rules have changed, and not every listener could work that off. */
  #rulesChanged = false;
  #looking: Promise<void> | undefined;

  constructor(options: DecidedFeedOptions) {
    this.#options = options;
    this.#sweeps = new DecidedSweeps({
      read: options.read,
      onSeen: (lock) => {
        for (const listener of this.#listeners) listener.seen(lock);
      },
      onBreak: (why) => {
        for (const listener of this.#listeners) listener.broke(why);
      },
    });
  }

  /** Tells all that is decided about from when it has resolved. Throws StoreErrors. */
  async begin(listener: DecidedListener): Promise<void> {
    this.#listeners.add(listener);
    await this.#sweeps.begin();
  }

  end(listener: DecidedListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) this.#sweeps.end();
  }

  /** Something may have changed elsewhere. Does not wait. */
  look(): void {
    if (this.#looking || !this.#sweeps.hasBegun || performance.now() < this.#restUntilMs) return;
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  /** Resolves when nothing is read any more, if nobody looks again. */
  async stop(): Promise<void> {
    await this.#looking;
  }

  async #look(): Promise<void> {
    const beganMs = performance.now();
    try {
      if (await this.#sweeps.sweep()) this.#rulesChanged = true;
      for (const listener of [...this.#listeners]) await listener.swept(this.#rulesChanged);
      this.#rulesChanged = false;
      this.#restMs = Math.min((performance.now() - beganMs) * WATCH_REST_SHARE, WATCH_REST_MS_MAX);
    } catch (error) {
      // How long a sweep took that failed says nothing of how long the next one takes.
      this.#options.onFailure("watches", error);
    }
    this.#restUntilMs = performance.now() + this.#restMs;
  }
}
