// The clients have the same parts under the same names: those of the table in clients/README.md.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

const camel = (part: string) => part.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
const snake = (part: string) => part.replaceAll("-", "_");

/** The file of a part in the spelling of the language. In Java, `RowlockClient` is the client and `HeldLock` a lock. */
const FILES: Readonly<Record<string, (part: string) => string>> = {
  typescript: (part) => `typescript/src/**/${part}.ts`,
  python: (part) => `python/src/rowlock/**/${snake(part)}.py`,
  go: (part) => `go/{rowlock,internal/*}/${snake(part)}.go`,
  java: (part) => `java/src/main/java/io/rowlock/{,Rowlock,Held}${camel(part)}.java`,
};

const readme = readFileSync(join(root, "clients/README.md"), "utf8");
const [, table = ""] = readme.split("| part | what it does |\n| --- | --- |\n");
const parts = [...(table.split("\n\n")[0] ?? "").matchAll(/^\| ([a-z-]+) \|/gm)].map(
  ([, part]) => part as string,
);

test("the table names the parts", () => expect(parts.length).toBeGreaterThan(20));

describe.each(Object.entries(FILES))("%s", (_, fileOf) => {
  test.each(parts)("has %s", (part) => {
    expect(globSync(fileOf(part), { cwd: join(root, "clients") })).not.toEqual([]);
  });
});
