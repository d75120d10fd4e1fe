// The pages of docs/recipes show the programs of examples/recipes unchanged, each page in one language, and link to those in
// the other two. Each program is there in all three languages, and each recipe has an index line and tests.

import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const folders = readdirSync(join(root, "examples/recipes"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "node_modules")
  .map(({ name }) => name);
const pages = globSync("docs/recipes/*.md", { cwd: root }).map((path) => basename(path, ".md"));
/** The language tag of a code block, by file extension. */
const FENCES: Readonly<Record<string, string>> = { ts: "ts", py: "python", sh: "sh" };

const read = (path: string) => readFileSync(join(root, path), "utf8");

test("each recipe has a page, and each page a recipe", () => {
  expect(pages.filter((page) => page !== "README").sort()).toEqual(folders.sort());
});

describe.each(folders)("%s", (recipe) => {
  const programs = readdirSync(join(root, "examples/recipes", recipe));
  const page = read(`docs/recipes/${recipe}.md`);
  const fences = new Set(Array.from(page.matchAll(/^```(ts|python|sh)$/gm), ([, fence]) => fence));

  test("its page shows one language", () => {
    expect([...fences]).toHaveLength(1);
  });

  test.each(programs)("%s stands on its page as it is or is linked there, and is short", (program) => {
    const source = read(`examples/recipes/${recipe}/${program}`);
    const fence = FENCES[program.split(".")[1] as string];
    const link = `](../../examples/recipes/${recipe}/${program})`;
    expect(page).toContain(fences.has(fence) ? `\n\`\`\`${fence}\n${source}\`\`\`\n` : link);
    expect(source.split("\n").length).toBeLessThanOrEqual(70);
  });

  test("is there in TypeScript, Python and the shell", () => {
    const names = new Set(programs.map((program) => program.split(".")[0]));
    expect([...programs].sort()).toEqual(
      [...names].flatMap((name) => Object.keys(FENCES).map((ending) => `${name}.${ending}`)).sort(),
    );
  });

  test("is in the index, and is tested", () => {
    expect(read("docs/recipes/README.md")).toContain(`](${recipe}.md)`);
    expect(existsSync(join(root, `test/examples/recipes/${recipe}.long.test.ts`))).toBe(true);
  });
});
