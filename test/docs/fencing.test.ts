// The rules of docs/clients.md for fencing, as a program: with one holder and with three, how many rightful writes each
// rule refuses, and how many late ones it takes. And no other text gives the rule for one holder as one for all.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection, type ResultSetHeader, type RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import { fencedWrite, guardedWrite } from "../../clients/typescript/examples/fenced-store.ts";
import { processStage } from "../process/stage.ts";
import { testDatabases } from "../support/database.ts";
import { startServer } from "../support/harness.ts";

const root = join(import.meta.dirname, "../..");
const ROUNDS = 20;
const stage = processStage();

const CLIENTS = readFileSync(join(root, "docs/clients.md"), "utf8");
const [, FENCED] = /```sql\n(UPDATE [^;]+);/.exec(CLIENTS) ?? [];
/** Of two accounts, in one transaction: the first with token 42, the second with token 7. */
const TRANSFER = CLIENTS.match(/^UPDATE account [^;]+/gm) ?? [];
/** Finds the lease on etl/load with token 42. */
const [CHECK = ""] = /^SELECT 1 FROM rowlock_lock [^;]+/m.exec(CLIENTS) ?? [];

/** A table that keeps one token a row, and is written by the statement of the document. */
function fencedTable() {
  const database = new DatabaseSync(":memory:");
  database.exec(
    "CREATE TABLE part (name TEXT PRIMARY KEY, value TEXT, fence INTEGER NOT NULL DEFAULT 0) STRICT",
  );
  const add = database.prepare("INSERT OR IGNORE INTO part (name) VALUES (?)");
  const statement = FENCED?.replace("'new'", ":value")
    .replace("'part-1'", ":name")
    .replaceAll("42", ":token");
  const write = database.prepare(statement ?? "");
  return (name: string, token: bigint) => {
    add.run(name);
    return write.run({ value: `by ${token}`, name, token }).changes === 1;
  };
}

/** Moves money from account/1 to account/2 by the statements of the document, and says whether that was taken. */
async function transfer(run: (sql: string) => Promise<number>, tokens: readonly bigint[]): Promise<boolean> {
  await run("BEGIN");
  let isTaken = true;
  for (const [at, sql] of TRANSFER.entries())
    isTaken &&= (await run(sql.replaceAll(/\b(42|7)\b/g, String(tokens[at])))) === 1;
  await run(isTaken ? "COMMIT" : "ROLLBACK");
  return isTaken;
}

/** Writes to a thing as the holder with this token, and says whether that was taken. */
type Write = (thing: string, token: bigint) => boolean | Promise<boolean>;

describe.each(testDatabases())("over $label", ({ fresh, server: family }) => {
  async function rulesAndLocks() {
    const url = await stage.database(fresh);
    const server = await startServer({ url });
    stage.afterwards(() => server.stop());
    const table = fencedTable();
    const rules: Record<string, Write> = {
      "one fence": (_, token) => table("all", token),
      "one fence for each thing": table,
    };
    if (family) {
      const data = await createConnection(url);
      stage.afterwards(() => data.end());
      await data.query(
        "CREATE TABLE part (k VARCHAR(64) PRIMARY KEY, value TEXT, fence BIGINT UNSIGNED DEFAULT 0)",
      );
      await data.query("INSERT INTO part (k, value) VALUES ('all', '')");
      // All holders write the same thing.
      rules["the check of the lease"] = (_, token) =>
        guardedWrite(data, "load", token, "part", "all", `${token}`);
      rules["the fence of the example, of one thing"] = (_, token) =>
        fencedWrite(data, "part", "all", `${token}`, token);
    }
    return { client: server.client, rules };
  }

  test.each([1, 3])("with a limit of %i, each rule refuses and takes what its line says", async (limit) => {
    const { client, rules } = await rulesAndLocks();
    await client.limit("load", limit);
    const refused = new Map<string, number>();
    const late = new Map<string, number>();
    const count = (of: Map<string, number>, rule: string, isSo: boolean) =>
      of.set(rule, (of.get(rule) ?? 0) + Number(isSo));
    const acquire = () => client.lease({ name: "load" });
    for (let round = 0; round < ROUNDS; round += 1) {
      const holders = [];
      for (let index = 0; index < limit; index += 1) holders.push(await acquire());
      // Whoever came last writes first: all of them hold the lock.
      for (const [index, { fencingToken }] of [...holders.entries()].reverse())
        for (const [rule, write] of Object.entries(rules))
          count(refused, rule, !(await write(`part-${index}`, fencingToken)));
      // The first holder freezes and loses its lease. Another takes over what it wrote, and then it wakes up.
      const [frozen, ...others] = holders as [Lease, ...Lease[]];
      await client.call("release", { leaseId: frozen.leaseId });
      const next = await acquire();
      for (const [rule, write] of Object.entries(rules)) {
        count(refused, rule, !(await write("part-0", next.fencingToken)));
        count(late, rule, await write("part-0", frozen.fencingToken));
      }
      for (const { leaseId } of [next, ...others]) await client.call("release", { leaseId });
    }
    expect(Object.fromEntries(late)).toEqual(Object.fromEntries(Object.keys(rules).map((rule) => [rule, 0])));
    // All but the newest of the holders that write the same thing.
    const wrongly = ROUNDS * (limit - 1);
    expect(Object.fromEntries(refused)).toEqual({
      "one fence": wrongly,
      "one fence for each thing": 0,
      ...(family && { "the check of the lease": 0, "the fence of the example, of one thing": wrongly }),
    });
  });
});

describe.each(testDatabases())("a claim for several locks over $label", ({ fresh, server: family }) => {
  const tokensOf = ({ fencingToken, also }: Lease) => [
    fencingToken,
    ...also.map((other) => other.fencingToken),
  ];

  async function started() {
    const url = await stage.database(fresh);
    const server = await startServer({ url });
    stage.afterwards(() => server.stop());
    return { client: server.client, url };
  }

  test("fences each account by its own token, and a late writer changes neither", async () => {
    const { client, url } = await started();
    const accounts = await accountsAt(family ? url : null);
    // So that the two tokens differ.
    await client.call("release", { leaseId: (await client.lease({ name: "account/1" })).leaseId });
    const late = await client.lease({ name: "account/1", also: [{ name: "account/2" }] });
    expect(tokensOf(late)).toEqual([2n, 1n]);
    expect(await transfer(accounts.run, tokensOf(late))).toBe(true);
    await client.call("release", { leaseId: late.leaseId });
    const next = await client.lease({ name: "account/2", also: [{ name: "account/1" }] });
    expect(await transfer(accounts.run, tokensOf(next).reverse())).toBe(true);
    expect(await transfer(accounts.run, tokensOf(late))).toBe(false);
    // One who has only the second account.
    await client.call("release", { leaseId: next.leaseId });
    const { fencingToken } = await client.lease({ name: "account/2" });
    await accounts.run(`UPDATE account SET fence = ${fencingToken} WHERE name = 'account/2'`);
    expect(await transfer(accounts.run, tokensOf(next).reverse())).toBe(false);
    expect(await accounts.balances()).toEqual([80, 120]);
  });

  test.runIf(family !== undefined)(
    "is found by the check at each name, and one check keeps all of it",
    async () => {
      const { client, url } = await started();
      const data = await createConnection(url);
      stage.afterwards(() => data.end());
      const isHeld = async (name: string, token: bigint) => {
        const sql = CHECK.replaceAll("42", String(token)).replace("etl/load", name);
        const [rows] = await data.query(sql.replace("FOR SHARE", "LOCK IN SHARE MODE"));
        return (rows as unknown[]).length > 0;
      };
      const names = ["account/1", "account/2"];
      await client.call("release", { leaseId: (await client.lease({ name: "account/1" })).leaseId });
      const held = await client.lease({ name: "account/1", also: [{ name: "account/2" }] });
      const [one, other] = tokensOf(held) as [bigint, bigint];
      expect([await isHeld("account/1", one), await isHeld("account/2", other)]).toEqual([true, true]);
      expect([await isHeld("account/1", other), await isHeld("account/2", one)]).toEqual([false, false]);

      // While a transaction has checked one name, nobody ends the claim at the other one.
      await data.query("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
      await data.query("BEGIN");
      expect(await isHeld("account/1", one)).toBe(true);
      const ended = client.force("account/2");
      expect(await Promise.race([ended, sleep(500, "not yet")])).toBe("not yet");
      const { lock } = await client.call("getLock", { name: "account/2" });
      expect(lock?.holderCount).toBe(1);
      await data.query("COMMIT");
      await ended;
      for (const [at, name] of names.entries())
        expect(await isHeld(name, [one, other][at] as bigint)).toBe(false);

      // A claim that waits is no lease at any of its names.
      await client.lease({ name: "account/2" });
      await client.ticket({ name: "account/1", also: [{ name: "account/2" }] });
      for (const name of names) expect(await isHeld(name, 0n)).toBe(false);
    },
  );
});

/** The accounts of the document, in SQLite or at this database, and what runs a statement there. */
async function accountsAt(url: string | null) {
  const make = [
    "CREATE TABLE account (name VARCHAR(64) PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0)",
    "INSERT INTO account (name, balance) VALUES ('account/1', 100), ('account/2', 100)",
  ];
  const balances = "SELECT balance FROM account ORDER BY name";
  if (url === null) {
    const database = new DatabaseSync(":memory:");
    for (const sql of make) database.exec(sql);
    return {
      run: async (sql: string) => Number(database.prepare(sql).run().changes),
      balances: async () =>
        database
          .prepare(balances)
          .all()
          .map(({ balance }) => balance),
    };
  }
  const data = await createConnection(url);
  stage.afterwards(() => data.end());
  for (const sql of make) await data.query(sql);
  return {
    run: async (sql: string) => (await data.query<ResultSetHeader>(sql))[0].affectedRows,
    balances: async () => (await data.query<RowDataPacket[]>(balances))[0].map(({ balance }) => balance),
  };
}

/** A paragraph, a row of a table, or a comment. */
const textsOf = (path: string) =>
  readFileSync(join(root, path), "utf8")
    .split(/\n\s*(?:\/\/|\*|#)?\s*\n|\n(?=[-|])/)
    .map((text) => text.replace(/\n\s*(?:\/\/|\*|#)?\s*/g, " "));

test("whoever says to refuse lower tokens says for whom", () => {
  const places = globSync(
    [
      "{README,docs/**/*,examples/**/*,clients/**/*,deploy/**/*}.md",
      "proto/rowlock/v1/*.proto",
      "clients/{go,java,python,typescript,shell,java-frameworks}/**/*.{go,java,py,ts}",
    ],
    {
      cwd: root,
      exclude: (path) => /node_modules|generated|target|dist|\.venv|_pb2|\.pb\.go/.test(String(path)),
    },
  );
  const isRule = (text: string) =>
    /token/i.test(text) && /\brefus/i.test(text) && /\b(lower|highest)\b(?!\()/.test(text);
  const rules = places.flatMap((path) =>
    textsOf(path).flatMap((text) => (isRule(text) ? [[path, text] as const] : [])),
  );
  expect(rules.length).toBeGreaterThan(8);
  const unbounded = rules.filter(
    ([, text]) =>
      !/fence-what-you-write|"Fence what you write" in docs|one (holder|machine|writer|of them)[^.]* at a time|several holders write/.test(
        text,
      ),
  );
  expect(unbounded).toEqual([]);
});
