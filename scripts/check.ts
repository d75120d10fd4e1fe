// The one command that checks everything fast: format, lint, types, the protobuf module, whether the generated code
// is current, and the tests that need no database server. Runs all steps side by side and names the ones that failed.
//
//   --without-tests   for whoever runs the tests anyway
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { "without-tests": { type: "boolean", default: false } } });
const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules", ".bin");
// Even outside npm, use the tools and the Node of node_modules.
const environment = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };

/** Prints what the command says only if it fails, and then in one piece: other steps print at the same time. */
async function run(command: string, ...args: string[]): Promise<boolean> {
  const said: Buffer[] = [];
  const passed = await exitedWell(command, args, (chunk) => said.push(chunk));
  if (!passed) process.stderr.write(Buffer.concat(said));
  return passed;
}

async function runTests(): Promise<boolean> {
  return await exitedWell("npm", ["run", "--silent", "test:fast"], (chunk) => process.stderr.write(chunk));
}

function exitedWell(
  command: string,
  args: readonly string[],
  hear: (chunk: Buffer) => void,
): Promise<boolean> {
  const child = spawn(command, args, {
    cwd: root,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
  });
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  return new Promise((resolve) => {
    child.on("error", ({ message }) => {
      hear(Buffer.from(`${command}: ${message}\n`));
      resolve(false);
    });
    child.on("close", (code) => resolve(code === 0));
  });
}

/** What buf generates, for the server and the TypeScript client. .ci/run checks the code of the other clients. */
const GENERATED = "proto/gen";

async function generatedCodeIsCurrent(): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-generated-"));
  try {
    if (!(await run("buf", "generate", "--output", scratch))) return false;
    if (await run("git", "diff", "--no-index", "--stat", join(scratch, GENERATED), GENERATED)) return true;
    console.error(
      `${GENERATED} is not what proto/ generates. Run \`npm run generate\` and commit the result.`,
    );
    return false;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const HOT_CODEC = "server/grpc/messages/hot-codec.ts";

async function hotCodecIsCurrent(): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-hot-codec-"));
  try {
    if (!(await run("node", "scripts/hot-codec.ts", scratch))) return false;
    const made = join(scratch, basename(HOT_CODEC));
    if (await run("git", "diff", "--no-index", "--stat", made, HOT_CODEC)) return true;
    console.error(
      `${HOT_CODEC} is not what scripts/hot-codec.ts makes. Run \`npm run generate\` and commit the result.`,
    );
    return false;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** What the server serves is what a person wrote. */
async function pageIsCurrent(): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-page-"));
  try {
    if (!(await run("node", "clients/page/scripts/bundle.ts", scratch))) return false;
    if (await run("git", "diff", "--no-index", "--stat", scratch, "clients/page/dist")) return true;
    console.error("clients/page/dist is out of date. Run `npm run generate` and commit the result.");
    return false;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** What the last check learned of the types, so that the next one reads only what has changed. */
const TYPES_CACHE = "node_modules/.cache/types.tsbuildinfo";

const steps: readonly (readonly [name: string, step: () => Promise<boolean>])[] = [
  ["format and lint", () => run("biome", "check", "--error-on-warnings", ".")],
  ["types", () => run("tsc", "--noEmit", "--incremental", "--tsBuildInfoFile", TYPES_CACHE)],
  ["types of the page", () => run("tsc", "--noEmit", "-p", "clients/page")],
  ["protobuf lint", () => run("buf", "lint")],
  ["generated code is current", generatedCodeIsCurrent],
  ["the code of the usual messages is current", hotCodecIsCurrent],
  ["the page is what its sources make", pageIsCurrent],
  ["no promise of the API is broken", () => run("buf", "breaking", "--against", "proto/promised.binpb")],
  ...(values["without-tests"] ? [] : [["fast tests", runTests] as const]),
];

const failed: string[] = [];
await Promise.all(
  steps.map(async ([name, step]) => {
    const startedMs = performance.now();
    const passed = await step();
    const tookS = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.error(`${passed ? "ok  " : "FAIL"} ${name} (${tookS} s)`);
    if (!passed) failed.push(name);
  }),
);
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
