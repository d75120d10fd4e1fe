// The recipe of a transfer between two accounts: many at once in both directions, one that dies, and tokens that are too old.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { inEachLanguage, type Language } from "./languages.ts";
import { recipeStage } from "./stage.ts";

/** What the program in the shell needs. */
const HAS_TOOLS = ["sqlite3", "jq"].every((tool) => spawnSync(tool, ["--version"]).status === 0);

inEachLanguage((language) => {
  const isMissing = language.name === "the shell" && !HAS_TOOLS;
  describe.skipIf(isMissing)("with its tools", () => suite(language));
});

function suite(language: Language): void {
  const stage = recipeStage("transfer", language);

  function accounts(balances: Readonly<Record<string, number>>) {
    const database = new DatabaseSync(join(stage.folder, "accounts.db"));
    database.exec(
      "CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER NOT NULL, fence INTEGER NOT NULL DEFAULT 0)",
    );
    const add = database.prepare("INSERT INTO account (name, balance) VALUES (?, ?)");
    for (const [name, balance] of Object.entries(balances)) add.run(name, balance);
    return {
      raise: (name: string, fence: number) =>
        database.prepare("UPDATE account SET fence = ? WHERE name = ?").run(fence, name),
      balances: () =>
        Object.fromEntries(
          database
            .prepare("SELECT name, balance FROM account ORDER BY name")
            .all()
            .map(({ name, balance }) => [name, balance]),
        ),
    };
  }

  test("transfers in both directions all move, and none waits for another in a circle", async () => {
    const { balances } = accounts({ 1: 100, 2: 100, 3: 100 });
    const runs = ["1 2 1", "2 1 2", "2 3 3", "3 2 4", "3 1 5", "1 3 6"].map((line) =>
      stage.start("transfer", line.split(" "), { WORK_SECONDS: 0.1, WAIT_SECONDS: 120 }),
    );
    for (const run of runs) expect(await run.ended, run.complaints).toBe(0);
    expect(balances()).toEqual({ 1: 100 - 1 + 2 + 5 - 6, 2: 100 + 1 - 2 - 3 + 4, 3: 100 + 3 - 4 - 5 + 6 });
  });

  test("if one account refuses the token, the other one is not changed", async () => {
    const { balances, raise } = accounts({ 11: 100, 12: 100 });
    raise("12", 2 ** 40);
    const run = stage.start("transfer", ["11", "12", "10"]);
    expect(await run.ended).not.toBe(0);
    expect(balances()).toEqual({ 11: 100, 12: 100 });
    raise("12", 0);
    await stage.ran("transfer", ["11", "12", "10"]);
    expect(balances()).toEqual({ 11: 90, 12: 110 });
  });

  test("a transfer that dies with both locks moves nothing, and others go on after its lease", async () => {
    const { balances } = accounts({ 21: 100, 22: 100 });
    const dying = stage.start("transfer", ["21", "22", "50"], { WORK_SECONDS: 600, TTL_SECONDS: 2 });
    await stage.told(/^begins/);
    const next = stage.start("transfer", ["22", "21", "1"], { WAIT_SECONDS: 120 });
    await stage.until(async () => (await stage.lock("account/21")).waiterCount === 1);
    await stage.dies(dying);
    expect(await next.ended, next.complaints).toBe(0);
    expect(balances()).toEqual({ 21: 101, 22: 99 });
  });
}
