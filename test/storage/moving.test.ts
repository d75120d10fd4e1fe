// The migration that moves each claim to the table of its state: what was there is there afterwards, and an interrupted
// migration may be repeated.

import { describe, expect, test } from "vitest";
import { type Migration, migrations } from "../../migrations/index.ts";
import type { MigrationTarget } from "../../migrations/target.ts";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { withMysqlSchema } from "../../server/storage/migrate/mysql-schema.ts";
import { type Schema, sqliteSchema } from "../../server/storage/migrate/schema.ts";
import { openStore } from "../../server/storage/open.ts";
import { openSqliteFile } from "../../server/storage/sqlite/file.ts";
import type { LockView, Store } from "../../server/storage/store.ts";
import { testDatabases } from "../support/database.ts";

const MOVING = "0010-first-holders";
const moving = migrations.find(({ name }) => name === MOVING) as Migration;
const before = migrations.slice(0, migrations.indexOf(moving));
const SOON = 9_000_000_000_000_000;
/** Not quite an hour after the ends. */
const ENDED_UNTIL = 3_599_999_999;

interface OldClaim {
  readonly lock: number;
  readonly ticket: number;
  readonly state: 1 | 2 | 3;
  readonly mode?: number;
  readonly token?: number;
  readonly deadline?: number | null;
  readonly ttl?: number | null;
  /** Unset: a client's. */
  readonly requestId?: string;
}

const CLAIMS: readonly OldClaim[] = [
  { lock: 1, ticket: 1, state: 3, token: 1 },
  { lock: 1, ticket: 2, state: 3, token: 2, requestId: "\0of a server" },
  { lock: 2, ticket: 1, state: 2, token: 1 },
  { lock: 3, ticket: 1, state: 2, mode: 2, token: 1, deadline: SOON + 1 },
  { lock: 3, ticket: 2, state: 3, mode: 2, token: 2 },
  { lock: 3, ticket: 3, state: 2, mode: 2, token: 3, requestId: "\0\0of a capture" },
  { lock: 3, ticket: 4, state: 1, mode: 3, requestId: "\0of a waiter" },
  { lock: 3, ticket: 5, state: 1, mode: 3 },
  { lock: 4, ticket: 7, state: 2, mode: 3, token: 9, deadline: null, ttl: null },
];

const LOCKS = [
  { id: 1, name: "free", next: 3, token: 2 },
  { id: 2, name: "held", next: 2, token: 1, permits: 1, holders: 1 },
  { id: 3, name: "shared", next: 6, token: 3, shared: 2, holders: 2, waiting: 2 },
  { id: 4, name: "endless", next: 8, token: 9, exclusive: 1, holders: 1 },
  { id: 5, name: "new", next: 1, token: 0 },
];

const hex = (text: string) => `x'${Buffer.from(text).toString("hex")}'`;
const secretOf = ({ lock, ticket }: OldClaim) => `secret of ${lock} ${ticket}`.padEnd(22, ".");
const requestOf = (claim: OldClaim) => claim.requestId ?? `request ${claim.lock} ${claim.ticket}`;

/** The rows as the version before wrote them, and as an older one did: with NULL for what a claim does not have. */
function oldRows(): string[] {
  const locks = LOCKS.map(
    ({ id, name, next, token, permits = 0, shared = 0, exclusive = 0, holders = 0, waiting = 0 }) =>
      `(${id}, ${hex(name)}, ${next}, ${token}, ${permits}, ${shared}, ${exclusive}, ${holders}, ${waiting}, ${waiting}, 5, 1)`,
  );
  const claims = CLAIMS.map((claim, at) => {
    const { lock, ticket, state, mode = 1, token = 0, ttl = 60_000_000 } = claim;
    const { deadline = state === 3 ? ENDED_UNTIL : SOON } = claim;
    const none = at % 2 === 0 ? "NULL" : "0";
    const ended = state === 3 ? "8, 1" : `${none}, ${none}`;
    return `(${lock}, ${ticket}, ${hex(secretOf(claim))}, ${hex(requestOf(claim))}, ${state}, ${mode}, 1, ${hex("owner")},
      ${hex('{"a":"b"}')}, NULL, 6, NULL, ${ttl}, ${deadline}, ${none}, 0, ${token}, ${token > 0 ? 7 : none}, ${ended}, ${hex("")})`;
  });
  return [
    `INSERT INTO rowlock_lock (id, name, next_ticket, last_token, held_permits, shared_holders, exclusive_holders,
       holders, waiting, waiting_permits, revision, decided_at) VALUES ${locks.join(", ")}`,
    `INSERT INTO rowlock_claim (lock_id, ticket_number, secret, request_id, state, mode, permits, owner, labels, terms,
       requested_at, wait_until, ttl, deadline, replica, provisional, fencing_token, granted_at, ended_at, end_reason,
       end_note) VALUES ${claims.join(", ")}`,
  ];
}

/** Adds held locks with ids from 101 on. */
async function addHeld(target: MigrationTarget, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => 101 + index);
  await target.run(
    `INSERT INTO rowlock_lock (id, name, next_ticket, last_token, holders, held_permits) VALUES
      ${ids.map((id) => `(${id}, ${hex(`many ${id}`)}, 2, 1, 1, 1)`).join(", ")}`,
  );
  await target.run(
    `INSERT INTO rowlock_claim (lock_id, ticket_number, secret, request_id, state, mode, permits, owner, labels, terms,
       requested_at, ttl, deadline, provisional, fencing_token, granted_at, end_note) VALUES
      ${ids.map((id) => `(${id}, 1, ${hex(`secret of ${id}`.padEnd(22, "."))}, ${hex(`of ${id}`)}, 2, 1, 1, ${hex("")}, ${hex("{}")}, NULL, 6, 60000000, ${SOON}, 0, 1, 7, ${hex("")})`).join(", ")}`,
  );
}

/** Runs `use` with the schema of the database, which is open nowhere else. */
async function withSchema(url: string, use: (schema: Schema) => Promise<void>): Promise<void> {
  const address = parseDatabaseUrl(url);
  if (address.dialect === "mysql") {
    return await withMysqlSchema(address, "be changed", (schema) => schema.inTurn(() => use(schema)));
  }
  const file = openSqliteFile(address.path);
  await use(sqliteSchema(file)).finally(() => file.close());
}

/** Brings a new database to the version before, with rows. */
async function old(url: string): Promise<void> {
  await withSchema(url, async (schema) => {
    for (const migration of before) await schema.run(migration);
    const up = async (target: MigrationTarget) => {
      for (const statement of oldRows()) await target.run(statement);
    };
    await schema.run({ name: "rows", up });
  });
}

/** Runs what comes after the migration, and opens the database. */
async function openNow(url: string): Promise<Store> {
  await migrateUp(url);
  return await openStore(url);
}

async function expectMoved(url: string): Promise<void> {
  const store = await openNow(url);
  try {
    expect(await store.checkInvariants(100)).toEqual([]);
    const views = await store.views([1n, 2n, 3n, 4n, 5n], 10);
    const tickets = ({ holders, waiters }: LockView) =>
      [holders, waiters].map((claims) => claims.map(({ ticketNumber }) => Number(ticketNumber)));
    expect(views.map(tickets)).toEqual([
      [[], []],
      [[1], []],
      [
        [1, 3],
        [4, 5],
      ],
      [[7], []],
      [[], []],
    ]);
    const keys = CLAIMS.map(({ lock, ticket }) => ({ lockId: BigInt(lock), ticketNumber: BigInt(ticket) }));
    const { claims } = await store.claims(keys);
    expect(claims).toMatchObject(
      CLAIMS.map((claim) => ({
        ticketNumber: BigInt(claim.ticket),
        secret: secretOf(claim),
        requestId: requestOf(claim),
        owner: "owner",
        labels: { a: "b" },
        fencingToken: BigInt(claim.token ?? 0),
        // An ended claim is kept for whole seconds.
        deadlineUs:
          claim.state === 3 ? 8 + 3_600_000_000 : claim.deadline === undefined ? SOON : claim.deadline,
        grantedAtUs: claim.token ? 7 : null,
        endReason: claim.state === 3 ? "released" : null,
        replica: null,
      })),
    );
    const known = ["request 1 1", "request 2 1", "\0\0of a capture", "request 3 5"];
    const found = await store.claimsByRequest([...known, "\0of a server"]);
    expect(found.claims.map(({ requestId }) => requestId)).toEqual(known);
  } finally {
    await store.close();
  }
}

/** The migration, with its statements run by `run`, which gets their numbers from 0 on. */
function withRun(run: (target: MigrationTarget, statement: string, number: number) => Promise<void>) {
  let ran = 0;
  const up = (target: MigrationTarget) =>
    moving.up({ ...target, run: (statement) => run(target, statement, ran++) });
  return { migration: { ...moving, up }, ran: () => ran };
}

describe.each(testDatabases())("on $label", ({ kind, fresh }) => {
  test("every claim is in the table of its state afterwards", async () => {
    const { url, drop } = await fresh();
    await old(url);
    await withSchema(url, (schema) => schema.run(moving));
    await expectMoved(url);
    await drop();
  });

  test("it takes no longer for a lock if there are many", async () => {
    const secondsOf = async (locks: number) => {
      const { url, drop } = await fresh();
      await old(url);
      await withSchema(url, (schema) => schema.run({ name: "many", up: (target) => addHeld(target, locks) }));
      const startedMs = performance.now();
      await withSchema(url, (schema) => schema.run(moving));
      const seconds = (performance.now() - startedMs) / 1_000;
      await drop();
      return seconds;
    };
    const few = await secondsOf(500);
    // With a search for each lock among all, it is 400 times as long.
    expect(await secondsOf(10_000)).toBeLessThan(100 * few);
  });

  test.skipIf(kind === "sqlite")("the migration may be repeated wherever it was cut off", async () => {
    let statements = Number.POSITIVE_INFINITY;
    for (let cutAt = 0; cutAt < statements; cutAt++) {
      const { url, drop } = await fresh();
      await old(url);
      const cut = withRun(async (target, statement, number) => {
        if (number === cutAt) throw new Error("cut off");
        await target.run(statement);
      });
      await expect(withSchema(url, (schema) => schema.run(cut.migration))).rejects.toThrow("cut off");
      const whole = withRun((target, statement) => target.run(statement));
      await withSchema(url, (schema) => schema.run(whole.migration));
      if (cutAt === 0) statements = whole.ran();
      await expectMoved(url);
      await drop();
    }
    expect(statements).toBeGreaterThan(8);
  });

  test.skipIf(kind === "sqlite")("it follows what older servers have done after it was cut off", async () => {
    const { url, drop } = await fresh();
    await old(url);
    const cut = withRun(async (target, statement) => {
      if (statement.startsWith("RENAME")) throw new Error("cut off");
      await target.run(statement);
    });
    await expect(withSchema(url, (schema) => schema.run(cut.migration))).rejects.toThrow("cut off");
    const goOn = async (target: MigrationTarget) => {
      // The first holder releases, and two of the shared holders; the first waiter is granted the lock.
      await target.run(`UPDATE rowlock_claim SET state = 3, deadline = ${ENDED_UNTIL}, ended_at = 8, end_reason = 1
        WHERE lock_id = 2 OR (lock_id = 3 AND state = 2)`);
      await target.run("UPDATE rowlock_lock SET holders = 0, held_permits = 0 WHERE id = 2");
      await target.run(`UPDATE rowlock_claim SET state = 2, fencing_token = 4, granted_at = 9
        WHERE lock_id = 3 AND ticket_number = 4`);
      await target.run(`UPDATE rowlock_lock SET last_token = 4, shared_holders = 0, exclusive_holders = 1, holders = 1,
        waiting = 1, waiting_permits = 1 WHERE id = 3`);
    };
    await withSchema(url, (schema) => schema.run({ name: "goes on", up: goOn }));
    await withSchema(url, (schema) => schema.run(moving));
    const store = await openNow(url);
    expect(await store.checkInvariants(100)).toEqual([]);
    const [held, shared] = await store.views([2n, 3n], 10);
    expect(held).toMatchObject({ holders: [], waiters: [] });
    expect(shared).toMatchObject({ holders: [{ ticketNumber: 4n }], waiters: [{ ticketNumber: 5n }] });
    await store.close();
    await drop();
  });
});
