// The rules of docs/clients.md for fencing, as a program: with one holder and with three, how many rightful writes each
// rule refuses, and how many late ones it takes. And no other text gives the rule for one holder as one for all.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createConnection } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import { fencedWrite, guardedWrite } from "../../clients/typescript/examples/fenced-store.ts";
import { processStage } from "../process/stage.ts";
import { testDatabases } from "../support/database.ts";
import { startServer } from "../support/harness.ts";

const root = join(import.meta.dirname, "../..");
const ROUNDS = 20;
const stage = processStage();

const [, FENCED] = /```sql\n(UPDATE [^;]+);/.exec(readFileSync(join(root, "docs/clients.md"), "utf8")) ?? [];

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
