// Which build this is: the version of the package, with the commit as build metadata if it is known, `0.1.0+9c4bf8e`. A
// build has the commit in a file; a checkout has it in .git, which this reads without running git.

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const COMMIT = /^[0-9a-f]{40,64}$/;
const SHOWN_CHARACTERS = 7;
/** The file with the commit, in the folder of a build. */
export const COMMIT_FILE = "commit";

/** Of a checkout, or of a build, whose `server` folder lies one level deeper. `unknown`: there is no package.json. */
export function versionOf(folder: string): string {
  const isBuild = !existsSync(join(folder, "../package.json"));
  const root = join(folder, isBuild ? "../.." : "..");
  const manifest = textOf(join(root, "package.json"));
  if (manifest === null) return "unknown";
  const { version } = JSON.parse(manifest) as { version: string };
  const commit = isBuild ? commitIn(textOf(join(folder, "..", COMMIT_FILE)) ?? "") : commitOf(root);
  return commit === null ? version : `${version}+${commit.slice(0, SHOWN_CHARACTERS)}`;
}

/** The commit that is checked out in this folder; null: it is no checkout, or git keeps the commit elsewhere. */
export function commitOf(root: string): string | null {
  const link = /^gitdir: (.+)$/.exec(textOf(join(root, ".git")) ?? "")?.[1];
  const own = link === undefined ? join(root, ".git") : resolve(root, link);
  const head = textOf(join(own, "HEAD")) ?? "";
  const ref = /^ref: (.+)$/.exec(head)?.[1];
  if (ref === undefined) return commitIn(head);
  // A worktree has its own HEAD, and shares the branches.
  const shared = resolve(own, textOf(join(own, "commondir")) ?? ".");
  const packed = textOf(join(shared, "packed-refs")) ?? "";
  const line = packed.split("\n").find((each) => each.endsWith(` ${ref}`));
  return commitIn(textOf(join(shared, ref)) ?? line?.split(" ")[0] ?? "");
}

/** null: the text is no commit. */
export function commitIn(text: string): string | null {
  return COMMIT.test(text) ? text : null;
}

/** null: the file cannot be read. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
}
