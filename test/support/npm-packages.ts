// The packages for npm, packed from copies of their sources by their release commands (RELEASING.md), and the client of
// TypeScript beside a program, as npm would put it there.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const modules = join(root, "node_modules");

interface Package {
  /** The folder of its package.json. */
  readonly folder: string;
  /** What its build reads. */
  readonly sources: readonly string[];
  readonly release: readonly string[];
}

const SERVER: Package = {
  folder: ".",
  sources: [
    ...[
      "bin",
      "clients/page/dist",
      "clients/shell",
      "clients/typescript",
      "migrations",
      "proto",
      "scripts",
      "server",
    ],
    ...["package.json", "tsconfig.json", "tsconfig.build.json", ".npmrc", "README.md", "LICENSE"],
  ],
  release: ["run", "package", "--"],
};

const CLIENT: Package = {
  folder: "clients/typescript",
  sources: [
    ...["src", "gen", "scripts", "package.json", "tsconfig.json", "README.md", "LICENSE"].map(
      (path) => `clients/typescript/${path}`,
    ),
    "tsconfig.json",
  ],
  release: ["pack", "--ignore-scripts=false"],
};

/** Packs the server, as built from this commit, into a folder, and returns the path of the package. */
export function packServer(into: string, commit: string): string {
  return packed(SERVER, into, { COMMIT: commit });
}

/** Packs the client into a folder, and returns the path of the package. */
export function packClient(into: string): string {
  return packed(CLIENT, into);
}

function packed(
  { folder, sources, release }: Package,
  into: string,
  env: Record<string, string> = {},
): string {
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-pack-"));
  try {
    // Some folders are links to folders outside.
    for (const path of sources)
      cpSync(join(root, path), join(scratch, path), { recursive: true, dereference: true });
    symlinkSync(modules, join(scratch, "node_modules"));
    execFileSync("npm", [...release, "--pack-destination", into], {
      cwd: join(scratch, folder),
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const { name, version } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  return join(into, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
}

/** Installs the client into the `node_modules` of this folder, without asking a registry. */
export function installClient(program: string): void {
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-client-"));
  const installed = join(program, "node_modules/@rowlock/client");
  try {
    mkdirSync(installed, { recursive: true });
    execFileSync("tar", ["-xzf", packClient(scratch), "--strip-components=1", "-C", installed]);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  for (const needed of Object.keys(dependencies)) {
    mkdirSync(join(program, "node_modules", needed, ".."), { recursive: true });
    symlinkSync(join(modules, needed), join(program, "node_modules", needed));
  }
}
