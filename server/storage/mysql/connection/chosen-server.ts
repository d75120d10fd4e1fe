// The server of a database to which all connections lead. With one address, that is the one. With several, this looks at
// all of them when the chosen server cannot be used, and at every few turns of its watch; `best-server.ts` chooses. A
// server that is left loses its open transactions, so that none is committed there beside those of the next server.
//
// Nothing but the choice is decided here: whether rows were lost on the way is noticed by the transactions themselves.

import { type MysqlAddress, singleAddresses } from "../../database-url.ts";
import {
  BACK_AFTER_MS,
  CONNECT_MS_MAX,
  LOOK_AGAIN_MS_MAX,
  LOOK_AROUND_TURNS,
  LOOK_INTERVAL_MS,
  LOOK_MS_MAX,
  LOOK_PAUSE_MS,
  STUCK_MS,
} from "../../storage-bounds.ts";
import type { DatabaseServer, StoreObserver } from "../../store.ts";
import { StoreError } from "../../store.ts";
import { bestServer, isLeftBehind, type SeenServer, separateWritable, type UsedRows } from "./best-server.ts";
import { type Opened, openConnection, UNOBSERVED } from "./connect.ts";
import { Lookout, type Sight } from "./lookout.ts";
import { isUnusable } from "./usable-server.ts";

/** StoreError.reason if the servers of the database cannot be used for different reasons. */
export const NO_SERVER = "no_usable_server";

/** No connection is opened after this time: the pool would not wait for it. */
const OPEN_MS_MAX = 2 * CONNECT_MS_MAX;
const MICROSECONDS = 1e6;

/** Ends the use of the connections that lead to another server than the chosen one. */
export interface Leaving {
  /** At once: transactions that are under way fail. */
  now(): void;
  /** The same after they had a little time to finish. */
  soon(): Promise<void>;
}

/** A connection to the server that was chosen at that turn. */
export interface OpenedAt extends Opened {
  readonly turn: number;
}

export class ChosenServer {
  /** Rises when the choice changes: connections of an earlier one must not be lent. */
  turn = 0;
  readonly #address: MysqlAddress;
  readonly #observer: StoreObserver;
  readonly #leaving: Leaving;
  readonly #lookouts: readonly Lookout[];
  #chosen: number | null = null;
  #used: UsedRows | null = null;
  /** Whether the chosen server must not be used, and none of its connections is. */
  #isLeft = false;
  /** performance.now() of a commit at the chosen server that was not answered. */
  #stuckMs = Number.NEGATIVE_INFINITY;
  /** performance.now() when the chosen server was first found unusable; null: it is usable. */
  #doubtedMs: number | null = null;
  #choosing: Promise<number> | undefined;
  /** While connections are moved. Never rejects. */
  #moving: Promise<void> | undefined;
  #nextLookMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #watching: Promise<void> | undefined;
  #turns = 0;
  #closed = false;
  /** What the observer has heard of last: reasons by address, and the separate servers. */
  readonly #faults = new Map<string, string>();
  #separate = "";

  constructor(address: MysqlAddress, observer: StoreObserver, leaving: Leaving) {
    this.#address = address;
    this.#observer = observer;
    this.#leaving = leaving;
    this.#lookouts =
      address.others === undefined ? [] : singleAddresses(address).map((one) => new Lookout(one, observer));
  }

  /** As of the last looks. Empty: the database has one address. */
  get servers(): DatabaseServer[] {
    const chosenRows = this.#chosen === null ? null : this.#lookouts[this.#chosen]?.sight?.rows;
    return this.#lookouts.map(({ place, sight }, index) => {
      const { registeredUs } = sight?.rows ?? { registeredUs: null };
      const behindUs = (chosenRows?.registeredUs ?? 0) - (registeredUs ?? 0);
      return {
        address: place,
        isChosen: index === this.#chosen,
        isUsable: sight?.refusal === null,
        why: sight?.refusal?.message ?? this.#whyLeft(index),
        product: sight?.product ?? null,
        behindS: registeredUs === null ? null : Math.max(0, Math.round(behindUs / MICROSECONDS)),
      };
    });
  }

  /**
   * Opens a connection to the chosen server, which is another one from now on if that cannot be used. The caller must not
   * use it if `turn` has changed by then. Throws a StoreError: the reason at the only address, or the reasons at all.
   */
  async open(): Promise<OpenedAt> {
    if (this.#lookouts.length === 0)
      return { ...(await openConnection(this.#address, this.#observer)), turn: this.turn };
    const untilMs = performance.now() + OPEN_MS_MAX;
    for (;;) {
      await this.#moving;
      const index = this.#usableChosen ?? (await this.#choose());
      const { turn } = this;
      try {
        const opened = await openConnection((this.#lookouts[index] as Lookout).address, this.#observer);
        if (this.turn === turn) return { ...opened, turn };
        opened.connection.destroy(new Error("Another server has been chosen."));
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        this.#doubt();
        if (this.turn === turn && (await this.#choose()) === index) throw error;
        if (performance.now() > untilMs) throw error;
      }
    }
  }

  /** The present choice as a single address, chosen if there is none yet. Throws a StoreError as `open` does. */
  async address(): Promise<MysqlAddress> {
    if (this.#lookouts.length === 0) return this.#address;
    return (this.#lookouts[this.#chosen ?? (await this.#choose())] as Lookout).address;
  }

  /** To be called after a commit that was not answered. A server that can only be read looks usable. */
  stuck(): void {
    if (this.#lookouts.length === 0) return;
    this.#stuckMs = performance.now();
    this.#doubt();
    this.#look(true);
  }

  /** Can be called twice. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#watching;
    await Promise.all(this.#lookouts.map((lookout) => lookout.close()));
  }

  /** The chosen server, unless the last look has found it unusable. */
  get #usableChosen(): number | null {
    if (this.#chosen === null) return null;
    return this.#lookouts[this.#chosen]?.sight?.refusal === null ? this.#chosen : null;
  }

  #doubt(): void {
    this.#doubtedMs ??= performance.now();
  }

  /** Looks at all servers and moves to the best one. Throws a StoreError with the reasons at all if there is none. */
  #choose(): Promise<number> {
    this.#choosing ??= this.#chooseOnce().finally(() => {
      this.#choosing = undefined;
    });
    return this.#choosing;
  }

  async #chooseOnce(): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, this.#nextLookMs - performance.now())));
    const chosen = this.#chosen === null ? null : this.#lookouts[this.#chosen];
    const isSilent = chosen?.sight?.refusal?.reason === "timeout";
    await Promise.all(
      this.#lookouts.map((lookout) =>
        lookout.look(lookout === chosen && isSilent ? LOOK_AGAIN_MS_MAX : LOOK_MS_MAX),
      ),
    );
    const seen = this.#lookouts.map((_, index) => this.#seen(index));
    const best = bestServer(seen, this.#chosen, this.#used);
    this.#report(seen, best);
    if (best === null) {
      this.#leaveUnusable();
      this.#nextLookMs = performance.now() + LOOK_PAUSE_MS;
      this.#doubt();
      throw this.#noneUsable();
    }
    this.#isLeft = false;
    if (best === this.#chosen) {
      if (!seen[best]?.isStuck) this.#doubtedMs = null;
    } else await this.#moveTo(best, seen);
    this.#use(best);
    this.#watch();
    return best;
  }

  #seen(index: number): SeenServer {
    const { sight, fitSinceMs } = this.#lookouts[index] as Lookout;
    const { refusal, identity, isSynced, rows } = sight as Sight;
    const nowMs = performance.now();
    return {
      isUsable: refusal === null,
      identity,
      isSynced,
      isSettled: fitSinceMs !== null && nowMs - fitSinceMs >= BACK_AFTER_MS,
      isStuck: index === this.#chosen && nowMs - this.#stuckMs < STUCK_MS,
      epoch: rows?.epoch ?? null,
      isOwn: rows?.isOwn ?? false,
    };
  }

  /**
   * A user with many privileges can write to a server that has been demoted, and everybody to a node that has left its
   * cluster. So its connections must not be used until it is usable again, even if there is no other server yet.
   */
  #leaveUnusable(): void {
    const refusal = this.#chosen === null ? null : this.#lookouts[this.#chosen]?.sight?.refusal;
    if (!isUnusable(refusal) || this.#isLeft) return;
    this.#isLeft = true;
    this.turn += 1;
    this.#leaving.now();
  }

  async #moveTo(index: number, seen: readonly SeenServer[]): Promise<void> {
    const from = this.#chosen === null ? null : (this.#lookouts[this.#chosen] as Lookout);
    const before = this.#chosen === null ? null : (seen[this.#chosen] as SeenServer);
    const why = this.#whyMove(before, index);
    const isComingBack =
      before?.isUsable === true && before.identity === seen[index]?.identity && !before.isStuck;
    const to = this.#lookouts[index] as Lookout;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#moving = promise;
    try {
      // From here on, no connection that was being opened to the server before is lent.
      this.turn += 1;
      this.#chosen = index;
      // It starts anew: a node that was left must prove itself again.
      if (from !== null && !isComingBack) from.fitSinceMs = null;
      if (isComingBack) await this.#leaving.soon();
      else this.#leaving.now();
      await to.catchUp();
    } finally {
      this.#moving = undefined;
      resolve();
    }
    const afterMs = Math.round(performance.now() - (this.#doubtedMs ?? performance.now()));
    this.#doubtedMs = null;
    this.#stuckMs = Number.NEGATIVE_INFINITY;
    this.#observer.servers?.({ kind: "moved", from: from?.place ?? null, to: to.place, why, afterMs });
  }

  #whyMove(before: SeenServer | null, index: number): string {
    if (before === null) return "It is the first of the list that can be used.";
    const { sight } = this.#lookouts[this.#chosen as number] as Lookout;
    if (sight?.refusal) return sight.refusal.message;
    if (before.isStuck) return "The server before it did not answer commits.";
    if (before.identity !== this.#seen(index).identity)
      return "The rows of the server before it are from before a fail-over: it was left behind.";
    return `It stands before the other node in ROWLOCK_DATABASE_URL, and has been usable for ${BACK_AFTER_MS / 1_000} s.`;
  }

  /** Remembers which rows are used, so that older ones are never taken for them. */
  #use(index: number): void {
    const { sight } = this.#lookouts[index] as Lookout;
    const { rows, identity } = sight as Sight;
    if (rows !== null) this.#used = { epoch: rows.epoch, identity };
  }

  #whyLeft(index: number): string | null {
    if (this.#chosen === null || index === this.#chosen || !this.#lookouts[index]?.sight) return null;
    const seen = this.#seen(index);
    if (isLeftBehind(seen, this.#used))
      return "It can be written, and its rows are from before a fail-over: it must be made read-only, and a replica.";
    const isSeparate = separateWritable(
      this.#lookouts.map((_, each) => this.#seen(each)),
      this.#chosen,
    );
    return isSeparate.includes(index)
      ? "It can be written, too, and is no node of the same cluster: make all servers but one read-only."
      : null;
  }

  #noneUsable(): StoreError {
    const refusals = this.#lookouts.map((lookout, index) => ({
      place: lookout.place,
      reason: lookout.sight?.refusal?.reason ?? NO_SERVER,
      message: lookout.sight?.refusal?.message ?? this.#whyLeft(index) ?? "",
    }));
    const [reason = NO_SERVER, ...others] = new Set(refusals.map((refusal) => refusal.reason));
    const each = refusals.map(({ place, message }) => `${place}: ${message}`).join(" ");
    return new StoreError(
      "unavailable",
      others.length === 0 ? reason : NO_SERVER,
      `None of the ${refusals.length} database servers can be used. ${each}`,
    );
  }

  #report(seen: readonly SeenServer[], best: number | null): void {
    for (const [index, { place, sight }] of this.#lookouts.entries()) {
      // Whoever needs the chosen one reports that it is away.
      const refusal = index === this.#chosen ? null : (sight?.refusal ?? null);
      // Read-only replicas and secondary nodes are as they should be.
      const reason = refusal === null || isUnusable(refusal) ? "" : refusal.reason;
      if ((this.#faults.get(place) ?? "") === reason) continue;
      this.#faults.set(place, reason);
      if (refusal !== null && reason !== "")
        this.#observer.servers?.({ kind: "fault", address: place, reason, message: refusal.message });
    }
    if (best === null) return;
    const others = separateWritable(seen, best).map((index) => (this.#lookouts[index] as Lookout).place);
    const separate = others.join();
    if (separate === this.#separate) return;
    this.#separate = separate;
    const chosen = (this.#lookouts[best] as Lookout).place;
    this.#observer.servers?.({ kind: "separate", chosen, others });
  }

  #watch(): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#turns += 1;
      this.#look(this.#turns % LOOK_AROUND_TURNS === 0);
    }, LOOK_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Looks at the chosen server, and at the others if `around` or if it cannot be used. Never rejects. */
  #look(around: boolean): void {
    if (this.#closed) return;
    this.#watching ??= this.#lookAround(around).finally(() => {
      this.#watching = undefined;
      this.#watch();
    });
  }

  async #lookAround(around: boolean): Promise<void> {
    const chosen = this.#chosen === null ? undefined : this.#lookouts[this.#chosen];
    const sight = await chosen?.look(LOOK_MS_MAX);
    if (sight?.refusal === null && this.#doubtedMs === null && !around)
      return this.#use(this.#chosen as number);
    if (sight?.refusal !== null) {
      this.#doubt();
      this.#leaveUnusable();
    }
    try {
      await this.#choose();
    } catch (error) {
      // Whoever wants a connection hears of it.
      if (!(error instanceof StoreError)) throw error;
    }
  }
}

/** The server of the database to use now, as its only address. Throws a StoreError with the reasons if there is none. */
export async function chosenAddress(address: MysqlAddress): Promise<MysqlAddress> {
  const servers = new ChosenServer(address, UNOBSERVED, { now() {}, async soon() {} });
  try {
    return await servers.address();
  } finally {
    await servers.close();
  }
}
