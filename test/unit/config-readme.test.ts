// The README's table of settings is the one that settingsTable() makes.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { settingsTable } from "../../server/config/config.ts";

test("the README lists each setting as it is", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const missing = settingsTable()
    .trimEnd()
    .split("\n")
    .filter((row) => !readme.includes(row));
  expect(missing).toEqual([]);
});
