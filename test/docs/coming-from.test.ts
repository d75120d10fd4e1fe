// Each page of docs/coming-from shows its program of examples/coming-from unchanged, beside the one before. A folder is the
// programs of one page, which shows or links each of them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = readdirSync(join(root, "docs/coming-from")).filter((page) => page !== "README.md");
const entries = readdirSync(join(root, "examples/coming-from"), { withFileTypes: true });
const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
const programs = entries.flatMap((entry) =>
  entry.isDirectory() ? programsOf(entry.name).map((file) => `${entry.name}/${file}`) : entry.name,
);

function programsOf(folder: string): string[] {
  return readdirSync(join(root, "examples/coming-from", folder)).filter((file) => file.endsWith(".ts"));
}

test.each(pages)("%s shows a program before and after, what maps to what, and what is different", (page) => {
  const text = read(`docs/coming-from/${page}`);
  const shown = programs.filter((program) =>
    text.includes(`\n${read(`examples/coming-from/${program}`)}\`\`\`\n`),
  );
  const folder = page.replace(".md", "");
  if (folders.includes(folder)) expect(shown).toContain(`${folder}/worker.ts`);
  else expect(shown).toHaveLength(1);
  for (const program of shown) expect(text).toContain(`(../../examples/coming-from/${program})`);
  const order = ["\nBefore:\n", "\nAfter, ", "\n## What maps to what\n", "\n## What is different\n"];
  const places = order.map((part) => text.indexOf(part));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places[0]).toBeGreaterThan(0);
  expect(read("docs/coming-from/README.md")).toContain(`](${page})`);
});

test("each program has a page", () => {
  expect(pages).toHaveLength(entries.length);
});

test.each(folders)("each program of %s is on its page, and they are tested", (folder) => {
  const text = read(`docs/coming-from/${folder}.md`);
  for (const program of programsOf(folder))
    expect(text).toContain(`(../../examples/coming-from/${folder}/${program})`);
  expect(existsSync(join(root, `test/examples/${folder}.long.test.ts`))).toBe(true);
});
