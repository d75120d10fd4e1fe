// The store of one server over the simulated database. It works as the MySQL store does: guard rows are locked one by one,
// or assumed to be as this server last wrote them (by the product's own cache); the clock is read after the locks; what was
// assumed is asserted before it is written. Each trip takes time, and connections break.

import { type Claim, type ClaimKey, keyText } from "../../../server/core/claim.ts";
import type { Clock } from "../../../server/core/database-clock.ts";
import { idsOf } from "../../../server/storage/cached-locks.ts";
import { LockCache } from "../../../server/storage/mysql/lock-cache.ts";
import { monotonicUs } from "../../../server/storage/mysql/statements.ts";
import type { Assumptions } from "../../../server/storage/mysql/transaction/read.ts";
import { leavesWaiters } from "../../../server/storage/mysql/transaction/write.ts";
import { coldReads } from "../../../server/storage/reads/reads.ts";
import { ROLLED_BACK, retry } from "../../../server/storage/retry.ts";
import { claimFromRow } from "../../../server/storage/rows/from-rows.ts";
import { movesOf } from "../../../server/storage/rows/placement.ts";
import { requestKeyOf } from "../../../server/storage/rows/values.ts";
import { SqliteHandle } from "../../../server/storage/sqlite/handle.ts";
import { ownMethods } from "../../../server/storage/sqlite/sqlite-store.ts";
import { stepsOn } from "../../../server/storage/sqlite/steps.ts";
import { furtherPlan, load, type Read, save } from "../../../server/storage/sqlite/transaction.ts";
import { CLOCK_BEHIND_US_MAX, LOAN_MS_MAX } from "../../../server/storage/storage-bounds.ts";
import {
  CHANGED,
  type DecideRows,
  isRowLocked,
  type LoadPlan,
  type Store,
  StoreError,
  type Writes,
} from "../../../server/storage/store.ts";
import { tornSets } from "../../../test/support/torn-sets.ts";
import { between } from "../world/chance.ts";
import type { Process, World } from "../world/world.ts";
import type { SimDatabase } from "./database.ts";
import { META_ROW, rowLocked } from "./row-locks.ts";

/** How long a transaction may be idle before the database ends it: `wait_timeout`. */
const IDLE_MS = 8_000;
/** How long a server waits for the answer of a connection that is lost. */
const LOST_MS_MAX = 3_000;
/** How much later than told a COMMIT takes effect. */
const LATE_MS_MAX = 1_500;
const LANES = 3;

/** What a store does differently on purpose. */
export interface Planted {
  /** Writes guard rows that other servers have changed since they were read. */
  readonly trustsOldRows?: boolean;
  /** Reads guard rows without locking them. */
  readonly locksNothing?: boolean;
  /** Reads the clock before it waits for the locks. */
  readonly readsClockFirst?: boolean;
  /** Takes pools to be as it remembers them, and so asserts and locks only the rows of locks. */
  readonly trustsOldPools?: boolean;
}

/** Its clock is read once a trip, with the time at which the server asked. */
class SimHandle extends SqliteHandle {
  readonly #database: SimDatabase;
  askedUs = 0;
  #metaVersion = -1;

  constructor(database: SimDatabase) {
    super(database.rows.database, { path: ":memory:", clock: () => database.nowUs() });
    this.#database = database;
    Object.assign(this, { statements: database.rows.statements });
  }

  override readClock(): Clock {
    return this.clock.read(this.nowUs(), this.askedUs, monotonicUs());
  }

  override meta() {
    if (this.#metaVersion !== this.#database.metaVersion) super.forgetMeta();
    this.#metaVersion = this.#database.metaVersion;
    return super.meta();
  }

  /** Other servers add and delete, too. */
  override get endedCount(): number {
    return Number(this.statements.get("count_history")?.[0]);
  }

  override forgetMeta(): void {
    super.forgetMeta();
    this.#database?.metaChanged();
  }
}

const lost = (kind: StoreError["kind"]) =>
  new StoreError(kind, "connection_lost", "The connection to the database was lost.");
const unreachable = () =>
  new StoreError("unavailable", "unreachable", "The database server cannot be reached.");
const changed = () => new StoreError("transient", CHANGED, "Rows that this decision relied on have changed.");

/** One connection's transaction. */
class Transaction {
  readonly #database: SimDatabase;
  isOver = false;
  /** Why the connection is gone; undefined: it is not. */
  killed: string | undefined;
  /** What the clock showed when it got the last of its locks on guard rows; null: it has none. */
  lockedUs: number | null = null;
  /** It decided by rows that it remembered, at a time that it estimated, and locked them to write. */
  isAssumed = false;
  /** What it has written and not yet committed. */
  readonly rounds: { readonly writes: Writes; readonly read: Read; readonly clock: Clock }[] = [];
  #idle = () => {};

  constructor(database: SimDatabase) {
    this.#database = database;
    database.open.add(this);
  }

  /** The database has sent an answer, and waits for the next statement. */
  idle(): void {
    this.#idle();
    const { world, process } = this.#database;
    this.#idle = world.at(process, IDLE_MS, () => this.kill("connection_lost"));
  }

  busy(): void {
    this.#idle();
    if (this.killed !== undefined) throw lost("transient");
  }

  kill(reason: string): void {
    if (this.isOver) return;
    this.killed = reason;
    this.end();
  }

  end(): void {
    this.#idle();
    if (this.isOver) return;
    this.isOver = true;
    this.#database.open.delete(this);
    this.#database.locks.release(this);
  }
}

export function simStore(database: SimDatabase, server: Process, planted: Planted = {}): Store {
  return new SimStore(database, server, planted).store();
}

class SimStore {
  readonly #database: SimDatabase;
  readonly #server: Process;
  readonly #world: World;
  readonly #handle: SimHandle;
  readonly #cache: LockCache;
  readonly #planted: Planted;
  #isClosed = false;

  constructor(database: SimDatabase, server: Process, planted: Planted) {
    this.#database = database;
    this.#server = server;
    this.#world = database.world;
    this.#planted = planted;
    this.#handle = new SimHandle(database);
    this.#cache = new LockCache(this.#handle.clock);
    server.onDeath.push(() => {
      this.#isClosed = true;
    });
  }

  store(): Store {
    const handle = this.#handle;
    const { purgeLocks, heartbeat, ...small } = ownMethods(handle);
    const plain = { ...small, ...coldReads(stepsOn(handle)) };
    const far = Object.fromEntries(
      Object.entries(plain).map(([name, method]) => [
        name,
        (...values: unknown[]) =>
          this.#small(() => (method as (...values: unknown[]) => Promise<unknown>)(...values)),
      ]),
    ) as typeof plain;
    const repeated = {
      register: (...values: Parameters<Store["register"]>) =>
        retry(ROLLED_BACK, () => far.register(...values)),
      mark: (...values: Parameters<Store["mark"]>) => retry(ROLLED_BACK, () => far.mark(...values)),
      retire: (...values: Parameters<Store["retire"]>) => retry(ROLLED_BACK, () => far.retire(...values)),
    };
    return {
      ...far,
      ...repeated,
      product: `SQLite ${handle.version}`,
      localHost: null,
      lanes: LANES,
      patientSlots: LANES,
      readers: LANES,
      clock: handle.clock,
      transact: (plan, decide) => this.#transact(plan, decide),
      failOver: (note) =>
        this.#small(async () => {
          const leftUs = await small.failOver(note);
          this.#database.rowsIdentity = this.#database.identity;
          this.#database.metaChanged();
          return leftUs;
        }),
      heartbeat: (...values) => this.#heartbeat(heartbeat, ...values),
      // As if another transaction held some of the rows.
      purgeLocks: (...values) =>
        this.#small(async () => (this.#database.locks.areHeld ? 0 : await purgeLocks(...values))),
      checkDurability: async () => [],
      checkRights: async () => [],
      rowHolder: async () => null,
      waitForRows: async (lockIds) => {
        for (const id of lockIds) await this.#waitForRow(id);
      },
      servers: () => [],
      pool: () => ({ open: Number(!this.#isClosed), idle: Number(!this.#isClosed), waiting: 0 }),
      bounds: () => [],
      close: async () => {
        this.#isClosed = true;
      },
    };
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new StoreError("unavailable", "closed", "The store is closed.");
  }

  #tripMs(): number {
    const { luck } = this.#database;
    return between(this.#server.chance, 0.1, luck.tripMsMax);
  }

  /** As a statement by itself, which has no other row meanwhile. */
  async #waitForRow(id: bigint): Promise<void> {
    const { locks } = this.#database;
    const probe = {};
    await this.#small(async () => {
      try {
        await locks.wait(id, probe);
      } finally {
        locks.release(probe);
      }
    });
  }

  /** A statement by itself. */
  async #small<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    this.#mustBeOpen();
    const askedUs = monotonicUs();
    return this.#away(async () => {
      this.#handle.askedUs = askedUs;
      return await work();
    });
  }

  /** There, the work, and back. */
  async #away<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const database = this.#database;
    await this.#world.hop(database.process, this.#tripMs());
    let answer: () => Answer;
    try {
      if (!database.isUp) throw unreachable();
      const result = await work();
      answer = () => result;
    } catch (error) {
      answer = () => {
        throw error;
      };
    }
    await this.#world.hop(this.#server, this.#tripMs());
    return answer();
  }

  async #heartbeat(
    heartbeat: Store["heartbeat"],
    replica: bigint,
    claims: Parameters<Store["heartbeat"]>[1],
    keepForUs: number,
  ): ReturnType<Store["heartbeat"]> {
    if (claims.length === 0) return [];
    const beforeUs = this.#handle.clock.earliestUs(monotonicUs());
    const { written } = this.#database;
    const { kept, skipped } = await retry(ROLLED_BACK, () =>
      this.#small(async () => {
        const kept = claims.filter((claim) => !written.has(keyText(claim)));
        await heartbeat(replica, kept, keepForUs);
        return { kept, skipped: claims.filter((claim) => written.has(keyText(claim))) };
      }),
    );
    if (beforeUs !== null) this.#cache.prolonged(replica, kept, beforeUs + keepForUs);
    return skipped;
  }

  async #transact(plan: LoadPlan, decide: DecideRows): Promise<void> {
    this.#mustBeOpen();
    const database = this.#database;
    const transaction = new Transaction(database);
    // A process that dies takes its connections with it.
    const died = () => void this.#world.at(database.process, 1, () => transaction.kill("connection_lost"));
    this.#server.onDeath.push(died);
    const cached = this.#cache.assume(plan, database.identity);
    const overMs = this.#world.nowMs + LOAN_MS_MAX;
    try {
      await this.#decideAll(transaction, plan, decide, cached, overMs);
    } catch (error) {
      if (!transaction.isOver && !isLeftToCommit(transaction)) {
        // The end of the connection is not waited for here, nor is ROLLBACK, after which a server rests before it tries again.
        if (error instanceof StoreError)
          this.#world.at(database.process, this.#tripMs(), () => transaction.end());
        // ROLLBACK: a decision that needs other rows begins anew at once.
        else await this.#away(async () => transaction.end()).catch(() => {});
      }
      if (!isRowLocked(error)) {
        this.#cache.doubt(idsOf(plan));
        if (cached) this.#handle.clock.doubt(monotonicUs());
      }
      if (error instanceof StoreError && error.kind !== "transient") this.#cache.forgetAll();
      throw error;
    } finally {
      this.#server.onDeath.splice(this.#server.onDeath.indexOf(died), 1);
    }
  }

  async #decideAll(
    transaction: Transaction,
    plan: LoadPlan,
    decide: DecideRows,
    cached: ReturnType<LockCache["assume"]>,
    overMs: number,
  ): Promise<void> {
    const first = cached ?? (await this.#load(transaction, this.#cache.widened(plan), overMs));
    const assumptions = cached?.assumptions ?? null;
    transaction.isAssumed = assumptions !== null;
    let waitersLeft = false;
    for (let read: Read = first; ; ) {
      const writes = decide(read.loaded);
      waitersLeft ||= leavesWaiters(writes);
      transaction.rounds.push({ writes: copyOf(writes), read, clock: first.loaded });
      // Says in the locks themselves where their first holders are, which the cache must know.
      movesOf(writes, read.loaded.nowUs);
      const isLast = writes.again.length === 0;
      if (!isLast) {
        const again = await this.#trip(transaction, overMs, async () => {
          if (assumptions && transaction.rounds.length === 1)
            await this.#mustBeAsAssumed(transaction, plan, first, assumptions);
          return this.#asIfWritten(transaction, () =>
            load(this.#handle, furtherPlan(writes.again, plan.pools), first.loaded),
          );
        });
        read = { ...again, loaded: { ...again.loaded, ...clockOf(first.loaded) } };
        continue;
      }
      const isAlone = read === first;
      await this.#commit(transaction, overMs, async () => {
        if (assumptions && isAlone) await this.#mustBeAsAssumed(transaction, plan, first, assumptions);
        if (waitersLeft && !plan.rule) await this.#rulesMustBe(transaction, plan, first);
      });
      if (isAlone && !plan.rule) this.#cache.learn(first as Parameters<LockCache["learn"]>[0], writes);
      else this.#cache.doubt([...first.loaded.locks.keys(), ...(plan.pools ?? [])]);
      return;
    }
  }

  /** Locks, then pools, then the clock, then everything else. */
  async #load(transaction: Transaction, plan: LoadPlan, overMs: number): Promise<Read> {
    const handle = this.#handle;
    const database = this.#database;
    const askedUs = monotonicUs();
    const read = await this.#trip(transaction, overMs, async () => {
      const earlyUs = database.nowUs();
      if (database.luck.deadlock > this.#server.chance())
        throw new StoreError(
          "transient",
          "deadlock",
          "The database chose this transaction to end a deadlock.",
        );
      if (plan.rule) await this.#lock(transaction, META_ROW, false);
      const ids = plan.rule
        ? [...load(handle, plan, exactly(database.nowUs())).loaded.locks.keys()].sort((a, b) =>
            a < b ? -1 : 1,
          )
        : plan.locks.map(({ id }) => id);
      if (!this.#planted.locksNothing)
        for (const id of [...ids, ...(plan.pools ?? [])])
          await this.#lock(transaction, id, plan.impatient === true);
      const nowUs = this.#planted.readsClockFirst ? earlyUs : database.nowUs();
      const read = load(handle, plan, exactly(nowUs));
      return { ...read, nowUs, isSuccessor: database.rowsIdentity !== database.identity };
    });
    const clock = handle.clock.read(read.nowUs, askedUs, monotonicUs());
    return { ...read, loaded: { ...read.loaded, ...clock, isSuccessor: read.isSuccessor } };
  }

  async #lock(transaction: Transaction, row: bigint, isImpatient: boolean): Promise<void> {
    const { locks } = this.#database;
    // A row that a transaction takes after its end would stay locked for ever.
    transaction.busy();
    if (!isImpatient) await locks.wait(row, transaction);
    else if (!locks.take(row, transaction)) throw rowLocked();
    transaction.busy();
    if (row !== META_ROW) transaction.lockedUs = this.#database.shownUs;
  }

  async #mustBeAsAssumed(
    transaction: Transaction,
    plan: LoadPlan,
    { loaded }: Read,
    { newRequestIds, serverIdentity }: Assumptions,
  ): Promise<void> {
    const database = this.#database;
    const { statements } = database.rows;
    const ids = [...loaded.locks.keys()].sort((a, b) => (a < b ? -1 : 1));
    const first = transaction.rounds[0] as Transaction["rounds"][number];
    const { locks, pools = [] } = first.writes;
    const assumed = this.#planted.trustsOldPools ? locks : [...locks, ...pools.map(({ lock }) => lock)];
    for (const id of this.#planted.trustsOldPools ? ids : [...ids, ...(plan.pools ?? [])])
      await this.#lock(transaction, id, plan.impatient === true);
    for (const lock of assumed) {
      const known = first.read.before.lock(lock.id);
      const row = statements.read("revision", "SELECT revision FROM rowlock_lock WHERE id = ?", [lock.id])[0];
      if (!row || (row[0] !== known?.revision && !this.#planted.trustsOldRows)) throw changed();
    }
    const { failOver, rulesRevision } = this.#handle.meta();
    const nowUs = database.nowUs();
    const latestUs = Math.min(
      loaded.nowUs + CLOCK_BEHIND_US_MAX,
      firstEnd(first.writes, first.read, loaded) - 1,
    );
    const isUnchanged =
      rulesRevision === loaded.rulesRevision &&
      failOver.epoch === loaded.failOver.epoch &&
      failOver.atUs === loaded.failOver.atUs &&
      failOver.grantsFromUs === loaded.failOver.grantsFromUs &&
      serverIdentity === database.rowsIdentity &&
      nowUs >= loaded.atLeastUs &&
      nowUs <= latestUs;
    if (!isUnchanged) throw changed();
    const added = new Set(first.writes.added.map(({ requestId }) => requestId));
    for (const id of newRequestIds)
      if (!added.has(id) && statements.get("request", requestKeyOf(id))) throw changed();
  }

  async #rulesMustBe(transaction: Transaction, plan: LoadPlan, { loaded }: Read): Promise<void> {
    const { locks } = this.#database;
    // A shared lock, which it has only for this moment.
    if (!locks.isFree(META_ROW, transaction))
      await this.#lock(transaction, META_ROW, plan.impatient === true);
    if (this.#handle.meta().rulesRevision !== loaded.rulesRevision) throw changed();
  }

  /** What it would read now, with its own writes, which nobody else sees. */
  #asIfWritten<Answer>(transaction: Transaction, look: () => Answer): Answer {
    let answer: { readonly found: Answer } | undefined;
    try {
      this.#handle.inTransaction(() => {
        this.#write(transaction);
        answer = { found: look() };
        throw new NotYet();
      });
    } catch (error) {
      if (!(error instanceof NotYet)) throw error;
    }
    if (!answer) throw new Error("unreachable");
    return answer.found;
  }

  #write({ rounds }: Transaction): void {
    // A write changes what it writes.
    for (const { writes, read, clock } of rounds) save(this.#handle, copyOf(writes), read.before, clock);
  }

  /** Writes all of it, and commits. */
  #writeAndCommit(transaction: Transaction): void {
    this.#handle.inTransaction(() => this.#write(transaction));
    this.#lookAtDate(transaction);
    this.#lookAtLevels(transaction);
    this.#lookAtSets(transaction);
  }

  /**
   * Notes a decision that is dated before its transaction had its locks: another one may have decided in between, at a
   * later time. Clients hardly ever see that. A clock that was set back after the locks explains an earlier date.
   */
  #lookAtDate({ rounds, lockedUs, isAssumed }: Transaction): void {
    if (lockedUs === null) return;
    const leastUs = Math.min(lockedUs, this.#database.shownUs) - (isAssumed ? CLOCK_BEHIND_US_MAX : 0);
    for (const { clock } of rounds) {
      if (clock.nowUs >= leastUs) continue;
      const at = `${this.#server.name} at ${this.#world.nowMs.toFixed(3)} ms`;
      this.#database.misdated.push(`${at}: ${leastUs - clock.nowUs} us before it had its locks`);
    }
  }

  /** Notes claims that wait at a pool and have a wider one: two of them may wait for each other. */
  #lookAtLevels({ rounds }: Transaction): void {
    for (const { writes, read } of rounds) {
      const widthOf = (id: bigint) =>
        read.loaded.pools?.get(id)?.lock.name.length ?? Number.POSITIVE_INFINITY;
      for (const { levels, ...claim } of [...writes.added, ...writes.changed]) {
        const waits = levels?.find(({ state }) => state === "waits");
        const has = levels?.filter(({ state }) => state === "has") ?? [];
        if (!waits || has.every(({ poolId }) => widthOf(poolId) > widthOf(waits.poolId))) continue;
        const at = `${this.#server.name} at ${this.#world.nowMs.toFixed(3)} ms`;
        this.#database.stuck.push(`${at}: claim ${keyText(claim)} waits at a pool, and has a wider one`);
      }
    }
  }

  #lookAtSets({ rounds }: Transaction): void {
    const changed = rounds.flatMap(({ writes }) => [...writes.added, ...writes.changed]);
    const locked = new Set(rounds.flatMap(({ writes }) => writes.locks.map(({ id }) => id)));
    const { statements } = this.#database.rows;
    const rowOf = ({ lockId, ticketNumber }: ClaimKey) => {
      const row = statements.get("claim", lockId, ticketNumber);
      return row ? claimFromRow(row) : null;
    };
    const at = `${this.#server.name} at ${this.#world.nowMs.toFixed(3)} ms`;
    for (const what of tornSets(changed, rowOf, locked)) this.#database.torn.push(`${at}: ${what}`);
  }

  async #commit(transaction: Transaction, overMs: number, assert: () => Promise<void>): Promise<void> {
    const database = this.#database;
    const { luck, process } = database;
    const { chance } = this.#server;
    const fate = chance();
    const isCut = fate < luck.cut;
    const isLate = !isCut && fate < luck.cut + luck.late;
    const isUnheard = !isCut && !isLate && fate < luck.cut + luck.late + luck.answerLost;
    try {
      await this.#trip(transaction, overMs, async () => {
        if (isCut) {
          transaction.kill("connection_lost");
          throw lost("unknown_outcome");
        }
        await assert();
        if (isLate) {
          this.#commitLater(transaction, between(chance, 0, LATE_MS_MAX));
          throw lost("unknown_outcome");
        }
        this.#writeAndCommit(transaction);
        transaction.end();
        if (isUnheard) {
          await this.#world.hop(process, between(chance, 0, LOST_MS_MAX));
          throw lost("unknown_outcome");
        }
      });
    } catch (error) {
      // The writes and COMMIT are one trip, so nobody knows how far it came.
      const isLost =
        error instanceof StoreError && ["connection_lost", "unreachable", "timeout"].includes(error.reason);
      if (isLost) throw lost("unknown_outcome");
      throw error;
    }
  }

  #commitLater(transaction: Transaction, ms: number): void {
    const { written, process } = this.#database;
    const keys = transaction.rounds.flatMap(({ writes }) => writes.changed.map(keyText));
    for (const key of keys) written.set(key, (written.get(key) ?? 0) + 1);
    left.add(transaction);
    this.#world.at(process, ms, () => {
      for (const key of keys) {
        const count = (written.get(key) ?? 1) - 1;
        if (count > 0) written.set(key, count);
        else written.delete(key);
      }
      if (transaction.isOver) return;
      try {
        this.#writeAndCommit(transaction);
      } catch (error) {
        // Another transaction has added a claim with the same request id. With a planted fault, anything may not fit.
        const isRefused = (error as { code?: string }).code === "ERR_SQLITE_ERROR";
        const isPlanted = Object.keys(this.#planted).length > 0;
        if (!(error instanceof StoreError) && !isRefused && !isPlanted) throw error;
      }
      transaction.end();
    });
  }

  /** One trip of a transaction. Its connection is given up if the server has lent it for too long. */
  async #trip<Answer>(
    transaction: Transaction,
    overMs: number,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    let isOver = false;
    const trip = this.#away(async () => {
      transaction.busy();
      try {
        const answer = await work();
        if (!transaction.isOver) transaction.idle();
        return answer;
      } catch (error) {
        if (transaction.killed !== undefined && isRowLocked(error)) throw lost("transient");
        throw error;
      }
    }).finally(() => {
      isOver = true;
    });
    trip.catch(() => {});
    return await new Promise<Answer>((resolve, reject) => {
      const tooLong = this.#world.at(this.#server, overMs - this.#world.nowMs, () => {
        if (isOver) return;
        this.#world.at(this.#database.process, this.#tripMs(), () => transaction.kill("connection_lost"));
        reject(new StoreError("unavailable", "timeout", "The database did not answer in time."));
      });
      trip.then(
        (answer) => {
          tooLong();
          resolve(answer);
        },
        (error: unknown) => {
          tooLong();
          reject(error);
        },
      );
    });
  }
}

/** Transactions that commit although their connection is lost. */
const left = new WeakSet<Transaction>();
const isLeftToCommit = (transaction: Transaction) => left.has(transaction);

class NotYet extends Error {}

function exactly(nowUs: number): Clock {
  return { nowUs, atLeastUs: nowUs, jumpedAtUs: null, skippedUs: 0, backAtUs: null };
}

function clockOf({ nowUs, atLeastUs, jumpedAtUs, skippedUs, backAtUs }: Clock): Clock {
  return { nowUs, atLeastUs, jumpedAtUs, skippedUs, backAtUs };
}

/** As the store of MySQL does it: the write of a lease that goes on must come before its end. */
function firstEnd({ changed }: Writes, { before }: Read, { atLeastUs }: Clock): number {
  const claimBefore = (before as Partial<{ claim(key: Claim): Claim | undefined }>).claim;
  let firstUs = Number.POSITIVE_INFINITY;
  for (const claim of changed) {
    if (claim.state !== "held") continue;
    const endUs = claimBefore?.call(before, claim)?.deadlineUs ?? firstUs;
    if (endUs > atLeastUs) firstUs = Math.min(firstUs, endUs);
  }
  return firstUs;
}

/** The decision goes on using its rows. */
function copyOf(writes: Writes): Writes {
  return {
    ...writes,
    locks: writes.locks.map((lock) => ({ ...lock })),
    pools: writes.pools?.map((pool) => ({ ...pool, lock: { ...pool.lock } })) ?? [],
    added: writes.added.map((claim) => ({ ...claim })),
    changed: writes.changed.map((claim) => ({ ...claim })),
  };
}
