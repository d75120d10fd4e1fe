// The statements that write decisions about several locks, with few columns and expressions for many rows: they leave the
// rows that were decided, whatever was decided and whatever text callers send.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Claim, keyText } from "../../../../server/core/claim.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import {
  CLAIM_COLUMNS,
  HISTORY_COLUMNS,
  HOLDER_COLUMNS,
  LOCK_WRITTEN_COLUMNS,
} from "../../../../server/storage/rows/columns.ts";
import { movesOf } from "../../../../server/storage/rows/placement.ts";
import { requestKeyOf, type Value } from "../../../../server/storage/rows/values.ts";
import type { Loaded, Store, Writes } from "../../../../server/storage/store.ts";
import { mysqlFamily, reportLeftOut } from "../../../support/database.ts";
import { openStage, type PlainConnection, type Stage } from "../../../support/mysql-stage.ts";
import { DECISION_KINDS, decided } from "../../../support/random-decisions.ts";
import { claimValues, historyValues, holderValues, lockValues } from "../../../support/row-values.ts";
import { seed } from "../../../support/seed.ts";
import { NO_CHANGES, planned, SECOND_US, transact } from "../../../support/store-fixture.ts";

reportLeftOut(mysqlFamily());

const LOCKS = 9;
const TEXTS = [
  "",
  "worker-1",
  "it's",
  "a\\b\\",
  "\u00e4 \ud83d\ude00",
  "?*/",
  "\0",
  '"{x}"',
  "a\n",
  "\r -- #",
] as const;

const details = {
  pick: fc.nat({ max: 3 }),
  ttlUs: fc.constantFrom(60 * SECOND_US, 90 * SECOND_US, null),
  text: fc.constantFrom(...TEXTS),
};
const where = { impatient: fc.boolean(), from: fc.nat({ max: LOCKS - 1 }) };
const anyDecision = fc.record({ kind: fc.constantFrom(...DECISION_KINDS, "nothing" as const), ...details });
const mixed = fc
  .record({ ...where, decisions: fc.array(anyDecision, { minLength: 1, maxLength: LOCKS }) })
  .map((step) => [step]);
/** Most decisions of a busy server are alike, about locks that have had different numbers of holders. */
const alike = fc
  .record({ ...where, ...details, locks: fc.integer({ min: 1, max: LOCKS }) })
  .map(({ impatient, from, locks, ...more }) =>
    (["free", "take", "renew", "end"] as const).map((kind) => ({
      impatient,
      from,
      decisions: Array.from({ length: locks }, () => ({ kind, ...more })),
    })),
  );
const anySteps = fc
  .array(fc.oneof(mixed, alike), { minLength: 3, maxLength: 8 })
  .map((steps) => steps.flat());

/** What the tables should have, by key and column. Bytes are hexadecimal digits. */
class Expected {
  readonly guards = new Map<bigint, Map<string, unknown>>();
  readonly claims = new Map<string, unknown[]>();
  readonly history: unknown[][] = [];
  readonly requests: unknown[][] = [];

  take(writes: Writes, nowUs: number): void {
    const moves = movesOf(writes, nowUs);
    for (const lock of writes.locks) {
      const row = this.guards.get(lock.id) ?? new Map<string, unknown>();
      this.guards.set(lock.id, row);
      const set = (columns: readonly string[], values: readonly Value[]) => {
        for (const [at, column] of columns.entries()) row.set(column, plain(values[at]));
      };
      set(LOCK_WRITTEN_COLUMNS, lockValues(lock));
      const move = moves.holders.get(lock.id);
      if (move?.holder) set(HOLDER_COLUMNS, holderValues(move.holder));
      else if (move) row.set("holder_state", "0");
    }
    for (const claim of [...moves.added, ...moves.changed])
      this.claims.set(keyText(claim), claimValues(claim).map(plain));
    for (const claim of moves.removed) this.claims.delete(keyText(claim));
    for (const claim of moves.ended) this.history.push(historyValues(claim).map(plain));
    for (const { requestId, lockId, ticketNumber } of moves.requests)
      this.requests.push([requestKeyOf(requestId), lockId, ticketNumber].map(plain));
  }
}

function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? value.toString("hex") : String(value);
}

const inOrder = (rows: Iterable<readonly unknown[]>) => [...rows].map((row) => row.join()).toSorted();

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  let stage: Stage;
  let store: Store;
  let plainly: PlainConnection;
  let trials = 0;

  beforeAll(async () => {
    stage = await openStage(server);
    store = await stage.store();
    plainly = await stage.connection();
  });
  afterAll(() => stage?.close());

  const rowsOf = async (columns: readonly string[], table: string, key: string, ids: readonly bigint[]) => {
    const rows = await plainly.run(
      `SELECT ${columns.join(", ")} FROM ${table} WHERE ${key} IN (${ids.join()}) ORDER BY ${key}`,
    );
    return rows.map((row) => columns.map((column) => plain(row[column])));
  };

  test("decisions leave the rows that were decided", async () => {
    await fc.assert(
      fc.asyncProperty(anySteps, async (steps) => {
        const names = Array.from({ length: LOCKS }, (_, at) => `${trials}/${at}`);
        trials += 1;
        const ids = [...(await store.resolve(names)).values()].toSorted((a, b) => (a < b ? -1 : 1));
        const live = new Map(ids.map((id) => [id, new Map<bigint, Claim>()]));
        const expected = new Expected();
        for (const { impatient, from, decisions } of steps) {
          const wanted = ids.slice(from, from + decisions.length);
          const claims = wanted.flatMap((id) => [...(live.get(id)?.values() ?? [])]);
          let written: Writes = NO_CHANGES;
          let nowUs = 0;
          const decide = (loaded: Loaded): Writes => {
            nowUs = loaded.nowUs;
            const parts = wanted.map((id, at) => {
              const { kind, ...more } = decisions[at] as (typeof decisions)[number];
              const ofThis = loaded.claims.filter(
                ({ lockId, ticketNumber }) => lockId === id && live.get(id)?.has(ticketNumber),
              );
              const lock = loaded.locks.get(id) as Lock;
              return decided(kind, { ...more, lock, claims: ofThis, nowUs });
            });
            const all: Writes = {
              ...NO_CHANGES,
              locks: parts.flatMap(({ locks }) => locks),
              added: parts.flatMap(({ added }) => added),
              changed: parts.flatMap(({ changed }) => changed),
            };
            written = structuredClone(all);
            return all;
          };
          await transact(store, { impatient, locks: planned(...wanted), claims }, decide);
          expected.take(written, nowUs);
          for (const claim of [...written.added, ...written.changed])
            if (claim.state === "ended") live.get(claim.lockId)?.delete(claim.ticketNumber);
            else live.get(claim.lockId)?.set(claim.ticketNumber, claim);
          const columns = [...LOCK_WRITTEN_COLUMNS, ...HOLDER_COLUMNS];
          const guards = await rowsOf(["id", ...columns], "rowlock_lock", "id", wanted);
          for (const [at, id] of wanted.entries()) {
            const row = expected.guards.get(id);
            const present = new Map(columns.map((column, index) => [column, guards[at]?.[index + 1]]));
            expect([...(row ?? [])].filter(([column, value]) => present.get(column) !== value)).toEqual([]);
          }
        }
        const claims = await rowsOf(CLAIM_COLUMNS, "rowlock_claim", "lock_id", ids);
        expect(inOrder(claims)).toEqual(inOrder(expected.claims.values()));
        const history = await rowsOf(HISTORY_COLUMNS, "rowlock_history", "lock_id", ids);
        expect(inOrder(history)).toEqual(inOrder(expected.history));
        const requests = await rowsOf(
          ["request_key", "lock_id", "ticket_number"],
          "rowlock_request",
          "lock_id",
          ids,
        );
        expect(inOrder(requests)).toEqual(inOrder(expected.requests));
        // Each record is found when its lock is free, and only then.
        const findings = await store.checkInvariants(1_000);
        expect(findings.filter(({ check }) => check === "records")).toEqual([]);
      }),
      { seed, numRuns: 8 },
    );
  });
});
