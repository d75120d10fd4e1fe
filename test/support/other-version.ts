// Servers of other versions: trees of an earlier commit, and copies of this tree with changed sources. Each has the
// packages of this tree.

import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { LEVEL, LEVEL_MIN } from "../../server/core/level.ts";

const HOUSE = join(import.meta.dirname, "../..");
const NEEDED = [
  "bin",
  "clients/page",
  "clients/shell",
  "clients/typescript",
  "migrations",
  "proto",
  "server",
  "package.json",
  "tsconfig.json",
];
const run = promisify(execFile);

/** A version of Rowlock. */
export interface OtherVersion {
  /** Its `server/main.ts`. */
  readonly main: string;
  /** Its commit, or what it is. */
  readonly name: string;
}

/** What a later version has beside this one. */
export interface Later {
  readonly version: string;
  readonly level?: number;
  readonly levelMin?: number;
  /** Entries of the list of migrations, as text, each with its comma. */
  readonly migrations?: readonly string[];
}

export class OtherVersions {
  readonly #scratch = mkdtempSync(join(tmpdir(), "rowlock-version-"));

  /** Makes a later version of this tree. */
  later({ version, level = LEVEL, levelMin = LEVEL_MIN, migrations = [] }: Later): OtherVersion {
    const tree = mkdtempSync(join(this.#scratch, "later-"));
    for (const path of NEEDED) cpSync(join(HOUSE, path), join(tree, path), { recursive: true });
    symlinkSync(join(HOUSE, "node_modules"), join(tree, "node_modules"));
    edit(join(tree, "package.json"), /"version": "[^"]+"/, `"version": "${version}"`);
    const levels = join(tree, "server/core/level.ts");
    edit(levels, /LEVEL = \d+;/, `LEVEL = ${level};`);
    edit(levels, /LEVEL_MIN = \d+;/, `LEVEL_MIN = ${levelMin};`);
    edit(join(tree, "migrations/index.ts"), / },?\n?\];\n/, ` },\n${migrations.join("\n")}\n];\n`);
    return { main: join(tree, "server/main.ts"), name: `version ${version}` };
  }

  /** Unpacks the tree of a commit; undefined: this clone does not have it. */
  async ofCommit(commit: string): Promise<OtherVersion | undefined> {
    const isHere = await git("cat-file", "-e", `${commit}^{commit}`).then(
      () => true,
      () => false,
    );
    if (!isHere) return undefined;
    const tree = mkdtempSync(join(this.#scratch, "commit-"));
    const archive = join(tree, "archive.tar");
    await git("archive", `--output=${archive}`, commit);
    await run("tar", ["-x", "-f", archive, "-C", tree]);
    symlinkSync(join(HOUSE, "node_modules"), join(tree, "node_modules"));
    return { main: join(tree, "server/main.ts"), name: `commit ${commit.slice(0, 8)}` };
  }

  remove(): void {
    rmSync(this.#scratch, { recursive: true });
  }
}

/** The tag of the last release before this commit; undefined: there is none, or this clone does not know it. */
export async function lastRelease(): Promise<string | undefined> {
  return await git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").catch(() => undefined);
}

async function git(...args: string[]): Promise<string> {
  return (await run("git", args, { cwd: HOUSE })).stdout.trim();
}

function edit(path: string, from: RegExp, to: string): void {
  const text = readFileSync(path, "utf8");
  if (!from.test(text)) throw new Error(`${path} has no ${from}`);
  writeFileSync(path, text.replace(from, to));
}
