// `npm run api-docs` makes the pages of each client's API in api/, each by its language's own tool: TypeDoc, pdoc, go doc
// and javadoc. The pages are not committed. A client whose toolchain is missing is named; with --require-all that is a
// failure, and so is a tool that makes no page of the client's main type.

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** TypeDoc is in package.json beside this file. */
const PDOC = "pdoc==16.0.0";

const own = import.meta.dirname;
const root = join(own, "../..");
const api = join(root, "api");

interface Pages {
  /** What must run, or the client is left out. */
  readonly needs: readonly [command: string, ...args: string[]];
  make(out: string): void;
  /** A page, and what it must have. */
  readonly holds: readonly [page: string, text: string];
}

function run(command: string, args: readonly string[], cwd: string, env: Record<string, string> = {}): void {
  execFileSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  });
}

/** The sources of what package.json exports. */
function exportsOfTypescript(): string[] {
  const manifest = JSON.parse(readFileSync(join(root, "clients/typescript/package.json"), "utf8"));
  return Object.values<{ types: string }>(manifest.exports).map(({ types }) =>
    types.replace("./dist/", "src/").replace(".d.ts", ".ts"),
  );
}

const CLIENTS: Readonly<Record<string, Pages>> = {
  typescript: {
    needs: ["npm", "--version"],
    make(out) {
      // Installed at its first use, as few need it.
      if (!existsSync(join(own, "node_modules"))) run("npm", ["ci"], own);
      const flags = [
        "--tsconfig",
        "tsconfig.json",
        "--readme",
        "README.md",
        "--excludePrivate",
        "--excludeInternal",
      ];
      const links = [
        "--gitRevision",
        "main",
        "--sourceLinkTemplate",
        "https://github.com/rowlock/rowlock/blob/{gitRevision}/{path}#L{line}",
      ];
      const typedoc = join(own, "node_modules/typedoc/bin/typedoc");
      const all = [
        typedoc,
        ...flags,
        ...links,
        "--disableGit",
        "--basePath",
        root,
        "--out",
        out,
        ...exportsOfTypescript(),
      ];
      run(process.execPath, all, join(root, "clients/typescript"));
    },
    holds: ["functions/clients_typescript_src.connect.html", "RowlockClient"],
  },
  python: {
    needs: [join(root, "clients/python/.venv/bin/python"), "--version"],
    make(out) {
      const python = join(root, "clients/python/.venv/bin/python");
      const tools = join(own, "node_modules/.pdoc");
      const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", tools, PDOC];
      if (!existsSync(tools)) run(python, pip, own);
      const env = { PYTHONPATH: tools };
      run(
        python,
        ["-m", "pdoc", "--output-directory", out, "rowlock", "rowlock.aio", "rowlock.testing", "!rowlock.v1"],
        join(root, "clients/python"),
        env,
      );
    },
    holds: ["rowlock.html", "LockLost"],
  },
  go: {
    needs: ["go", "version"],
    make(out) {
      mkdirSync(out, { recursive: true });
      for (const module of ["clients/go", "clients/go/rowlockotel"]) {
        const cwd = join(root, module);
        const list = ["list", "-f", "{{.Name}} {{.ImportPath}}", "./..."];
        for (const line of execFileSync("go", list, { cwd, encoding: "utf8" }).trim().split("\n")) {
          const [name = "", path = ""] = line.split(" ");
          if (name === "main" || name === "rowlockv1" || /\/(internal|examples)\//.test(path)) continue;
          writeFileSync(join(out, `${name}.txt`), execFileSync("go", ["doc", "-all", path], { cwd }));
        }
      }
    },
    holds: ["rowlock.txt", "func (c *Client) WithLock("],
  },
  java: {
    needs: ["mvn", "--version"],
    make(out) {
      const cwd = join(root, "clients/java");
      run("mvn", ["-q", "-B", "-Dstyle.color=never", "javadoc:javadoc"], cwd);
      cpSync(join(cwd, "target/reports/apidocs"), out, { recursive: true });
    },
    holds: ["io/rowlock/RowlockClient.html", "withLock"],
  },
};

const isRequired = process.argv.includes("--require-all");
for (const [client, { needs, make, holds }] of Object.entries(CLIENTS)) {
  const [command, ...args] = needs;
  if (spawnSync(command, args, { stdio: "ignore" }).status !== 0) {
    console.error(`${client}: left out, as there is no ${command}`);
    if (isRequired) process.exitCode = 1;
    continue;
  }
  const out = join(api, client);
  rmSync(out, { recursive: true, force: true });
  make(out);
  const [page, text] = holds;
  if (!readFileSync(join(out, page), "utf8").includes(text)) throw new Error(`${out}/${page} has no ${text}`);
  console.error(`${client}: ${out}`);
}
