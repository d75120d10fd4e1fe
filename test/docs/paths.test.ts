// The documents for authors name files and folders that exist.

import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const documents = globSync(
  "{ARCHITECTURE,CONTRIBUTING,RELEASING,docs/**/*,{bench,proof,test}/**/README}.md",
  {
    cwd: root,
  },
);
const sources = globSync("{bench,clients/{shell,typescript},migrations,proof,scripts,server,test}/**/*.ts", {
  cwd: root,
  exclude: ["**/node_modules/**"],
});
const sourceNames = new Set(sources.map((path) => basename(path)));

/** A file of the project, or a folder with a slash at its end; `batch.ts` alone stands for any file of that name. */
function exists(path: string, document: string): boolean {
  const folders = ["", "server", "test", dirname(document)];
  return folders.some((folder) => existsSync(join(root, folder, path))) || sourceNames.has(path);
}

/** Folders only in the document about the code: elsewhere, `etl/` is the beginning of a lock's name. */
function pathsIn(document: string): string[] {
  const path = document === "ARCHITECTURE.md" ? /^[\w./-]+(?:\.\w+|\/)$/ : /^[\w./-]+\.(?:ts|mjs|proto|yml)$/;
  const words = [...readFileSync(join(root, document), "utf8").matchAll(/`([^`\n]+)`/g)];
  return words.map(([, word]) => word as string).filter((word) => path.test(word));
}

test("each path that a document names exists", () => {
  expect(documents).toContain("ARCHITECTURE.md");
  const missing = documents.flatMap((document) =>
    pathsIn(document)
      .filter((path) => !exists(path, document))
      .map((path) => `${document}: ${path}`),
  );
  expect(missing).toEqual([]);
  expect(pathsIn("ARCHITECTURE.md").length).toBeGreaterThan(50);
});
