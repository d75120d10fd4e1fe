// The packages for npm, packed by their release commands: npm installs them into empty projects, with what they depend
// on. The server's package is packed from sources without a build.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pageFiles } from "../../../server/page/assets.ts";
import { RowlockProcess, screenOf, serveArgs } from "../../process/server-process.ts";
import { processStage } from "../../process/stage.ts";
import { reportLeftOut, testServers } from "../../support/database.ts";
import { packClient, packServer } from "../../support/npm-packages.ts";
import { INSTALLING_MS, runsFirstProgram } from "../../support/pasted.ts";
import { expectPlainUse } from "../../support/plain-use.ts";

/** The optional packages are Nodes, 120 MB each. */
const INSTALL = "npm install --no-audit --no-fund --prefer-offline --omit=optional";
const stage = processStage();

test("the client runs the first program", { timeout: INSTALLING_MS }, async () => {
  const file = packClient(stage.folder());
  const lines = `${INSTALL} ${file}\n${process.execPath} first.mjs`;
  await runsFirstProgram(stage, ["first.mjs"], lines);
});

describe("the server", () => {
  let scratch: string;
  let installed: string;
  beforeAll(() => {
    scratch = mkdtempSync(join(tmpdir(), "rowlock-package-"));
    const file = packServer(scratch, "0123456789".repeat(4));
    execFileSync("sh", ["-c", `${INSTALL} ${file}`], { cwd: scratch, stdio: "ignore" });
    installed = join(scratch, "node_modules/rowlock");
  }, INSTALLING_MS);
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const rowlock = (...args: string[]) =>
    spawnSync(process.execPath, [join(installed, "bin/rowlock.mjs"), ...args], {
      cwd: scratch,
      encoding: "utf8",
    });

  test("names the commit that it was built from, and is the command rowlock", () => {
    expect(rowlock("--version").stdout).toMatch(/^rowlock \d+\.\d+\.\d+\+0123456 /);
    const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
    const command = spawnSync("npx", ["rowlock", "--version"], {
      cwd: scratch,
      env: { ...process.env, PATH },
      encoding: "utf8",
    });
    expect(command.stdout).toBe(rowlock("--version").stdout);
  });

  const plain = (env = {}) => {
    const path = `${dirname(process.execPath)}:${process.env.PATH}`;
    return expectPlainUse({ bin: join(scratch, "node_modules/.bin"), cwd: scratch, path, env });
  };

  test("serves with its defaults: a lock is held across a restart, in a file of the folder", async () => {
    expect(await plain()).toContain("sqlite:./rowlock.db");
    expect(existsSync(join(scratch, "rowlock.db"))).toBe(true);
  });

  reportLeftOut(testServers());
  test.each(testServers())("serves over $label, where a lock is held across a restart", async ({ fresh }) => {
    const env = { ROWLOCK_DATABASE_URL: await stage.database(fresh) };
    expect(await plain(env)).toMatch(/database +M(ySQL|ariaDB)/);
  });

  test("contains its build and its migrations", () => {
    const { stdout, stderr, status } = rowlock("migrate", "up", "--database-url", "sqlite:packed.db");
    expect(stderr).toBe("");
    expect(status, stdout).toBe(0);
  });

  test("has the client of the shell in one file, which is all that the shell loads of it", () => {
    expect(globSync("**/*.js", { cwd: join(installed, "dist/clients/typescript") })).toEqual([
      "src/index.js",
    ]);
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
      const isSame = Buffer.from(await served.arrayBuffer()).equals(content);
      expect([served.status, isSame], name).toEqual([200, true]);
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
});
