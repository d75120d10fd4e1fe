// The one command that checks everything fast: format, lint, types, the protobuf module, whether the generated code
// is current, and the tests that need no database server. Runs every step and names the ones that failed.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules", ".bin");
// Even outside npm, use the tools and the Node of node_modules.
const environment = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };

function run(command: string, ...args: string[]): boolean {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    env: environment,
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  if (error !== undefined) console.error(`${command}: ${error.message}`);
  return status === 0;
}

/** What each of buf's templates generates, relative to the root. .ci/run checks the code of the other clients. */
const GENERATED: Readonly<Record<string, string>> = {
  "buf.gen.yaml": "proto/gen",
  "clients/typescript/buf.gen.yaml": "clients/typescript/gen",
};

function generatedCodeIsCurrent(): boolean {
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-generated-"));
  try {
    const templates = Object.keys(GENERATED);
    if (!templates.every((template) => run("buf", "generate", "--template", template, "--output", scratch)))
      return false;
    const old = Object.values(GENERATED).filter(
      (path) => !run("git", "diff", "--no-index", "--stat", join(scratch, path), path),
    );
    if (old.length === 0) return true;
    console.error(
      `${old.join(" and ")}: not what proto/ generates. Run \`npm run generate\` and commit the result.`,
    );
    return false;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const steps: readonly [name: string, step: () => boolean][] = [
  ["format and lint", () => run("biome", "check", "--error-on-warnings", ".")],
  ["types", () => run("tsc", "--noEmit")],
  ["protobuf lint", () => run("buf", "lint")],
  ["no promise of the API is broken", () => run("buf", "breaking", "--against", "proto/promised.binpb")],
  ["generated code is current", generatedCodeIsCurrent],
  ["fast tests", () => run("npm", "run", "--silent", "test:fast")],
];

const failed: string[] = [];
for (const [name, step] of steps) {
  const startedMs = performance.now();
  const passed = step();
  const tookS = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.error(`${passed ? "ok  " : "FAIL"} ${name} (${tookS} s)`);
  if (!passed) failed.push(name);
}
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
