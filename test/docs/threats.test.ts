// Each threat of SECURITY.md names the tests that show its answer: the files exist, and a title after a colon is in
// its file.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const table =
  readFileSync(join(root, "SECURITY.md"), "utf8").split("| shown by |")[1]?.split("\n\n")[0] ?? "";
const rows = table.split("\n").filter((row) => row.startsWith("| ") && !row.startsWith("| ---"));
const shownBy = rows.map((row) => [
  row.split(" | ")[0]?.slice(2),
  row.split(" | ").at(-1)?.replace(/ \|$/, ""),
]);

test.each(shownBy)("what stands against %s is shown by tests that exist", (_threat, shown = "") => {
  const named = shown.split("; ").map((one) => /^`(test\/[\w./-]+)`(?:: (.+))?$/.exec(one));
  const faults = named.flatMap((match) => {
    const [, file = "", title] = match ?? [];
    if (!file || !existsSync(join(root, file))) return [`no test in: ${shown}`];
    const isThere = title === undefined || readFileSync(join(root, file), "utf8").includes(title);
    return isThere ? [] : [`${file} has no test "${title}"`];
  });
  expect(faults).toEqual([]);
});

test("all threats are read", () => {
  expect(shownBy.length).toBeGreaterThan(15);
});
