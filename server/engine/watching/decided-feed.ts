// Reports to its listeners which locks were decided about, by any replica. Sweeps as long as there is a listener, once
// for all of them, and rests in between, so that reads for display leave the database to others. Reports a lock
// repeatedly for some seconds, because each sweep goes back behind the one before it.

import type { DecidedLock, Store } from "../../storage/store.ts";
import { WATCH_REST_MS_MAX, WATCH_REST_SHARE } from "../engine-bounds.ts";
import { type Break, DecidedSweeps } from "./decided-sweeps.ts";

export interface DecidedListener {
  seen(lock: DecidedLock): void;
  /** Changes may have been missed. */
  broke(why: Break): void;
  /** Called after each sweep. `rulesChanged`: limit rules have changed since the sweep before. */
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
  /** The rest after the last successful sweep. */
  #restMs = 0;
  /** performance.now() before which no sweep begins. */
  #restUntilMs = 0;
  /** Limit rules have changed, and not every listener has handled that. */
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

  /** Resolves when the feed reports every decision from then on. Throws StoreErrors. */
  async begin(listener: DecidedListener): Promise<void> {
    this.#listeners.add(listener);
    try {
      await this.#sweeps.begin();
    } finally {
      this.#endIfUnheard();
    }
  }

  end(listener: DecidedListener): void {
    this.#listeners.delete(listener);
    this.#endIfUnheard();
  }

  /** Also after each read, because the last listener may have left during it. */
  #endIfUnheard(): void {
    if (this.#listeners.size === 0) this.#sweeps.end();
  }

  /** Something may have changed on another replica. Does not wait. */
  look(): void {
    if (this.#looking || !this.#sweeps.hasBegun || performance.now() < this.#restUntilMs) return;
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  /** Resolves when no read is under way, unless `look` is called again. */
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
      // The duration of a failed sweep says nothing about the next one.
      this.#options.onFailure("watches", error);
    } finally {
      this.#endIfUnheard();
    }
    this.#restUntilMs = performance.now() + this.#restMs;
  }
}
