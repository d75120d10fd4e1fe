// Faults to plant into the transactions, as textual patches: each is a wrong design, and the exploration of a small world has to
// find it.
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export interface Planted {
  readonly fault: string;
  readonly file: "model.ts" | "state.ts" | "explore.ts";
  readonly from: string;
  readonly to: string;
  /** The small world in which it is found, by a part of its name. */
  readonly world: string;
  /** A part of the promise that it breaks first there. */
  readonly breaks: string;
}

export const PLANTED: readonly Planted[] = [
  {
    fault: "gives back only the levels that its server knows of",
    file: "model.ts",
    from: "for (const name of [...claim.has]) giveBack(draft, claim, name);",
    to: "for (const name of levelsOf(draft.state, { ...claim, has: [] }, draft.known)) giveBack(draft, claim, name);",
    world: "a pool is made while",
    breaks: "counters are not what the claims list",
  },
  {
    fault: "begins to count the holders of a new pool before all servers know of it",
    file: "explore.ts",
    from: "&& !state.walk && isKnown",
    to: "&& !state.walk",
    world: "a pool is made while",
    breaks: "a pool has forgotten a holder",
  },
  {
    fault: "takes a new pool for counted by a walk that began before it was removed and made again",
    file: "model.ts",
    from: "&& row.countings === walk.counting",
    to: "",
    world: "made again before",
    breaks: "a pool has forgotten a holder",
  },
  {
    fault: "counts as holders of a new pool only those who hold, and not those who wait at wider ones",
    file: "model.ts",
    from: "!isPast(claim, pool)",
    to: 'claim.state !== "held"',
    world: "a narrow pool is made below",
    breaks: "a pool has forgotten a holder",
  },
  {
    fault: "counts a holder again when the walk begins again",
    file: "model.ts",
    from: "if (claim.has.includes(pool) || !",
    to: "if (!",
    world: "a pool is made while",
    breaks: "counters are not what the claims list",
  },
  {
    fault: "goes on whenever there is room, without a look at the ranks before it",
    file: "model.ts",
    from: "!mayGoOn(draft.state, name).includes(claim)",
    to: "row.given + claim.permits > row.limit",
    world: "three claims of a pool",
    breaks: "it has overtaken somebody",
  },
  {
    fault: "counts only the permits of lower ranks against the limit",
    file: "state.ts",
    from: "    room -= claim.permits;",
    to: `    room = row.limit;
    for (const other of state.claims)
      if (other.at === name || other.has.includes(name))
        if (rankOf(other, name) <= rankOf(claim, name)) room -= other.permits;`,
    world: "three claims of a pool",
    breaks: "a token was given beyond a limit",
  },
  {
    fault: "does not write down who may go on because somebody's time is over",
    file: "model.ts",
    from: "if (claim.isOver) end(draft, claim);",
    to: "if (claim.isOver) end({ ...draft, locked: new Set() }, claim);",
    world: "two locks under",
    breaks: "a look is lost",
  },
  {
    fault: "raises a limit and looks at nobody who waits",
    file: "model.ts",
    from: "    row.limit = limit;\n",
    to: "    row.limit = limit;\n    if (isPool(name)) return [name];\n",
    world: "a pool is paused",
    breaks: "a look is lost",
  },
  {
    fault: "lets one that never fits stand before the others",
    file: "state.ts",
    from: "    if (neverFits(row, claim)) return [...first, claim];\n",
    to: "",
    world: "heavy claims",
    breaks: "a look is lost",
  },
  {
    fault: "leaves those behind who wait at a pool that is removed",
    file: "state.ts",
    from: 'if (!row || row.phase === "leaving") return queue;',
    to: "if (!row) return queue;",
    world: "made again before",
    breaks: "a look is lost",
  },
  {
    fault: "gives back again for a Release that is repeated",
    file: "model.ts",
    from: 'if (what === "end" && claim && claim.state !== "ended") end(draft, claim);',
    to: `if (what === "end" && claim?.state === "ended")
      for (const name of levelsOf(state, claim, known)) lockRow(draft, name).given -= claim.permits;
    else if (what === "end" && claim) end(draft, claim);`,
    world: "two locks under",
    breaks: "counters are not what the claims list",
  },
  {
    fault: "makes a second claim for an Acquire that is repeated",
    file: "model.ts",
    from: 'if (what === "ask" && claim?.state === "new") ask(draft, claim);',
    to: 'if (what === "ask" && claim) ask(draft, Object.assign(claim, { state: "new", has: [], at: null, ranks: {} }));',
    world: "two locks under",
    breaks: "counters are not what the claims list",
  },
  {
    fault: "keeps the wider permits of a claim that comes back to a narrow pool",
    file: "model.ts",
    from: "if (!isWider(name, level)) giveBack(draft, claim, level);",
    to: "if (name === level) giveBack(draft, claim, level);",
    world: "three levels change",
    breaks: "somebody stays for ever",
  },
  {
    fault: "takes a new narrow pool while it has a wider one",
    file: "model.ts",
    from: "  if (isPast(claim, name)) return true;\n",
    to: "",
    world: "a narrow pool is made below",
    breaks: "somebody stays for ever",
  },
  {
    fault: "gives the token as soon as the narrowest pool is taken",
    file: "model.ts",
    from: "  waitAt(draft, claim, name);\n  if (!mayGoOn",
    to: "  if (claim.has.some(isPool)) return true;\n  waitAt(draft, claim, name);\n  if (!mayGoOn",
    world: "two locks under",
    breaks: "a pool has forgotten a holder",
  },
  {
    fault: "goes on to its token although a pool that it came past was paused or lowered",
    file: "model.ts",
    from: "const isStill = !isOverLimit(row);",
    to: "const isStill = row.given > 0 || !isOverLimit(row);",
    world: "a pool is paused",
    breaks: "a token was given beyond a limit",
  },
  {
    fault: "asserts the revision of its lock from memory, and not those of the pools",
    file: "model.ts",
    from: "state.remembered[server] = { step, memory, asserted };",
    to: "state.remembered[server] = { step, memory, asserted: asserted.slice(0, 1) };",
    world: "decisions from memory",
    breaks: "counters are not what the claims list",
  },
  {
    fault: "looks at a rate only as it comes past the pool",
    file: "model.ts",
    from: "if (slow) comeBack(draft, claim, slow);",
    to: "if (slow && !claim.has.includes(slow)) comeBack(draft, claim, slow);",
    world: "rates at two",
    breaks: "more was granted than the rate allows",
  },
  {
    fault: "keeps what it has taken for a try that may not wait",
    file: "model.ts",
    from: "  state.rows = before.rows;\n",
    to: "",
    world: "a try that must not",
    breaks: "counters are not what the claims list",
  },
];

export const HERE = import.meta.dirname;

/** Throws unless the text to be replaced is there exactly once. */
export async function patched({ file, from, to }: Planted): Promise<string> {
  const text = await readFile(join(HERE, file), "utf8");
  if (text.split(from).length !== 2) throw new Error(`Not there once in ${file}: ${from}`);
  return text.replace(from, () => to);
}

/** Loads a copy of the exploration with the fault, from a directory of its own. */
export async function withFault(directory: string, planted: Planted): Promise<typeof import("./explore.ts")> {
  await mkdir(directory, { recursive: true });
  for (const file of await readdir(HERE)) {
    if (!file.endsWith(".ts") || file.endsWith(".test.ts")) continue;
    await cp(join(HERE, file), join(directory, file));
  }
  await writeFile(join(directory, planted.file), await patched(planted));
  return await import(/* @vite-ignore */ pathToFileURL(join(directory, "explore.ts")).href);
}
