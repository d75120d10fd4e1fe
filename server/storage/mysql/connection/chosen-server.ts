// The server of a database to which all connections lead. With several addresses, this looks at all of them when the chosen
// server cannot be used, and at every few turns of its watch; `best-server.ts` chooses. A server that is left loses its open
// transactions, so that none is committed there beside those of the next one. Transactions notice whether rows were lost.

import { type MysqlAddress, singleAddresses } from "../../database-url.ts";
import * as bounds from "../../storage-bounds.ts";
import { type DatabaseServer, StoreError, type StoreObserver } from "../../store.ts";
import { bestServer, isLeftBehind, type SeenServer, separateWritable, type UsedRows } from "./best-server.ts";
import { type Opened, openConnection, UNOBSERVED } from "./connect.ts";
import { Lookout, type Sight } from "./lookout.ts";
import { isUnusable } from "./usable-server.ts";

/** StoreError.reason if the servers of the database cannot be used for different reasons. */
export const NO_SERVER = "no_usable_server";

/** No connection is opened after this time: the pool would not wait for it. */
const OPEN_MS_MAX = 2 * bounds.CONNECT_MS_MAX;
const MICROSECONDS = 1e6;

/** Ends the use of the connections to another server than the chosen one, after this time. With 0, transactions fail. */
export type Leave = (withinMs: number) => Promise<void>;

export interface OpenedAt extends Opened {
  readonly turn: number;
}

export class ChosenServer {
  /** Rises when the choice changes: connections of an earlier one must not be lent. */
  turn = 0;
  readonly #address: MysqlAddress;
  readonly #observer: StoreObserver;
  readonly #leave: Leave;
  /** In the order of preference. Empty: the database has one address. */
  readonly #lookouts: readonly Lookout[];
  #chosen: Lookout | null = null;
  #used: UsedRows | null = null;
  /** Whether the chosen server must not be used, and none of its connections is. */
  #isLeft = false;
  /** performance.now() of a commit at the chosen server that was not answered. */
  #stuckMs = Number.NEGATIVE_INFINITY;
  /** performance.now() when the chosen server was first found unusable; null: it is usable. */
  #doubtedMs: number | null = null;
  #choosing: Promise<Lookout> | undefined;
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

  constructor(address: MysqlAddress, observer: StoreObserver, leave: Leave) {
    this.#address = address;
    this.#observer = observer;
    this.#leave = leave;
    this.#lookouts =
      address.others === undefined ? [] : singleAddresses(address).map((one) => new Lookout(one, observer));
  }

  /** As of the last looks. Empty: the database has one address. */
  get servers(): DatabaseServer[] {
    const chosenUs = this.#chosen?.sight?.rows?.registeredUs ?? 0;
    return this.#lookouts.map((lookout) => {
      const { place, sight } = lookout;
      const registeredUs = sight?.rows?.registeredUs ?? null;
      return {
        address: place,
        isChosen: lookout === this.#chosen,
        isUsable: sight?.refusal === null,
        why: sight?.refusal?.message ?? this.#whyLeft(lookout),
        product: sight?.product ?? null,
        behindS:
          registeredUs === null ? null : Math.max(0, Math.round((chosenUs - registeredUs) / MICROSECONDS)),
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
      const chosen = this.#usableChosen ?? (await this.#choose());
      const { turn } = this;
      try {
        const opened = await openConnection(chosen.address, this.#observer);
        if (this.turn === turn) return { ...opened, turn };
        opened.connection.destroy(new Error("Another server has been chosen."));
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        this.#doubt();
        if (this.turn === turn && (await this.#choose()) === chosen) throw error;
        if (performance.now() > untilMs) throw error;
      }
    }
  }

  /** The present choice as a single address, chosen if there is none yet. Throws a StoreError as `open` does. */
  async address(): Promise<MysqlAddress> {
    if (this.#lookouts.length === 0) return this.#address;
    return (this.#chosen ?? (await this.#choose())).address;
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
  get #usableChosen(): Lookout | null {
    return this.#chosen?.sight?.refusal === null ? this.#chosen : null;
  }

  #doubt(): void {
    this.#doubtedMs ??= performance.now();
  }

  /** Looks at all servers and moves to the best one. Throws a StoreError with the reasons at all if there is none. */
  #choose(): Promise<Lookout> {
    this.#choosing ??= this.#chooseOnce().finally(() => {
      this.#choosing = undefined;
    });
    return this.#choosing;
  }

  async #chooseOnce(): Promise<Lookout> {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, this.#nextLookMs - performance.now())));
    const before = this.#chosen;
    const patienceMs =
      before?.sight?.refusal?.reason === "timeout" ? bounds.LOOK_AGAIN_MS_MAX : bounds.LOOK_MS_MAX;
    await Promise.all(
      this.#lookouts.map((lookout) => lookout.look(lookout === before ? patienceMs : bounds.LOOK_MS_MAX)),
    );
    const seen = this.#seenAll();
    const index = bestServer(seen, this.#chosen && this.#lookouts.indexOf(this.#chosen), this.#used);
    this.#report(seen, index);
    const best = index === null ? undefined : this.#lookouts[index];
    if (!best) {
      this.#leaveUnusable();
      this.#nextLookMs = performance.now() + bounds.LOOK_PAUSE_MS;
      this.#doubt();
      throw this.#noneUsable();
    }
    this.#isLeft = false;
    if (best !== this.#chosen) await this.#moveTo(best);
    else if (!this.#seen(best).isStuck) this.#doubtedMs = null;
    this.#use(best);
    this.#watch();
    return best;
  }

  #seenAll(): SeenServer[] {
    return this.#lookouts.map((lookout) => this.#seen(lookout));
  }

  #seen(lookout: Lookout): SeenServer {
    const { refusal, identity, isSynced, rows } = lookout.sight as Sight;
    const { fitSinceMs } = lookout;
    const nowMs = performance.now();
    return {
      isUsable: refusal === null,
      identity,
      isSynced,
      isSettled: fitSinceMs !== null && nowMs - fitSinceMs >= bounds.BACK_AFTER_MS,
      isStuck: lookout === this.#chosen && nowMs - this.#stuckMs < bounds.STUCK_MS,
      epoch: rows?.epoch ?? null,
      isOwn: rows?.isOwn ?? false,
    };
  }

  /**
   * A user with many privileges can write to a server that has been demoted, and everybody to a node that has left its
   * cluster. So its connections must not be used until it is usable again, even if there is no other server yet.
   */
  #leaveUnusable(): void {
    if (!isUnusable(this.#chosen?.sight?.refusal) || this.#isLeft) return;
    this.#isLeft = true;
    this.turn += 1;
    void this.#leave(0);
  }

  async #moveTo(to: Lookout): Promise<void> {
    const from = this.#chosen;
    const before = from && this.#seen(from);
    const isSameCluster = before?.identity === this.#seen(to).identity;
    const why = whyMove(before, from?.sight?.refusal ?? null, isSameCluster);
    const isComingBack = before?.isUsable === true && isSameCluster && !before.isStuck;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#moving = promise;
    try {
      // From here on, no connection that was being opened to the server before is lent.
      this.turn += 1;
      this.#chosen = to;
      // It starts anew: a node that was left must prove itself again.
      if (from !== null && !isComingBack) from.fitSinceMs = null;
      await this.#leave(isComingBack ? bounds.LEAVE_MS_MAX : 0);
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

  /** Remembers which rows are used, so that older ones are never taken for them. */
  #use({ sight }: Lookout): void {
    const { rows, identity } = sight as Sight;
    if (rows !== null) this.#used = { epoch: rows.epoch, identity };
  }

  #whyLeft(lookout: Lookout): string | null {
    if (this.#chosen === null || lookout === this.#chosen || !lookout.sight) return null;
    if (isLeftBehind(this.#seen(lookout), this.#used))
      return "It can be written, and its rows are from before a fail-over: it must be made read-only, and a replica.";
    const separate = separateWritable(this.#seenAll(), this.#lookouts.indexOf(this.#chosen));
    return separate.includes(this.#lookouts.indexOf(lookout))
      ? "It can be written, too, and is no node of the same cluster: make all servers but one read-only."
      : null;
  }

  #noneUsable(): StoreError {
    const reasons = this.#lookouts.map(({ sight }) => sight?.refusal?.reason ?? NO_SERVER);
    const [reason = NO_SERVER, ...others] = new Set(reasons);
    const each = this.#lookouts.map(
      (lookout) => `${lookout.place}: ${lookout.sight?.refusal?.message ?? this.#whyLeft(lookout) ?? ""}`,
    );
    return new StoreError(
      "unavailable",
      others.length === 0 ? reason : NO_SERVER,
      `None of the ${each.length} database servers can be used. ${each.join(" ")}`,
    );
  }

  #report(seen: readonly SeenServer[], best: number | null): void {
    for (const lookout of this.#lookouts) {
      const { place, sight } = lookout;
      // Whoever needs the chosen one reports that it is away.
      const refusal = lookout === this.#chosen ? null : (sight?.refusal ?? null);
      // Read-only replicas and secondary nodes are as they should be.
      const reason = refusal === null || isUnusable(refusal) ? "" : refusal.reason;
      if ((this.#faults.get(place) ?? "") === reason) continue;
      this.#faults.set(place, reason);
      if (refusal !== null && reason !== "")
        this.#observer.servers?.({ kind: "fault", address: place, reason, message: refusal.message });
    }
    if (best === null) return;
    const [chosen = "", ...others] = [best, ...separateWritable(seen, best)].map(
      (index) => (this.#lookouts[index] as Lookout).place,
    );
    const separate = others.join();
    if (separate === this.#separate) return;
    this.#separate = separate;
    this.#observer.servers?.({ kind: "separate", chosen, others });
  }

  #watch(): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#turns += 1;
      this.#look(this.#turns % bounds.LOOK_AROUND_TURNS === 0);
    }, bounds.LOOK_INTERVAL_MS);
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
    const sight = await this.#chosen?.look(bounds.LOOK_MS_MAX);
    if (this.#chosen && sight?.refusal === null && this.#doubtedMs === null && !around)
      return this.#use(this.#chosen);
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

function whyMove(before: SeenServer | null, refusal: StoreError | null, isSameCluster: boolean): string {
  if (before === null) return "It is the first of the list that can be used.";
  if (refusal) return refusal.message;
  if (before.isStuck) return "The server before it did not answer commits.";
  if (!isSameCluster)
    return "The rows of the server before it are from before a fail-over: it was left behind.";
  return `It stands before the other node in ROWLOCK_DATABASE_URL, and has been usable for ${bounds.BACK_AFTER_MS / 1_000} s.`;
}

/** The server of the database to use now, as its only address. Throws a StoreError with the reasons if there is none. */
export async function chosenAddress(address: MysqlAddress): Promise<MysqlAddress> {
  const servers = new ChosenServer(address, UNOBSERVED, async () => {});
  try {
    return await servers.address();
  } finally {
    await servers.close();
  }
}
