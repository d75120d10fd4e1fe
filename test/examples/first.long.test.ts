// The lines that install each client work today, from the checkout: each is pasted into an empty folder, and then a
// first program of that language takes a lock. Each line also stands on the client's own page. The Java client goes
// to the user's local Maven repository, as the line says.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processStage } from "../process/stage.ts";
import { INSTALLING_MS, needed, PYTHON_ENVIRONMENT, runsFirstProgram } from "../support/pasted.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Way {
  readonly client: string;
  readonly name: string;
  /** What its user has copied from examples/first. */
  readonly files: readonly string[];
  /** What it needs beside the checkout; a machine without it skips the test, unless it is the CI. */
  readonly needs: string;
  /** What stands before its lines: an environment for Python. */
  readonly before?: string;
}

const WAYS: readonly Way[] = [
  { client: "typescript", name: "TypeScript and JavaScript", files: ["first.mjs"], needs: "npm --version" },
  {
    client: "python",
    name: "Python",
    files: ["first.py"],
    needs: "python3 -c 'import venv, ensurepip'",
    before: PYTHON_ENVIRONMENT,
  },
  { client: "go", name: "Go", files: ["first.go"], needs: "go version" },
  { client: "java", name: "Java", files: ["pom.xml", "src"], needs: "mvn --version && javac --version" },
];

const stage = processStage();

function linesFor({ name }: Way): string {
  const block = read("examples/first/README.md").split(`**${name}**`)[1];
  return /```sh\n([\s\S]*?)```/.exec(block ?? "")?.[1] ?? "";
}

for (const way of WAYS) {
  test(`the first program in ${way.name} runs in an empty folder`, {
    timeout: INSTALLING_MS,
  }, async (context) => {
    await needed(stage, way.needs, context);
    const lines = (way.before ?? "") + linesFor(way).replaceAll("~/rowlock", root);
    await runsFirstProgram(stage, way.files, lines);
  });

  test(`the page of the client for ${way.name} has the same line, and the registry's, marked`, () => {
    const page =
      read(`clients/${way.client}/README.md`).split("\n## Installing\n")[1]?.split("\n## ")[0] ?? "";
    const [line = ""] = linesFor(way).match(/^.*~\/rowlock.*$/m) ?? [];
    expect(page).toContain(`\`\`\`sh\n${line}\n\`\`\``);
    expect(page).toContain("(**not yet**)");
  });
}
