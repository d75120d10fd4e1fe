// The recipes' programs as a user has them: a copy of their folder in which npm has installed the client. Made once for a run,
// by the file of tests that comes first; the others wait for it.

import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { installClient } from "../../support/installed-client.ts";
import { until } from "../../support/until.ts";

const SOURCE = join(import.meta.dirname, "../../../examples/recipes");

/** The folder. */
export async function installedRecipes(): Promise<string> {
  const made = join(inject("scratch"), "recipes");
  const making = `${made}.making`;
  await until(() => existsSync(made) || isFirst(making));
  if (!existsSync(made)) {
    try {
      const folder = join(making, "recipes");
      cpSync(SOURCE, folder, { recursive: true, filter: (path) => !path.includes("node_modules") });
      installClient(folder);
      renameSync(folder, made);
    } finally {
      // Where it has failed, the next one may find out why.
      rmSync(making, { recursive: true, force: true });
    }
  }
  return made;
}

/** To make a folder is to be the only one who does. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
