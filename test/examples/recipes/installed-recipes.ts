// The recipes' programs as a user has them: a copy of their folder with the client installed by npm. The first test
// file of a run makes it; the others wait for it.

import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { installClient } from "../../support/npm-packages.ts";
import { until } from "../../support/until.ts";

const SOURCE = join(import.meta.dirname, "../../../examples/recipes");

/** Returns the folder. */
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
      // After a failure, the next file may try again.
      rmSync(making, { recursive: true, force: true });
    }
  }
  return made;
}

/** Creating a folder succeeds for only one process. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
