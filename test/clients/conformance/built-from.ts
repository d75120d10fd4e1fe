// Remembers from which sources a client was built, in the folder of what was built: a build takes up to a minute, and most
// runs find the sources of the last one. Whoever removes what was built removes the memory, too.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../../..");
/** What each client's `scripts/build` makes, below the client's folder. */
const MADE: Readonly<Record<string, string>> = { python: ".venv", go: "bin", java: "target" };
const FILES_BYTES_MAX = 2 ** 24;

const run = promisify(execFile);

/** Whether the last build was of these sources. false as well if that cannot be known. */
export async function isBuilt(name: string, folder: string): Promise<boolean> {
  const note = noteIn(name, folder);
  if (!note) return false;
  const [before, now] = await Promise.all([readFile(note, "utf8").catch(() => ""), sources(folder)]);
  return now !== undefined && before === now;
}

/** To be called after a build that succeeded. */
export async function noteBuilt(name: string, folder: string): Promise<void> {
  const note = noteIn(name, folder);
  const now = note && (await sources(folder));
  if (note && now) await writeFile(note, now);
}

function noteIn(name: string, folder: string): string | undefined {
  const made = MADE[name];
  return made && join(folder, made, "built-from");
}

/** A digest of the client's files and the contract; undefined: this is no repository. */
async function sources(folder: string): Promise<string | undefined> {
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", folder, "proto"];
  const listed = await run("git", listing, { cwd: ROOT, maxBuffer: FILES_BYTES_MAX }).catch(() => undefined);
  if (!listed) return undefined;
  const digest = createHash("sha256");
  for (const path of listed.stdout.split("\0").filter(Boolean).sort()) {
    // One that Git knows may be gone.
    const content = await readFile(join(ROOT, path)).catch(() => "");
    digest.update(`${path}\0${content.length}\0`).update(content);
  }
  return digest.digest("hex");
}
