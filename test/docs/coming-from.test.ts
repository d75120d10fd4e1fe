// Each page of docs/coming-from shows its program of examples/coming-from unchanged, beside the one before.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pages = readdirSync(join(root, "docs/coming-from")).filter((page) => page !== "README.md");
const programs = readdirSync(join(root, "examples/coming-from"));

test.each(pages)("%s shows a program before and after, what maps to what, and what is different", (page) => {
  const text = read(`docs/coming-from/${page}`);
  const shown = programs.filter((program) =>
    text.includes(`\n${read(`examples/coming-from/${program}`)}\`\`\`\n`),
  );
  expect(shown).toHaveLength(1);
  expect(text).toContain(`(../../examples/coming-from/${shown[0]})`);
  const order = ["\nBefore:\n", "\nAfter, ", "\n## What maps to what\n", "\n## What is different\n"];
  const places = order.map((part) => text.indexOf(part));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places[0]).toBeGreaterThan(0);
  expect(read("docs/coming-from/README.md")).toContain(`](${page})`);
});

test("each program has a page", () => {
  expect(pages).toHaveLength(programs.length);
});
