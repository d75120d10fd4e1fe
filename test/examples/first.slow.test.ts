// The lines that install each client work today, from the checkout: each is pasted into an empty folder, and then a
// first program of that language takes a lock. Each line also stands on the client's own page. The Java client goes
// to the user's local Maven repository, as the line says.

import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processStage } from "../process/stage.ts";
import { freshSqlite } from "../support/database.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
/** Downloads, and a compiler on a machine with other work. */
const INSTALLING_MS = 400_000;

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
    before: "python3 -m venv .venv\n. .venv/bin/activate\nexport PIP_DISABLE_PIP_VERSION_CHECK=1\n",
  },
  { client: "go", name: "Go", files: ["first.go"], needs: "go version" },
  { client: "java", name: "Java", files: ["pom.xml", "src"], needs: "mvn --version && javac --version" },
];

const stage = processStage();

/** Runs shell lines to their end. */
async function pasted(lines: string, cwd: string, env: Record<string, string> = {}) {
  const shell = spawn("sh", ["-e", "-c", lines], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let said = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.on("data", (chunk) => (said += chunk));
  stage.afterwards(() => endGroup(shell.pid as number));
  const code = await new Promise((resolve) => shell.on("close", resolve));
  return { code, said };
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function linesFor({ name }: Way): string {
  const block = read("examples/first/README.md").split(`**${name}**`)[1];
  return /```sh\n([\s\S]*?)```/.exec(block ?? "")?.[1] ?? "";
}

for (const way of WAYS) {
  test(`the first program in ${way.name} runs in an empty folder`, {
    timeout: INSTALLING_MS,
  }, async (context) => {
    const isThere = (await pasted(way.needs, root)).code === 0;
    if (!process.env.CI) context.skip(!isThere, `there is no ${way.needs}`);
    const server = await stage.serving(await stage.database(freshSqlite));
    const folder = mkdtempSync(join(tmpdir(), "rowlock-first-"));
    stage.afterwards(() => rmSync(folder, { recursive: true, force: true }));
    for (const file of way.files)
      cpSync(join(root, "examples/first", file), join(folder, file), { recursive: true });
    const lines = (way.before ?? "") + linesFor(way).replaceAll("~/rowlock", root);
    const { code, said } = await pasted(lines, folder, { ROWLOCK_ADDR: server.grpcAddress });
    expect(said).toContain("alone, with fencing token 1");
    expect(code).toBe(0);
  });

  test(`the page of the client for ${way.name} has the same line, and the registry's, marked`, () => {
    const page =
      read(`clients/${way.client}/README.md`).split("\n## Installing\n")[1]?.split("\n## ")[0] ?? "";
    const [line = ""] = linesFor(way).match(/^.*~\/rowlock.*$/m) ?? [];
    expect(page).toContain(`\`\`\`sh\n${line}\n\`\`\``);
    expect(page).toContain("(**not yet**)");
  });
}
