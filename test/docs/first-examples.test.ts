// The README contains the first example of each client exactly as the client's own README does; the clients' tests
// run it.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const section = /## From the shell, and from your language\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? "";
/** Languages with a client package, not only a template for generated code. */
const clients = globSync("clients/*/README.md", { cwd: root })
  .map((path) => path.split("/")[1] as string)
  .filter((client) => existsSync(join(root, "clients", client, "scripts/driver")));

describe("the first example", () => {
  test.each(clients)("of %s is at most ten lines, and stands in the README", (client) => {
    const text = readFileSync(join(root, "clients", client, "README.md"), "utf8");
    const [, language = "", example = ""] = /^```(\w+)\n([\s\S]*?)^```/m.exec(text) ?? [];
    expect(language).not.toBe("sh");
    expect(example.trim().split("\n").length).toBeLessThanOrEqual(10);
    expect(section).toContain(`clients/${client}/README.md`);
    expect(section).toContain(`\`\`\`${language}\n${example}\`\`\``);
  });

  test("exists for at least one client", () => {
    expect(clients).toContain("typescript");
  });
});
