// The runs with planted faults take minutes; this one finds early that the server has moved away from under a patch, or that
// no fault and no rule has the name by which a planted fault calls it.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { patched } from "../core/planted.ts";
import { faultsNamed } from "./faults/table.ts";
import { PLANTED, SERVER } from "./planted.ts";

const patches = PLANTED.flatMap(({ fault, patches }) => patches.map((patch) => ({ fault, ...patch })));
const CHECKER = join(import.meta.dirname, "checker");

test.each(patches)("the patch of a server that $fault applies to $file", async (patch) => {
  await expect(patched(SERVER, patch)).resolves.toContain(patch.to);
});

test.each(PLANTED)("there are the faults and the rules for a server that $fault", async (planted) => {
  const { faults, caughtBy, losesCommits = false } = planted;
  const struck = faults === "none" ? [] : faultsNamed(faults);
  expect(struck.length > 0 || faults === "none").toBe(true);
  expect(struck.some((fault) => fault.losesCommits === true)).toBe(losesCommits);
  const files = (await readdir(CHECKER)).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const sources = await Promise.all(files.map((name) => readFile(join(CHECKER, name), "utf8")));
  for (const rule of caughtBy) expect(sources.join("")).toContain(`"${rule}"`);
});
