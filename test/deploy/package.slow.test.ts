// The published package: packed from sources without a build, unpacked as npm would, and run by this Node.

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pageFiles } from "../../server/page/page-files.ts";
import { RowlockProcess, screenOf, serveArgs } from "../process/server-process.ts";

const root = join(import.meta.dirname, "../..");
const modules = join(root, "node_modules");
const sources = [
  "bin",
  "clients/page/dist",
  "clients/shell",
  "clients/typescript",
  "migrations",
  "proto",
  "scripts",
  "server",
  "package.json",
  "tsconfig.json",
  "tsconfig.build.json",
];

let scratch: string;
let installed: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "rowlock-package-"));
  const checkout = join(scratch, "checkout");
  for (const path of [...sources, ".npmrc"]) {
    cpSync(join(root, path), join(checkout, path), { recursive: true });
  }
  symlinkSync(modules, join(checkout, "node_modules"));
  execFileSync("npm", ["run", "package", "--", "--pack-destination", scratch], {
    cwd: checkout,
    env: { ...process.env, COMMIT: "0123456789".repeat(4) },
    stdio: "ignore",
  });
  // Node does not strip types from files in a folder named node_modules.
  installed = join(scratch, "node_modules/rowlock");
  mkdirSync(installed, { recursive: true });
  const [packed] = globSync(join(scratch, "rowlock-*.tgz"));
  execFileSync("tar", ["-xzf", packed as string, "--strip-components=1", "-C", installed]);
  symlinkSync(modules, join(installed, "node_modules"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const rowlock = (...args: string[]) =>
  spawnSync(process.execPath, [join(installed, "bin/rowlock.mjs"), ...args], {
    cwd: scratch,
    encoding: "utf8",
  });

test("names the commit that it was built from", () => {
  expect(rowlock("--version").stdout).toMatch(/^rowlock \d+\.\d+\.\d+\+0123456 /);
});

test("contains its build and its migrations", () => {
  const { stdout, stderr, status } = rowlock("migrate", "up", "--database-url", "sqlite:packed.db");
  expect(stderr).toBe("");
  expect(status, stdout).toBe(0);
});

test("has the client of the shell in one file, which is all that the shell loads of it", () => {
  expect(globSync("**/*.js", { cwd: join(installed, "dist/clients/typescript") })).toEqual(["src/index.js"]);
  const { stderr, status } = rowlock("ls", "--addr", "127.0.0.1:9", "--give-up-after", "100ms");
  expect(stderr).toMatch(
    /^rowlock: No Rowlock server answered within 100 ms: 127\.0\.0\.1:9: nobody listens there/,
  );
  expect(status).toBe(69);
});

test("serves the page", async () => {
  const program = join(installed, "bin/rowlock.mjs");
  const process = new RowlockProcess(serveArgs("sqlite::memory:"), {}, program);
  const { metricsUrl } = await screenOf(process);
  for (const [name, content] of pageFiles()) {
    const served = await fetch(`${metricsUrl}/${name === "index.html" ? "" : `page/${name}`}`);
    expect([served.status, Buffer.from(await served.arrayBuffer()).equals(content)], name).toEqual([
      200,
      true,
    ]);
  }
  await process.destroy();
});

test("explains the remedy if the build was left out", () => {
  rmSync(join(installed, "dist"), { recursive: true });
  expect(rowlock("--version")).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("npm run package"),
  });
});
