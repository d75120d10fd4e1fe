// A store that makes sure, with every deciding transaction, that the database still knows what it has acknowledged. It does
// not when a copy that lagged was promoted, or a backup restored: then the rows come from another server, or the
// tokens of a lock are lower than this replica has seen them. What was lost cannot be known; so before anything is
// decided, the fail-over is written down, and from then on nothing is granted until leases that no row knows of have
// ended. What it means for decisions is in core/fail-over.ts.

import { DURATION_US_MAX, TTL_US_DEFAULT } from "../../core/bounds.ts";
import type { Changes, DecideRows, Loaded, LoadPlan, Store } from "../../storage/store.ts";
import { isRowLocked, StoreError } from "../../storage/store.ts";
import { LOCKS_REMEMBERED_MAX } from "../engine-bounds.ts";
import { RecentMap } from "../recent-map.ts";

export interface CheckedStoreOptions {
  /** How long nothing is granted after a fail-over; null: as long as a lease that was lost may last. */
  readonly pauseUs: number | null;
  /** Told when a fail-over has been written down, by this replica or by another one just before. */
  readonly onFailOver: (pauseUs: number) => void;
}

type Deciding = Pick<Store, "transact" | "failOver">;

/** What else tells that the rows were set back. */
export interface SetBack {
  /** The rows are older than what was written at this time. Rejects with a StoreError where that could not be noted. */
  setBack(writtenUs: number): Promise<void>;
}

/** The store. Its `transact` fails as transient where the database has failed over, and notes that. */
export function checkedStore<Checked extends Deciding>(
  store: Checked,
  options: CheckedStoreOptions,
): Checked & SetBack {
  const continuity = new Continuity(store, options);
  const own: Record<string | symbol, unknown> = {
    transact: continuity.transact.bind(continuity),
    setBack: continuity.setBack.bind(continuity),
  };
  const checked: object = new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name];
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return checked as Checked & SetBack;
}

class Continuity {
  readonly #store: Deciding;
  readonly #options: CheckedStoreOptions;
  #highestEpoch = 0n;
  /** The last token of each lock in that epoch. */
  readonly #lastTokens = new RecentMap<bigint, bigint>(LOCKS_REMEMBERED_MAX);
  /** The latest end of a lease that this replica has given or renewed. */
  #latestEndUs = 0;
  /** When the latest of what the database does not have any more was written; 0: it has all of it. */
  #lostUs = 0;

  constructor(store: Deciding, options: CheckedStoreOptions) {
    this.#store = store;
    this.#options = options;
  }

  async transact(plan: LoadPlan, decide: DecideRows): Promise<void> {
    const written: [Loaded, Changes][] = [];
    try {
      await this.#store.transact(plan, (loaded) => {
        if (this.#isBroken(loaded)) throw new Broken(loaded);
        const changes = decide(loaded);
        written.push([loaded, changes]);
        return changes;
      });
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      try {
        await this.#note(error.loaded);
      } catch (failure) {
        // Somebody holds the facts, and not a lock to go on without: this attempt is repeated, and notes it then.
        if (!isRowLocked(failure)) throw failure;
      }
      throw new StoreError("transient", "failed_over", "The database has failed over.", { cause: error });
    }
    for (const [loaded, changes] of written) this.#remember(loaded.failOver.epoch, changes);
  }

  /** Resolves when a fail-over is noted that is later than what was lost, by whichever replica. */
  async setBack(writtenUs: number): Promise<void> {
    this.#lostUs = Math.max(this.#lostUs, writtenUs);
    await this.transact(NOTHING, () => NO_CHANGES).catch((error: unknown) => {
      // It is noted, unless somebody holds the facts.
      if (this.#lostUs > 0) throw error;
    });
    this.#lostUs = 0;
  }

  #isBroken({ failOver: { epoch, atUs }, isSuccessor, locks }: Loaded): boolean {
    if (isSuccessor || epoch < this.#highestEpoch || atUs < this.#lostUs) return true;
    if (epoch > this.#highestEpoch) return false;
    return [...locks.values()].some(({ id, lastToken }) => lastToken < (this.#lastTokens.get(id) ?? 0n));
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

  #remember(epoch: bigint, { locks, added, changed }: Changes): void {
    if (epoch > this.#highestEpoch) {
      this.#highestEpoch = epoch;
      this.#lastTokens.clear();
    }
    // A lower one was committed before another transaction saw the next.
    if (epoch === this.#highestEpoch)
      for (const { id, lastToken } of locks) this.#lastTokens.set(id, lastToken);
    for (const claims of [added, changed]) {
      for (const { state, deadlineUs } of claims) {
        if (state === "held" && deadlineUs !== null && deadlineUs > this.#latestEndUs)
          this.#latestEndUs = deadlineUs;
      }
    }
  }
}

const NOTHING: LoadPlan = { locks: [], claims: [], requestIds: [], holdersOf: [] };
const NO_CHANGES: Changes = { locks: [], added: [], changed: [], again: [] };

/** Thrown inside the transaction, so that it is rolled back. */
class Broken extends Error {
  readonly loaded: Loaded;

  constructor(loaded: Loaded) {
    super("The database does not know what it has acknowledged.");
    this.loaded = loaded;
  }
}
