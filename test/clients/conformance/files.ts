// Files that the steps of a scenario write and replace, as an operator or a rotating agent would.

import { copyFile, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Files {
  /** Writes or replaces a file in one step. Resolves with its path. */
  write(name: string, content: string): Promise<string>;
  /** The same, with the content of another file. */
  copy(name: string, from: string): Promise<string>;
  remove(): Promise<void>;
}

export async function makeFiles(): Promise<Files> {
  const folder = await mkdtemp(join(tmpdir(), "rowlock-files-"));
  const replace = async (name: string, fill: (path: string) => Promise<void>) => {
    const path = join(folder, name);
    await fill(`${path}.new`);
    await rename(`${path}.new`, path);
    return path;
  };
  return {
    write: (name, content) => replace(name, (path) => writeFile(path, content)),
    copy: (name, from) => replace(name, (path) => copyFile(from, path)),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
