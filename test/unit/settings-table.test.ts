// The table of docs/settings.md is the one that settingsTable() makes.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { settingsTable } from "../../server/config/config.ts";

test("docs/settings.md lists each setting as it is", () => {
  const settings = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
  const missing = settingsTable()
    .trimEnd()
    .split("\n")
    .filter((row) => !settings.includes(row));
  expect(missing).toEqual([]);
});
