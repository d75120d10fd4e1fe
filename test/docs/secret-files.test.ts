// Lines of the documents, and of the help, that write a token, a password or a key make a file that others cannot read.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const WRITES =
  /token new\b.*>|openssl (?:rand|genrsa|genpkey)\b.*(?:>|-out)|-keyout|> *\S*(?:token|password|secret)s?\b/;
const IS_OWN = /umask 0?77|install -m 0?600/;

test("what writes a secret makes a file for its owner alone", () => {
  const paths = globSync(
    ["*.md", "{docs,deploy,examples,clients}/**/*.md", "{server/cli,clients/shell}/*.ts"],
    {
      cwd: root,
      exclude: (path) => String(path).includes("node_modules"),
    },
  );
  const blocks = paths.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    const shown = path.endsWith(".md")
      ? /^```(?:sh|bash|console)\n[\s\S]*?\n```/gm
      : /^const \w+ = `\n[^`]*`/gm;
    return [...text.matchAll(shown)].map(([block]) => [path, block] as const);
  });
  const secret = blocks.filter(([, block]) => WRITES.test(block));
  expect(secret.length).toBeGreaterThanOrEqual(5);
  expect(secret.filter(([, block]) => !IS_OWN.test(block))).toEqual([]);
});
