// The statements with few columns that write guard rows: they leave the rows that a statement with all columns would
// leave, and keep out of the indexes where they can.

import type { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { countHolder, type Lock } from "../../../server/core/lock.ts";
import { runPending, sqliteSchema } from "../../../server/storage/migrate/schema.ts";
import { HOLDER_COLUMNS, LOCK_WRITTEN_COLUMNS } from "../../../server/storage/rows/columns.ts";
import { boundsOf, movesOf } from "../../../server/storage/rows/placement.ts";
import { openSqliteFile } from "../../../server/storage/sqlite/file.ts";
import { sqliteStore } from "../../../server/storage/sqlite/sqlite-store.ts";
import { DECIDED_AT_STEP_US, type Loaded, type Store, type Writes } from "../../../server/storage/store.ts";
import { CLAIM } from "../../support/claims.ts";
import { DECISION_KINDS, decided, NOT_ENDED } from "../../support/random-decisions.ts";
import { holderValues, lockValues } from "../../support/row-values.ts";
import { seed } from "../../support/seed.ts";
import {
  addClaims,
  changeClaims,
  changeLock,
  NO_PLAN,
  planned,
  SECOND_US,
} from "../../support/store-fixture.ts";

const NAMES = ["a", "b", "c"];
const START_US = 1_900_000_000 * SECOND_US;

let nowUs: number;
let database: DatabaseSync;
let store: Store;

async function openDatabase(): Promise<DatabaseSync> {
  const opened = openSqliteFile(":memory:");
  await runPending(sqliteSchema(opened));
  return opened;
}

/** Fewer locks are remembered than there are, so that some rows are known and others are not. */
const openOn = (on: DatabaseSync) =>
  sqliteStore(on, { path: ":memory:", clock: () => nowUs, cachedLocks: NAMES.length - 1 });

beforeEach(async () => {
  nowUs = START_US;
  database = await openDatabase();
  store = openOn(database);
});
afterEach(() => store.close());

const KINDS = [...DECISION_KINDS, "nothing", "fail", "sweep"] as const;

const step = fc.record({
  kind: fc.constantFrom(...KINDS),
  lock: fc.nat({ max: NAMES.length - 1 }),
  claim: fc.nat({ max: 3 }),
  ttlUs: fc.constantFrom(SECOND_US, 10 * SECOND_US, null),
  laterUs: fc.constantFrom(0, 1_000, 300_000, SECOND_US, 7 * SECOND_US, -2 * SECOND_US),
});

const WHOLE = [...LOCK_WRITTEN_COLUMNS, "decided_at"].map((column) => `${column} = ?`).join(", ");
const BOUND = "next_deadline = iif(next_deadline < ?, ?, coalesce(min(next_deadline, ?), next_deadline, ?))";

/** Writes all columns of the guard row. */
function writeWhole(to: DatabaseSync, writes: Writes, atUs: number): void {
  const moves = movesOf(writes, atUs);
  for (const lock of writes.locks) {
    const move = moves.holders.get(lock.id);
    const holder = move?.holder
      ? HOLDER_COLUMNS.map((column) => `${column} = ?`)
      : ["holder_state = holder_state * ?"];
    const holderIs = move?.holder ? holderValues(move.holder) : [move ? 0 : 1];
    const { soonUs, laterUs, atMostUs } = boundsOf(lock, moves, atUs);
    to.prepare(`UPDATE rowlock_lock SET ${WHOLE}, ${holder.join(", ")}, ${BOUND} WHERE id = ?`).run(
      ...lockValues(lock),
      atUs,
      ...holderIs,
      ...[soonUs, laterUs, atMostUs, atMostUs, lock.id],
    );
  }
}

/** A waiter that is not there: to write it fails, after the guard row was written. */
const missing = (lockId: bigint): Claim => ({ ...CLAIM, ...NOT_ENDED, lockId, ticketNumber: 999n });

type GuardRow = { readonly [column: string]: unknown };

const rowsOf = (from: DatabaseSync) =>
  from.prepare("SELECT * FROM rowlock_lock ORDER BY id").all() as GuardRow[];

test("leave what a write of all columns would have left, whatever is decided", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      nowUs = START_US;
      const [few, whole] = [await openDatabase(), await openDatabase()];
      const tried = openOn(few);
      const ids = [...(await tried.resolve(NAMES)).values()];
      const other = openOn(whole);
      await other.resolve(NAMES);
      const live = new Map<bigint, Map<bigint, Claim>>(ids.map((id) => [id, new Map()]));
      for (const { kind, lock, claim, ttlUs, laterUs } of steps) {
        nowUs += laterUs;
        if (kind === "sweep") {
          await tried.dueLocks(0n, 100);
          for (const { id, next_deadline } of rowsOf(few))
            whole
              .prepare("UPDATE rowlock_lock SET next_deadline = ? WHERE id = ?")
              .run(next_deadline as null, id as bigint);
        } else {
          const id = ids[lock] as bigint;
          const of = live.get(id) as Map<bigint, Claim>;
          const plan = { ...NO_PLAN, locks: planned(id), claims: [...of.values()] };
          let written: Writes | undefined;
          const decide = (loaded: Loaded) => {
            const claims = loaded.claims.filter(({ ticketNumber }) => of.has(ticketNumber));
            const writes = decided(kind === "fail" ? "take" : kind, {
              lock: loaded.locks.get(id) as Lock,
              claims,
              pick: claim,
              ttlUs,
              nowUs,
            });
            written = structuredClone(writes);
            return kind === "fail" ? { ...writes, changed: [...writes.changed, missing(id)] } : writes;
          };
          if (kind === "fail") await expect(tried.transact(plan, decide)).rejects.toThrow();
          else await tried.transact(plan, decide);
          if (kind !== "fail" && written) {
            for (const each of [...written.added, ...written.changed])
              if (each.state === "ended") of.delete(each.ticketNumber);
              else of.set(each.ticketNumber, each);
            writeWhole(whole, written, nowUs);
          }
        }
        const expected = rowsOf(whole);
        for (const [at, { decided_at: decidedAt, ...rest }] of rowsOf(few).entries()) {
          const { decided_at: exact, ...others } = expected[at] as GuardRow;
          expect(rest).toEqual(others);
          expect(Number(decidedAt)).toBeLessThanOrEqual(Number(exact));
          expect(Number(decidedAt)).toBeGreaterThan(Number(exact) - DECIDED_AT_STEP_US);
        }
      }
      await Promise.all([tried.close(), other.close()]);
    }),
    { seed, numRuns: 25 },
  );
});

test("change no index while the same lock is taken, renewed and released again and again", async () => {
  const id = (await store.resolve(["a"])).get("a") as bigint;
  const round = async () => {
    const [taken] = (await addClaims(store, id, { state: "held" })) as [Claim];
    const renewed = { ...taken, deadlineUs: (taken.deadlineUs as number) + 1_000 };
    await changeClaims(store, renewed);
    await changeLock(store, id, (lock) => countHolder(lock, renewed, -1));
    await changeClaims(store, { ...renewed, state: "ended", endedAtUs: nowUs, endReason: "released" });
    nowUs += 1_000;
  };
  await round();
  database.exec(`CREATE TEMP TABLE moved (decided_at, next_deadline);
    CREATE TEMP TRIGGER moves AFTER UPDATE OF decided_at, next_deadline ON main.rowlock_lock
    BEGIN INSERT INTO moved VALUES (new.decided_at, new.next_deadline); END`);
  const moved = () => database.prepare("SELECT count(*) AS moved FROM moved").get()?.moved;
  for (let times = 0; times < 5; times++) await round();
  expect(moved()).toBe(0n);
  nowUs += DECIDED_AT_STEP_US;
  await changeLock(store, id, () => {});
  expect(database.prepare("SELECT decided_at FROM moved").all()).toEqual([{ decided_at: BigInt(nowUs) }]);
});

test("write the time of a decision anew if the clock was set back", async () => {
  const id = (await store.resolve(["a"])).get("a") as bigint;
  nowUs -= 100_000;
  await changeLock(store, id, () => {});
  expect((await store.decidedSince({ atUs: 0, afterLockId: 0n }, null, 10)).locks).toMatchObject([{ id }]);
});

test("know nothing of a sweep that was rolled back", async () => {
  const ids = [...(await store.resolve(["a", "b"])).values()] as [bigint, bigint];
  const ends = (seconds: number) => ({ deadlineUs: START_US + seconds * SECOND_US });
  const claims: Claim[] = [];
  for (const id of ids) {
    const [claim] = (await addClaims(store, id, { state: "held", ...ends(10) })) as [Claim];
    for (let times = 0; times < 3; times++) await changeLock(store, id, () => {});
    await changeClaims(store, { ...claim, ...ends(14) });
    claims.push(claim);
  }
  nowUs += 11 * SECOND_US;
  database.exec(`CREATE TEMP TRIGGER fails BEFORE UPDATE OF next_deadline ON main.rowlock_lock WHEN new.id = ${ids[1]}
    BEGIN SELECT RAISE(ABORT, 'as planned'); END`);
  await expect(store.dueLocks(0n, 10)).rejects.toThrow("as planned");
  await changeClaims(store, { ...(claims[0] as Claim), ...ends(16) });
  expect(rowsOf(database)[0]).toMatchObject({ next_deadline: BigInt(ends(16).deadlineUs) });
});
