// Reads the files of the page from beside the server: `npm run generate` makes them in a checkout, and a build has a
// copy. The executable has them in this place.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Files } from "./assets.ts";

/** Throws if there are none. */
export function pageFiles(): Files {
  const folder = join(import.meta.dirname, "../../clients/page/dist");
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
}
