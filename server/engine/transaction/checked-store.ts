// The deciding transactions of a store: each checks that the database still knows what it has acknowledged. It does
// not if a lagging copy was promoted or a backup restored: then the rows come from another server, or a lock's tokens
// are lower than this replica has seen. Nobody can know what was lost. So the store notes the fail-over before anything
// is decided, and from then on nothing is granted until leases that no row shows have ended. core/rows.ts has the
// consequences for decisions. Likewise, a server that a later version rules out decides nothing: see core/level.ts.

import { DURATION_US_MAX, TTL_US_DEFAULT } from "../../core/bounds.ts";
import { LEVEL, TOO_OLD, whyTooOld } from "../../core/level.ts";
import type { DecideRows, Loaded, LoadPlan, Store, Writes } from "../../storage/store.ts";
import { isRowLocked, StoreError } from "../../storage/store.ts";
import { Locks } from "./locks.ts";

export interface CheckedStoreOptions {
  /** How long nothing is granted after a fail-over; null: as long as a lost lease may last. */
  readonly pauseUs: number | null;
  /** Called when a fail-over has been noted, by this replica or by another one just before. */
  readonly onFailOver: (pauseUs: number) => void;
}

type Deciding = Pick<Store, "transact" | "failOver" | "levelMin">;

/** The deciding transactions of a store. Each notes a fail-over of the database and then fails as transient. */
export class CheckedStore {
  readonly #store: Deciding;
  readonly #options: CheckedStoreOptions;
  /** Numbers of the transactions under way, the oldest first. */
  readonly #underWay = new Set<number>();
  #begun = 0;
  /** Who waits for the end of all transactions up to a number. */
  #draining: { readonly upTo: number; readonly resolve: () => void }[] = [];
  #highestEpoch = 0n;
  #grantsFromUs = 0;
  readonly #locks: Locks;
  /** The latest end of a lease that this replica has granted or renewed. */
  #latestEndUs = 0;
  /** When the latest write that the database has lost was made; 0: nothing is lost. */
  #lostUs = 0;

  constructor(store: Deciding, options: CheckedStoreOptions, locks = new Locks()) {
    this.#store = store;
    this.#locks = locks;
    this.#options = options;
  }

  /** Nothing is granted before this time, because of a fail-over, as far as this replica's transactions have read. */
  get grantsFromUs(): number {
    return this.#grantsFromUs;
  }

  /** Resolves when all transactions now under way are over. */
  drained(): Promise<void> {
    if (this.#underWay.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#draining.push({ upTo: this.#begun, resolve }));
  }

  #over(transaction: number): void {
    this.#underWay.delete(transaction);
    if (this.#draining.length === 0) return;
    const [oldest = Number.POSITIVE_INFINITY] = this.#underWay;
    for (const { upTo, resolve } of this.#draining) if (upTo < oldest) resolve();
    this.#draining = this.#draining.filter(({ upTo }) => upTo >= oldest);
  }

  /** Throws a StoreError, `too_old`, if servers of this version must not decide any more: a later one has started. */
  async mustBeNewEnough(): Promise<void> {
    const why = whyTooOld(await this.#store.levelMin());
    if (why !== null) throw new StoreError("unavailable", TOO_OLD, why);
  }

  /** As the store's `transact`. Every deciding transaction must use this one. */
  async transact(plan: LoadPlan, decide: DecideRows): Promise<void> {
    const written: [Loaded, Writes][] = [];
    const transaction = ++this.#begun;
    this.#underWay.add(transaction);
    try {
      await this.#store.transact(plan, (loaded) => {
        if (loaded.levelMin > LEVEL) throw new TooOld();
        if (this.#isBroken(loaded)) throw new Broken(loaded);
        this.#grantsFromUs = loaded.failOver.grantsFromUs;
        const writes = decide(loaded);
        written.push([loaded, writes]);
        return writes;
      });
      for (const [loaded, writes] of written) this.#remember(loaded.failOver.epoch, writes);
    } catch (error) {
      if (error instanceof TooOld) await this.mustBeNewEnough();
      if (!(error instanceof Broken)) throw error;
      try {
        await this.#note(error.loaded);
      } catch (failure) {
        // Another transaction holds the facts row, and no lock that the lanes could leave out. The attempt is repeated
        // and notes the fail-over then.
        if (!isRowLocked(failure)) throw failure;
      }
      throw new StoreError("transient", "failed_over", "The database has failed over.", { cause: error });
    } finally {
      this.#over(transaction);
    }
  }

  /**
   * Accepts other evidence: the rows are older than what was written at this time. Resolves when a fail-over later than
   * the loss is noted, by any replica. Rejects with a StoreError if that could not be noted.
   */
  async setBack(writtenUs: number): Promise<void> {
    this.#lostUs = Math.max(this.#lostUs, writtenUs);
    await this.transact(NOTHING, () => NO_CHANGES).catch((error: unknown) => {
      // The error is expected once the fail-over is noted. If it is not, a transaction held the facts row.
      if (this.#lostUs > 0) throw error;
    });
    this.#lostUs = 0;
  }

  #isBroken({ failOver: { epoch, atUs }, isSuccessor, locks }: Loaded): boolean {
    if (isSuccessor || epoch < this.#highestEpoch || atUs < this.#lostUs) return true;
    if (epoch > this.#highestEpoch) return false;
    for (const { id, lastToken } of locks.values()) {
      const known = this.#locks.known(id);
      if (known?.epoch === epoch && lastToken < known.lastToken) return true;
    }
    return false;
  }

  async #note({ failOver, nowUs }: Loaded): Promise<void> {
    const { pauseUs, onFailOver } = this.#options;
    const knownUs = Math.min(Math.max(TTL_US_DEFAULT, this.#latestEndUs - nowUs), DURATION_US_MAX);
    const leftUs = await this.#store.failOver({
      seenEpoch: failOver.epoch,
      epochMin: this.#highestEpoch + 1n,
      pauseUsMin: pauseUs ?? knownUs,
      pauseUsMax: pauseUs ?? DURATION_US_MAX,
    });
    this.#lostUs = 0;
    onFailOver(leftUs);
  }

  #remember(epoch: bigint, { locks, added, changed }: Writes): void {
    if (epoch > this.#highestEpoch) this.#highestEpoch = epoch;
    // A lower epoch was committed before another transaction saw the next one.
    if (epoch === this.#highestEpoch) {
      for (const { id, lastToken, sharedBy } of locks) {
        const known = this.#locks.get(id);
        known.hasShares = Boolean(sharedBy);
        known.lastToken = lastToken;
        known.epoch = epoch;
      }
    }
    for (const claims of [added, changed]) {
      for (const { state, deadlineUs } of claims) {
        if (state === "held" && deadlineUs !== null && deadlineUs > this.#latestEndUs)
          this.#latestEndUs = deadlineUs;
      }
    }
  }
}

const NOTHING: LoadPlan = { locks: [], claims: [], requestIds: [], holdersOf: [] };
const NO_CHANGES: Writes = { locks: [], added: [], changed: [], again: [] };

/** As Broken. */
class TooOld extends Error {
  constructor() {
    super("A later version rules this server out.");
  }
}

/** Thrown inside the transaction, so that it is rolled back. */
class Broken extends Error {
  readonly loaded: Loaded;

  constructor(loaded: Loaded) {
    super("The database does not know what it has acknowledged.");
    this.loaded = loaded;
  }
}
