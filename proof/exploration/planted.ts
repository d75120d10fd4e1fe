// Faults to plant into the transactions of a design, as textual patches: each is a wrong design, and the exploration of a small world
// has to find it.
import { cp, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

export interface Planted {
  readonly fault: string;
  /** From the folder of the design. */
  readonly file: "model.ts" | "state.ts" | "explore.ts" | "../exploration/transactions.ts";
  readonly from: string;
  readonly to: string;
  /** The small world in which it is found, by a part of its name. */
  readonly world: string;
  /** A part of the promise that it breaks first there. */
  readonly breaks: string;
}

/**
 * Loads a copy of the design's exploration with the fault, from a directory of its own. Throws unless the text to be replaced is
 * there exactly once.
 */
export async function withFault<Exploration>(
  directory: string,
  design: string,
  { file, from, to }: Planted,
): Promise<Exploration> {
  const copy = join(directory, basename(design));
  await cp(import.meta.dirname, join(directory, basename(import.meta.dirname)), { recursive: true });
  await cp(design, copy, { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
  const text = await readFile(join(copy, file), "utf8");
  if (text.split(from).length !== 2) throw new Error(`Not there once in ${file}: ${from}`);
  await writeFile(
    join(copy, file),
    text.replace(from, () => to),
  );
  return await import(/* @vite-ignore */ pathToFileURL(join(copy, "explore.ts")).href);
}
