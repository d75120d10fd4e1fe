// The cost of an Acquire with its Release, and of a hand-over, in counts: statements, transactions, trips and message
// bytes. The counts are the same on every machine, so any increase shows immediately. The bench measures times.

import { createHook } from "node:async_hooks";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { AcquireResponseSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Claim } from "../../server/core/claim.ts";
import type { Answer, Asker } from "../../server/engine/answers.ts";
import { leaseMessage } from "../../server/grpc/messages/messages.ts";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { Trip } from "../../server/storage/mysql/connection/connection.ts";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { CLAIM } from "../support/claims.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower } from "../support/replicas.ts";
import { startEngine, type TestEngine } from "../support/test-engine.ts";

/** The statements of transactions on SQLite. Other statements belong to background work. */
const OF_TRANSACTIONS = [
  "begin",
  "meta",
  "lock",
  "record",
  "write_record",
  "remove_record",
  "request",
  "claim",
  "holders",
  "waiters",
  "due_claims",
  "write_lock",
  "write_lock_and_holder",
  "write_lock_without_holder",
  "add_claim",
  "write_claim",
  "remove_claim",
  "add_to_history",
  "add_request",
  "commit",
];

/** The trips of MySQL transactions, which take one or two. */
const TRIPS = ["decide_commit", "load", "load_records", "save", "save_commit"];

/**
 * Statements of one trip that writes guard rows and adds rows to one more table, including BEGIN and COMMIT. The
 * statement that adds rows also asserts what was assumed. MySQL has one more than MariaDB, which locks the rows
 * (transact.ts).
 */
const STATEMENTS_OF_A_TRIP = { mysql: 5, mariadb: 4 };

interface Cost {
  readonly transactions: number;
  /** By name on SQLite; on MySQL by the trip that contains them. */
  readonly statements: Readonly<Record<string, number>>;
  /** On MySQL only. */
  readonly trips: number;
}

describe.each(testDatabases())("on $label", ({ kind, fresh }) => {
  let statements: string[] = [];
  let transactions = 0;
  let store: Store;
  let running: TestEngine;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const database = await fresh();
    drop = database.drop;
    await migrateUp(database.url);
    if (kind !== "sqlite") countStatements();
    const observer = {
      statement: (name: string) => void statements.push(name),
      transaction() {
        transactions += 1;
      },
      connection() {},
    };
    store = await openStore(database.url, { observer });
    running = await startEngine(store);
  });

  afterAll(async () => {
    vi.restoreAllMocks();
    await running.engine.stop();
    await store.close();
    await drop();
  });

  /** On MySQL the observer sees only trips, so each statement of a trip is also counted, as `in NAME OF THE TRIP`. */
  function countStatements(): void {
    const { add } = Trip.prototype;
    vi.spyOn(Trip.prototype, "add").mockImplementation(function (this: Trip, ...given) {
      statements.push(`in ${this.name}`);
      return add.apply(this, given);
    });
  }

  async function costOf(work: () => Promise<unknown>): Promise<Cost> {
    statements = [];
    transactions = 0;
    await work();
    const count = (name: string) => statements.filter((each) => each === name).length;
    const names = kind === "sqlite" ? OF_TRANSACTIONS : TRIPS.map((trip) => `in ${trip}`);
    const found = names.map((name): [string, number] => [name, count(name)]).filter(([, times]) => times > 0);
    const trips = TRIPS.reduce((sum, trip) => sum + count(trip), 0);
    return { transactions, statements: Object.fromEntries(found), trips };
  }

  /**
   * Expects `transactions` of one trip each, and on MySQL `more` statements in addition to those of a plain trip; on
   * SQLite the named statements.
   */
  function expectCost(
    cost: Cost,
    { transactions, more }: { readonly transactions: number; readonly more: number },
    onSqlite: Record<string, number>,
  ): void {
    expect(cost.transactions).toBe(transactions);
    if (kind === "sqlite") {
      expect(cost.statements).toEqual({ begin: transactions, ...onSqlite, commit: transactions });
    } else {
      expect(cost.trips).toBe(transactions);
      expect(cost.statements).toEqual({
        "in decide_commit": STATEMENTS_OF_A_TRIP[kind] * transactions + more,
      });
    }
  }

  let asked = 0;
  const acquire = async (name: string) =>
    claimOf(await running.engine.acquire(ask(name, { requestId: `request ${asked++}` }), null), "held");
  const release = (claim: Claim) => running.engine.ask(asks.release(claim));

  /** The statements of so many pairs. */
  const ofPairs = (count: number) => ({
    ...{ request: count, write_lock_and_holder: count, add_request: count },
    ...{ write_lock_without_holder: count, add_to_history: count },
  });

  test("a pair on a known name", async () => {
    await release(await acquire("pair"));
    const cost = await costOf(async () => release(await acquire("pair")));
    expectCost(cost, { transactions: 2, more: 0 }, ofPairs(1));
  });

  test("twenty pairs on as many names in one turn cost MySQL no more than one", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `pair ${index}`);
    for (const name of names) await release(await acquire(name));
    const cost = await costOf(async () => {
      const claims = await Promise.all(names.map(acquire));
      await Promise.all(claims.map(release));
    });
    expectCost(cost, { transactions: 2, more: 0 }, ofPairs(20));
  });

  test("a pair on a lock with a record is a statement more for each, and no trip", async () => {
    const pair = async () => {
      const claim = await acquire("remembers");
      await running.engine.ask(asks.release(claim, { status: "done" }));
    };
    // The first run creates the lock's record.
    for (let before = 0; before < 2; before++) await pair();
    const cost = await costOf(pair);
    expect(cost.transactions).toBe(2);
    if (kind === "sqlite") {
      expect(cost.statements).toMatchObject({
        write_lock_and_holder: 1,
        write_lock_without_holder: 1,
        write_record: 2,
      });
    } else {
      expect(cost.trips).toBe(2);
      expect(cost.statements).toEqual({ "in decide_commit": 2 * (STATEMENTS_OF_A_TRIP[kind] + 1) });
    }
  });

  test("a refusal of a lock that has one holder, whom it tells without a further read", async () => {
    const held = await acquire("busy");
    const cost = await costOf(async () => {
      const { outcome } = await running.engine.acquire(
        ask("busy", { mayWait: false, requestId: "tries" }),
        null,
      );
      expect(outcome).toMatchObject({ kind: "refused", holders: [{ ticketNumber: held.ticketNumber }] });
    });
    expect(cost.transactions).toBe(1);
  });

  test("a hand-over to the first of three waiters", async () => {
    const held = await acquire("hot");
    const waiting = [follower(), follower(), follower()];
    for (const [index, one] of waiting.entries())
      await running.engine.acquire(ask("hot", { requestId: `waits ${index}` }), one);
    const cost = await costOf(async () => {
      await release(held);
      expect((await waiting[0]?.toldClaim)?.claim.state).toBe("held");
    });
    // The waiter's row is removed, as it moves into the guard row.
    const onSqlite = { write_lock_and_holder: 1, remove_claim: 1, add_to_history: 1 };
    expectCost(cost, { transactions: 1, more: 1 }, onSqlite);
  });

  test("commands make no promises: a tick with many makes as many as a tick with one", async () => {
    let promises = 0;
    const hook = createHook({
      init(_id, type) {
        if (type === "PROMISE") promises += 1;
      },
    });
    /** The promises of one transaction that takes these locks, or gives them back. */
    const of = async <Given>(begin: (asker: (index: number) => Asker<Given>) => void, count: number) => {
      const given: Given[] = [];
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const before = promises;
      hook.enable();
      begin((index) => ({
        settle(answer) {
          given[index] = answer;
          hook.disable();
          if (given.filter(Boolean).length === count) resolve();
          else hook.enable();
        },
        fail: reject,
      }));
      await promise;
      return { given, made: promises - before };
    };
    const pairs = async (count: number) => {
      const indexes = Array.from({ length: count }, (_, index) => index);
      const taken = await of<Answer>((asker) => {
        for (const index of indexes) {
          const input = ask(`tick ${index}`, { requestId: `request ${asked++}` });
          running.engine.beginAcquire(input, null, undefined, asker(index));
        }
      }, count);
      const claims = taken.given.map((answer) => claimOf(answer as never, "held"));
      const given = await of<Answer>((asker) => {
        for (const [index, claim] of claims.entries())
          running.engine.beginAsk(asks.release(claim), asker(index));
      }, count);
      return [taken.made, given.made];
    };
    await pairs(32);
    // Others in this process make promises, too, so the least of some tries counts.
    const least = { many: [Infinity, Infinity], one: [Infinity, Infinity] };
    const lower = (made: readonly number[], than: readonly number[]) =>
      made.map((count, at) => Math.min(count, than[at] as number));
    for (let tries = 0; tries < 50 && (tries === 0 || `${least.many}` !== `${least.one}`); tries++) {
      least.many = lower(await pairs(32), least.many);
      least.one = lower(await pairs(1), least.one);
    }
    expect(least.many).toEqual(least.one);
  });
});

test("an answer with a lease takes 135 bytes, of which 59 are the request id and the name", () => {
  const claim: Claim = {
    ...CLAIM,
    lockId: 123_456n,
    ticketNumber: 1_234n,
    fencingToken: 1_234n,
    requestId: "0f8fad5b-d9cb-469f-a165-70867728950e",
    ttlUs: 30_000_000,
    grantedAtUs: 1_800_000_000_123_456,
    deadlineUs: 1_800_000_030_123_456,
  };
  const value = leaseMessage(claim, "etl/customers/eu-west-1", 1_800_000_000_123_456);
  const answer = create(AcquireResponseSchema, { outcome: { case: "lease", value } });
  expect(toBinary(AcquireResponseSchema, answer).length).toBeLessThanOrEqual(135);
});
