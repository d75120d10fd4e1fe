// The trips of a deciding transaction and their results: what is read and locked for it, when it is written and
// committed, and what is rolled back, doubted or retried after a failure. Without a database.

import { beforeEach, describe, expect, test, vi } from "vitest";
import { QUEUE_HEAD_MAX } from "../../../../server/core/bounds.ts";
import type { Claim } from "../../../../server/core/claim.ts";
import { inTransaction, onSnapshot } from "../../../../server/storage/mysql/connection/in-transaction.ts";
import { BRANCHES_MAX, HEADS_PER_RULE_LOCK } from "../../../../server/storage/storage-bounds.ts";
import type { Loaded, LoadPlan, Writes } from "../../../../server/storage/store.ts";
import { ROW_LOCKED, StoreError } from "../../../../server/storage/store.ts";
import { RECORD } from "../../../support/claims.ts";
import { NO_CHANGES, planned, raised } from "../../../support/store-fixture.ts";
import { FakeDatabase } from "./fake-database.ts";
import { asRead, ended, held, keyOf, LOCK, numbers, waiting } from "./lock-fixture.ts";

const RULE = { prefix: "etl/", limit: 3, version: 8n, reason: "why", changeMark: 9n };

let database: FakeDatabase;
beforeEach(() => {
  database = new FakeDatabase();
  database.locks.set(1n, { ...LOCK });
  database.locks.set(2n, { ...LOCK, id: 2n, name: "etl/b" });
});

const ticketsOf = (claims: readonly Claim[] = []) => claims.map(({ ticketNumber }) => Number(ticketNumber));

/** What a transaction reads. Writes the guard rows and these changes. */
async function decide(plan: Partial<LoadPlan> = {}, changes: Partial<Writes> = {}): Promise<Loaded> {
  let read: Loaded | undefined;
  await database.transact({ locks: planned(1n), ...plan }, (loaded) => {
    read = structuredClone(loaded);
    return { ...NO_CHANGES, locks: raised(loaded), ...changes };
  });
  return read as Loaded;
}

/** Makes the lock one that is decided without a read. The database then holds it as written. */
async function learn(): Promise<void> {
  const write = async () => {
    await decide();
    const lock = database.locks.get(1n);
    if (lock) lock.revision += 1n;
  };
  await write();
  await write();
  await write();
  expect(database.names.at(-1)).toBe("decide_commit");
  database.trips.length = 0;
  database.outcomes.length = 0;
}

describe("a transaction", () => {
  test("reads in one trip, after it has locked its guard rows, and writes in another, which ends in COMMIT", async () => {
    const read = await decide({ locks: planned(1n, 2n) });
    expect(database.names).toEqual(["load", "load_rules", "save_commit"]);
    expect(database.sqlOf("load")).toEqual([
      "START TRANSACTION",
      expect.stringMatching(/^SELECT l.id, .* WHERE l.id IN \(1, 2\) ORDER BY l.id FOR UPDATE$/),
      expect.stringMatching(/^SELECT .* FROM rowlock_meta/),
    ]);
    expect(database.sqlOf("save_commit")).toEqual([
      expect.stringMatching(/^UPDATE rowlock_lock .* WHERE id IN \(1, 2\)$/),
      expect.stringMatching(/ROW_COUNT\(\) <> 2$/),
      "COMMIT",
    ]);
    expect([...read.locks.values()]).toEqual([LOCK, { ...LOCK, id: 2n, name: "etl/b" }]);
    expect(read).toMatchObject({
      nowUs: database.nowUs,
      rulesRevision: 7n,
      limitRules: [],
      isSuccessor: false,
      failOver: { epoch: 3n, atUs: 10, grantsFromUs: 20 },
    });
    expect(database.outcomes).toEqual(["committed in 3 true"]);
    expect(database.connection.inTransaction).toBe(false);
  });

  test("reads rules only when they have changed", async () => {
    database.rules = [RULE];
    const { limitRules } = await decide();
    expect(limitRules).toEqual([RULE]);
    expect((await decide()).limitRules).toEqual([RULE]);
    expect(database.names.filter((name) => name === "load_rules")).toHaveLength(1);
  });

  test("learns that its rows come from another server, unless no server is known", async () => {
    database.identity = "another";
    expect((await decide()).isSuccessor).toBe(true);
    database.identity = null;
    expect((await decide()).isSuccessor).toBe(false);
  });

  test("of known locks is one trip, from START TRANSACTION to COMMIT", async () => {
    await learn();
    await decide();
    expect(database.names).toEqual(["decide_commit"]);
    expect(database.sqlOf("decide_commit")).toEqual([
      "START TRANSACTION",
      expect.stringMatching(
        /^UPDATE rowlock_lock .* AND revision = CASE CAST\(id AS SIGNED\) WHEN 1 THEN 4 END$/,
      ),
      expect.stringMatching(/rules_revision = 7/),
      "COMMIT",
    ]);
    expect(database.outcomes).toEqual(["committed in 1 true"]);
  });

  test("waits for row locks unless it is impatient", async () => {
    await decide();
    expect(database.connection.isPatient).toBe(true);
    await decide({ impatient: true, locks: planned(2n) });
    expect(database.connection.isPatient).toBe(false);
    expect(database.sqlOf("load")[1]).toMatch(/FOR UPDATE NOWAIT$/);
  });

  test("that is impatient locks what it will write before it writes, guard rows only if they are not locked", async () => {
    await learn();
    await decide({ impatient: true });
    expect(database.names).toEqual(["decide_commit"]);
    expect(database.sqlOf("decide_commit")[1]).toMatch(/^DO \(SELECT 1 FROM rowlock_lock /);
    const other = held(1, { lockId: 2n });
    database.claims.push(other);
    await decide({ impatient: true, locks: planned(2n), claims: [other] }, { changed: [other] });
    expect(database.sqlOf("save_commit")[0]).toMatch(/^DO \(SELECT 1 FROM rowlock_claim/);
    await decide({ locks: planned(2n), claims: [other] }, { changed: [other] });
    expect(database.sqlOf("save_commit").join()).not.toContain("DO (");
  });

  test("fails if the database has no row of facts", async () => {
    database.isEmpty = true;
    await expect(decide()).rejects.toThrow("rowlock_meta is missing");
    expect(database.names).toEqual(["load", "rollback"]);
  });
});

describe("claims", () => {
  const HEADS = [{ id: 1n, heads: 9, likelyQueue: true }];
  const SERVER_MADE = "\0made by a server";
  const due = (number: number) => held(number, { deadlineUs: database.nowUs - 1 });
  beforeEach(() => {
    database.locks.set(1n, { ...LOCK, holders: 2, waiting: 3, firstHolder: 1n });
    database.claims = [held(1), held(2), ...numbers(3, 5).map((number) => waiting(number))];
  });

  /** Replaces claims of the database by others with the same numbers, as if another server had written them. */
  const become = (...claims: Claim[]) => {
    database.cache.forgetAll();
    const replaced = new Set(ticketsOf(claims));
    const others = database.claims.filter(({ ticketNumber }) => !replaced.has(Number(ticketNumber)));
    database.claims = [...claims, ...others];
  };

  test("that nothing asks for are not read, except the expected head of a queue", async () => {
    const { claims, queues } = await decide({ locks: [{ id: 1n, heads: 2, likelyQueue: true }] });
    expect(ticketsOf(claims)).toEqual([]);
    expect(ticketsOf(queues.get(1n)?.head)).toEqual([3, 4]);
    expect(queues.get(1n)?.complete).toBe(false);
    expect(database.names).toEqual(["load", "load_rules", "save_commit"]);
  });

  test("that are due are read in one trip more, if the bound of their lock has passed, and no others", async () => {
    become(due(1));
    expect(ticketsOf((await decide({ locks: HEADS })).claims)).toEqual([1]);
    become(held(1), due(2));
    expect(ticketsOf((await decide({ locks: HEADS })).claims)).toEqual([2]);
    become(
      due(1),
      waiting(4, { deadlineUs: database.nowUs }),
      waiting(5, { deadlineUs: database.nowUs + 1 }),
    );
    const { claims, queues } = await decide({ locks: HEADS });
    expect(ticketsOf(claims).sort()).toEqual([1, 2, 4]);
    expect(queues.get(1n)?.complete).toBe(true);
    expect(database.names).toEqual([
      ...["load", "load_rules", "load_queues", "save_commit"],
      ...["load", "load_queues", "save_commit"],
      ...["load", "load_queues", "save_commit"],
    ]);
    // The other lock has nothing due.
    database.cache.forgetAll();
    await decide({ locks: [...HEADS, ...planned(2n)] });
    expect(database.sqlOf("load_queues")).toEqual([
      expect.stringMatching(
        /^\(SELECT [^()]* c\.lock_id = 1 AND c\.deadline <= 5000000000 ORDER BY [^()]*\)$/,
      ),
    ]);
  });

  test("are not due if only the bound of their lock has passed", async () => {
    become(waiting(4, { deadlineUs: database.nowUs }));
    database.answers.set("c.deadline <=", []);
    expect((await decide({ locks: HEADS })).claims).toEqual([]);
  });

  test("are read by key, by request id and as holders, and each is one object", async () => {
    let isSame = false;
    await database.transact(
      {
        locks: HEADS,
        claims: [waiting(4)],
        requestIds: [waiting(4).requestId, waiting(5).requestId],
        holdersOf: [1n],
      },
      (loaded) => {
        expect(ticketsOf(loaded.claims).sort()).toEqual([1, 2, 4, 5]);
        const { head = [], complete } = loaded.queues.get(1n) ?? {};
        expect(complete).toBe(true);
        isSame = head[1] === loaded.claims.find(({ ticketNumber }) => ticketNumber === 4n);
        return { ...NO_CHANGES, locks: raised(loaded) };
      },
    );
    expect(isSame).toBe(true);
  });

  test.each<[string, Partial<LoadPlan>]>([
    ["its key", { claims: [held(1)] }],
    ["its request id", { requestIds: [held(1).requestId] }],
    ["the holders of its lock", { holdersOf: [1n] }],
  ])("in a guard row are read with it, if the plan asks for %s", async (_, plan) => {
    database.claims = [held(1)];
    const read = await decide({ locks: HEADS, ...plan });
    expect(read.claims).toEqual([asRead(held(1))]);
    expect(read.locks.get(1n)?.firstHolder).toBe(1n);
    database.cache.forgetAll();
    expect((await decide({ locks: HEADS })).claims).toEqual([]);
  });

  test("by key are searched among live and ended ones, and in the guard row if it is not read anyway", async () => {
    become(ended(4));
    expect((await decide({ locks: HEADS, claims: [held(2), ended(4)] })).claims).toEqual([
      asRead(held(2)),
      ended(4),
    ]);
    expect(tablesOf(database.sqlOf("load")[3])).toEqual([
      "rowlock_claim",
      "rowlock_history",
      "rowlock_claim",
    ]);
    database.cache.forgetAll();
    const elsewhere = { locks: planned(2n), claims: [held(1), held(2), ended(4)] };
    expect(ticketsOf((await decide(elsewhere)).claims).sort()).toEqual([1, 2, 4]);
    expect(tablesOf(database.sqlOf("load")[3])).toEqual(["rowlock_lock", "rowlock_claim", "rowlock_history"]);
  });

  test("by a client's request id are searched in all tables, whatever lock they belong to", async () => {
    become(ended(4));
    const requestIds = [held(1), held(2), ended(4)].map(({ requestId }) => requestId);
    const { claims } = await decide({ locks: planned(2n), requestIds });
    expect(ticketsOf(claims).sort()).toEqual([1, 2, 4]);
    expect(database.sqlOf("load")[3]?.match(/FROM rowlock_request r/g)).toHaveLength(4);
  });

  test.each([
    ["the first holder", held(1, { requestId: SERVER_MADE }), [1]],
    ["a further holder", held(2, { requestId: SERVER_MADE }), [2]],
    ["a waiter", waiting(5, { requestId: SERVER_MADE }), [5]],
    ["an ended claim", ended(5, { requestId: SERVER_MADE }), []],
  ])(
    "by a request id that a server made are live claims of the locks read: %s",
    async (_, claim, expected) => {
      become(claim);
      const { claims } = await decide({ locks: HEADS, requestIds: [SERVER_MADE] });
      expect(ticketsOf(claims)).toEqual(expected);
      expect(database.sqlOf("load").join()).not.toContain("rowlock_request");
      const elsewhere = await decide({ locks: planned(2n), requestIds: [SERVER_MADE] });
      expect(elsewhere.claims).toEqual([]);
    },
  );

  test("of an unexpected queue are read in one trip more", async () => {
    const { queues } = await decide({ locks: planned(1n) });
    expect(database.names).toEqual(["load", "load_rules", "load_queues", "save_commit"]);
    expect(ticketsOf(queues.get(1n)?.head)).toEqual([3]);
    database.locks.set(1n, { ...LOCK, waiting: 1 });
    expect((await decide({ locks: planned(1n) })).queues.get(1n)?.complete).toBe(true);
  });

  test("of many queues are read by several statements, because a parser accepts a bounded number of branches", async () => {
    const ids = numbers(10, 10 + BRANCHES_MAX).map(BigInt);
    await decide({ locks: ids.map((id) => ({ id, heads: 1, likelyQueue: true })) });
    const branches = database.sqlOf("load").slice(3);
    expect(branches.map((sql) => sql.split(" UNION ALL ").length)).toEqual([BRANCHES_MAX, 1]);
  });

  test("are written only if the decision has changed them, and only over the old values", async () => {
    await database.transact({ locks: planned(1n), claims: [held(1), waiting(4)] }, (loaded) => {
      for (const claim of loaded.claims) claim.deadlineUs = 9;
      return { ...NO_CHANGES, locks: raised(loaded), changed: loaded.claims };
    });
    const [guard, claim] = database.sqlOf("save_commit");
    expect(guard).toMatch(/^UPDATE rowlock_lock SET revision = 2, holder_deadline = 9, decided_at/);
    expect(claim).toMatch(/^UPDATE rowlock_claim SET deadline = 9 WHERE/);
  });

  test("move between the tables as the decision has placed them", async () => {
    await database.transact({ locks: HEADS, claims: [held(1)] }, (loaded) => {
      const [holder] = loaded.claims as [Claim];
      const [waiter] = (loaded.queues.get(1n)?.head ?? []) as [Claim];
      Object.assign(holder, { state: "ended", endReason: "released", deadlineUs: loaded.nowUs + 1 });
      Object.assign(waiter, { state: "held", fencingToken: 2n });
      return { ...NO_CHANGES, locks: raised(loaded), changed: [holder, waiter] };
    });
    const [guard, ...others] = database.sqlOf("save_commit");
    expect(guard).toContain("holder_ticket_number = 3,");
    expect(others).toEqual([
      expect.stringMatching(
        /^DELETE c FROM rowlock_claim c WHERE \(lock_id = 1 AND place = 3 AND ticket_number = 3\)/,
      ),
      expect.stringMatching(/^INSERT INTO rowlock_history .* VALUES \(IF\(ROW_COUNT\(\) = 1, 1, NULL\), 1, /),
      expect.stringMatching(/rules_revision <> 7/),
      "COMMIT",
    ]);
  });

  test("that a decision ends and that are not remembered leave their tables only", async () => {
    database.locks.set(1n, { ...LOCK, holders: 2, firstHolder: 1n });
    await database.transact({ locks: HEADS, claims: [held(1)] }, (loaded) => {
      const [holder] = loaded.claims as [Claim];
      Object.assign(holder, { state: "ended", endReason: "released", deadlineUs: loaded.nowUs });
      return { ...NO_CHANGES, locks: raised(loaded), changed: [holder] };
    });
    expect(database.sqlOf("save_commit")).toEqual([
      expect.stringMatching(/^UPDATE rowlock_lock SET revision = 2, holder_state = 0,/),
      expect.stringMatching(/ROW_COUNT\(\) <> 1$/),
      "COMMIT",
    ]);
  });
});

/** The tables of the branches of a read. */
function tablesOf(sql = ""): (string | undefined)[] {
  return sql.split(" UNION ALL ").map((branch) => / FROM (rowlock_\w+) [lch] /.exec(branch)?.[1]);
}

test("a record is read if the guard row shows one, and the decision may change it", async () => {
  database.locks.set(1n, { ...LOCK, record: RECORD });
  const run = [null, null, null, null, null, null];
  const row = ["1", Buffer.from("failed"), null, 3, "8", null, ...run, "2", Buffer.from("token:a")];
  database.answers.set("FROM rowlock_record", [row]);
  let status: string | undefined;
  await database.transact({ locks: planned(1n) }, (loaded) => {
    const lock = loaded.locks.get(1n);
    status = lock?.record?.status;
    if (lock?.record) lock.record = { ...lock.record, status: "done" };
    return { ...NO_CHANGES, locks: raised(loaded) };
  });
  expect(status).toBe("failed");
  expect(database.names).toEqual(["load", "load_rules", "load_records", "save_commit"]);
  expect(database.sqlOf("save_commit")[1]).toMatch(
    /^UPDATE rowlock_record SET status = 'done' WHERE lock_id IN \(1\)/,
  );
});

describe("a decision with several rounds", () => {
  const goOn = async (plan: Partial<LoadPlan> = {}, again: bigint[] = [2n, 1n], waits = false) => {
    const times: number[] = [];
    await database.transact({ locks: planned(1n, 2n), ...plan }, (loaded) => {
      times.push(loaded.nowUs);
      database.nowUs += 1_000;
      const locks = raised(loaded);
      if (waits && times.length === 1) for (const lock of locks) lock.waiting += 1;
      return { ...NO_CHANGES, locks, again: times.length === 1 ? again : [] };
    });
    return times;
  };

  test("is written, read again with the longest head in order of ids, and committed at the end, all at one time", async () => {
    const times = await goOn();
    expect(new Set(times).size).toBe(1);
    expect(database.names).toEqual(["load", "load_rules", "save", "load", "save_commit"]);
    expect(database.sqlOf("save").at(-1)).not.toBe("COMMIT");
    const again = database.sqlOf("load");
    expect(again[0]).toMatch(/IN \(1, 2\) ORDER BY l.id FOR UPDATE$/);
    expect(again.at(-1)).toContain(`LIMIT ${QUEUE_HEAD_MAX})`);
    expect(database.outcomes).toEqual(["committed in 5 true"]);
  });

  test("uses nothing that was known of its locks the next time", async () => {
    await learn();
    await goOn({}, [1n]);
    expect(database.cache.assume({ ...EMPTY_PLAN, locks: planned(1n) }, "it")).toBeNull();
  });

  test("asserts the rules if its first round has left waiters", async () => {
    await goOn({}, [1n], true);
    expect(database.sqlOf("save").join()).not.toContain("rules_revision <>");
    expect(database.sqlOf("save_commit").at(-2)).toMatch(/rules_revision <> 7 LOCK IN SHARE MODE$/);
  });
});

const EMPTY_PLAN: LoadPlan = { locks: [], claims: [], requestIds: [], holdersOf: [] };

describe("a transaction that leaves waiters", () => {
  const leave = (plan: Partial<LoadPlan> = {}, more: Partial<Writes> = {}) =>
    database.transact({ locks: planned(1n), ...plan }, (loaded) => {
      const locks = raised(loaded).map((lock) => ({ ...lock, waiting: 1 }));
      return { ...NO_CHANGES, ...more, locks };
    });

  test("asserts directly before COMMIT that the rules are the ones that it used", async () => {
    await leave();
    expect(database.sqlOf("save_commit").at(-2)).toMatch(/rules_revision <> 7 LOCK IN SHARE MODE$/);
    await leave({ impatient: true });
    expect(database.sqlOf("save_commit").at(-2)).toMatch(/rules_revision <> 7$/);
    await decide({ locks: planned(2n) });
    expect(database.sqlOf("save_commit").join()).not.toContain("rules_revision <>");
  });

  test("does so with the other facts if it has read nothing", async () => {
    await learn();
    await leave();
    const sql = database.sqlOf("decide_commit");
    expect(sql.filter((each) => each.includes("rules_revision"))).toEqual([
      expect.stringMatching(/rules_revision = 7 .* LOCK IN SHARE MODE$/),
    ]);
  });

  test("and changes a rule holds the rules anyway", async () => {
    database.answers.set("SELECT DISTINCT c.lock_id", [["1"]]);
    await leave({ locks: [], rule: { prefix: "etl/", afterLockId: 0n } }, { rule: RULE });
    expect(database.sqlOf("save_commit").join()).not.toMatch(/rules_revision <>|LOCK IN SHARE MODE/);
  });
});

describe("a change of a rule", () => {
  test("locks the rules first, and then the locks with waiters under its prefix", async () => {
    database.answers.set("SELECT DISTINCT c.lock_id", [["1"], ["2"]]);
    const read = await decide({ locks: [], rule: { prefix: "etl/", afterLockId: 4n } }, { rule: RULE });
    expect(database.names).toEqual(["load_rule", "load", "load_rules", "save_commit"]);
    expect(database.sqlOf("load_rule")).toEqual([
      "START TRANSACTION",
      expect.stringMatching(/^SELECT rules_revision .* FOR UPDATE$/),
      expect.stringMatching(/c.lock_id > 4 AND l.name >= 'etl\/' AND l.name < 'etl0'/),
    ]);
    expect(database.sqlOf("load").join()).not.toContain("START TRANSACTION");
    expect(database.sqlOf("load").at(-1)).toContain(`LIMIT ${HEADS_PER_RULE_LOCK})`);
    expect([...read.locks.keys()]).toEqual([1n, 2n]);
    expect(database.sqlOf("save_commit").join()).toContain("INSERT INTO rowlock_limit_rule");
  });

  test("of rules alone reads no lock", async () => {
    const read = await decide({ locks: [], rule: { prefix: "etl/", afterLockId: 0n, rulesOnly: true } });
    expect(read.locks.size).toBe(0);
    expect(database.names.slice(0, 2)).toEqual(["load_rule", "load_rules"]);
    expect(database.sqlOf("load_rule").join()).not.toContain("FROM rowlock_lock");
  });

  test("keeps no rules that are not committed, and makes the locks that it has decided unknown", async () => {
    await learn();
    database.answers.set("SELECT DISTINCT c.lock_id", [["1"]]);
    database.rules = [RULE];
    await decide({ locks: [], rule: { prefix: "etl/", afterLockId: 0n } });
    expect(database.cache.assume({ ...EMPTY_PLAN, locks: planned(1n) }, "it")).toBeNull();
    expect((await decide({ locks: planned(2n) })).limitRules).toEqual([]);
  });
});

describe("after a failure", () => {
  const BAD_LUCK = new StoreError("transient", "deadlock", "A deadlock.");
  const isKnown = () => database.cache.assume({ ...EMPTY_PLAN, locks: planned(1n) }, "it") !== null;

  test("everything is rolled back, and the caller gets the reason", async () => {
    const bug = new Error("a bug");
    const failing = database.transact({ locks: planned(1n) }, () => {
      throw bug;
    });
    await expect(failing).rejects.toBe(bug);
    expect(database.names).toEqual(["load", "load_rules", "rollback"]);
    expect(database.sqlOf("rollback")).toEqual(["ROLLBACK"]);
    expect(database.outcomes).toEqual(["rolled_back in 3 true"]);
    expect(database.connection.inTransaction).toBe(false);
  });

  test("a connection that cannot be rolled back is not used again", async () => {
    const lost = new Error("lost");
    database.failures.set("save_commit", BAD_LUCK).set("rollback", lost);
    await expect(decide()).rejects.toBe(BAD_LUCK);
    expect(database.destroyed).toEqual([lost]);
    expect(database.connection.inTransaction).toBe(true);
  });

  test("a lost connection gets no ROLLBACK", async () => {
    database.failures.set("save_commit", BAD_LUCK);
    database.connection.alive = false;
    await expect(decide()).rejects.toBe(BAD_LUCK);
    expect(database.names).not.toContain("rollback");
  });

  test("its locks, and the clock that it used, are read the next time", async () => {
    await learn();
    const doubt = vi.spyOn(database.clock, "doubt");
    expect(isKnown()).toBe(true);
    database.failures.set("decide_commit", BAD_LUCK);
    await expect(decide()).rejects.toBe(BAD_LUCK);
    expect(doubt).toHaveBeenCalledOnce();
    database.clock.read(database.nowUs, 0, 0);
    expect(isKnown()).toBe(false);
    // A transaction that has read the clock has nothing to doubt.
    database.failures.set("save_commit", BAD_LUCK);
    await expect(decide()).rejects.toBe(BAD_LUCK);
    expect(doubt).toHaveBeenCalledOnce();
  });

  test("a row that another transaction holds is no reason to doubt what is known", async () => {
    await learn();
    const locked = new StoreError("transient", ROW_LOCKED, "Locked.");
    database.failures.set("decide_commit", locked);
    await expect(decide()).rejects.toBe(locked);
    expect(isKnown()).toBe(true);
  });
});

describe("a claim that exists already", () => {
  const TWICE = new StoreError("transient", "duplicate_request", "Twice.");
  const add = (...added: Claim[]) => decide({}, { added });
  beforeEach(() => database.failures.set("save_commit", TWICE));

  test("under the same request id makes the decision retryable", async () => {
    database.answers.set("SELECT 1 FROM rowlock_request", [[1]]);
    await expect(add(held(1, { requestId: "a" }), held(2, { requestId: "b" }))).rejects.toBe(TWICE);
    expect(database.sqlOf("duplicate_request")).toEqual([
      `SELECT 1 FROM rowlock_request WHERE request_key IN (${keyOf("a")}, ${keyOf("b")}) LIMIT 1`,
    ]);
  });

  test("under the same ticket number is a bug, and is not retried", async () => {
    const bug = await add(held(1)).catch((error: unknown) => error);
    expect(bug).toMatchObject({ message: expect.stringContaining("ticket number"), cause: TWICE });
    expect(bug).not.toBeInstanceOf(StoreError);
  });

  test("is not searched if none was added, or after another failure", async () => {
    await expect(add()).rejects.toBe(TWICE);
    for (const other of [new StoreError("transient", "deadlock", "A deadlock."), new Error("a bug")]) {
      database.failures.set("save_commit", other);
      await expect(add(held(1))).rejects.toBe(other);
    }
    expect(database.names).not.toContain("duplicate_request");
  });
});

describe("other transactions", () => {
  test("are open while they work, and rolled back if they fail", async () => {
    const { connection } = database;
    expect(await inTransaction(connection, async () => connection.inTransaction)).toBe(true);
    expect(connection.inTransaction).toBe(false);
    const bug = new Error("a bug");
    const failing = inTransaction(connection, () => Promise.reject(bug));
    await expect(failing).rejects.toBe(bug);
    expect(database.names).toEqual(["rollback"]);
    expect(connection.inTransaction).toBe(false);
  });

  test("that only read see one snapshot, and end before their answer is used", async () => {
    const answer = await onSnapshot(database.connection, async () => {
      expect(database.names).toEqual(["begin_snapshot"]);
      return 5;
    });
    expect(answer).toBe(5);
    expect(database.trips).toEqual([
      {
        name: "begin_snapshot",
        sql: [
          "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
          "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        ],
      },
      { name: "end_snapshot", sql: ["COMMIT"] },
    ]);
  });
});
