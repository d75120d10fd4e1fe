// The README contains the first example of the client for TypeScript exactly as that client's own README does, and leads
// to the README of each other client, which begins with a short one, too. The clients' tests run them.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const section = /## From your program\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? "";
/** Languages with a client package, not only a template for generated code. */
const clients = globSync("clients/*/README.md", { cwd: root })
  .map((path) => path.split("/")[1] as string)
  .filter((client) => existsSync(join(root, "clients", client, "scripts/driver")));

function firstOf(client: string) {
  const text = readFileSync(join(root, "clients", client, "README.md"), "utf8");
  const [, language = "", example = ""] = /^```(\w+)\n([\s\S]*?)^```/m.exec(text) ?? [];
  return { language, example };
}

describe("the first example", () => {
  test.each(clients)("of %s is at most ten lines, and the README leads there", (client) => {
    const { language, example } = firstOf(client);
    expect(language).not.toBe("sh");
    expect(example).not.toBe("");
    expect(example.trim().split("\n").length).toBeLessThanOrEqual(10);
    expect(section).toContain(`clients/${client}/README.md`);
  });

  test("of TypeScript stands in the README", () => {
    expect(clients).toContain("typescript");
    const { language, example } = firstOf("typescript");
    expect(section).toContain(`\`\`\`${language}\n${example}\`\`\``);
  });
});
