// Servers that break a rule on purpose. A run with each must end with a broken promise; otherwise the checker is blind.

import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MUTANTS, type Mutant, patched } from "../core/mutants.ts";

const ROOT = join(import.meta.dirname, "../..");
export const SERVER = join(ROOT, "server");

export interface Planted {
  /** What it does wrong. */
  readonly fault: string;
  readonly patches: readonly Omit<Mutant, "fault">[];
  /** For the database server. */
  readonly databaseFlags?: readonly string[];
  readonly serverFlags?: readonly string[];
  /** Part of the names of the faults that strike meanwhile; all if it is empty, none if it is `none`. */
  readonly faults: string;
}

/** The patch of a fault that is planted into the core alone, too. */
function ofCore(fault: string): Omit<Mutant, "fault"> {
  const mutant = MUTANTS.find((each) => each.fault === fault);
  if (!mutant) throw new Error(`No core ${fault}.`);
  const { file, from, to } = mutant;
  return { file: `core/${file}`, from, to };
}

export const PLANTED: readonly Planted[] = [
  {
    fault: "writes guard rows that other servers have changed",
    faults: "none",
    patches: [
      {
        file: "storage/mysql/transaction/write.ts",
        from: "const asKnown = onlyAsKnown\n",
        to: "const asKnown = false as boolean\n",
      },
      {
        file: "storage/mysql/transaction/write.ts",
        from: "...(onlyAsKnown ? locks.flatMap(",
        to: "...((false as boolean) ? locks.flatMap(",
      },
    ],
  },
  {
    fault: "reads guard rows without locking them",
    faults: "none",
    patches: [
      {
        file: "storage/mysql/transaction/read.ts",
        from: "ORDER BY l.id FOR UPDATE`;",
        to: "ORDER BY l.id`;",
      },
      {
        file: "storage/mysql/transaction/read.ts",
        from: "const GUARDS_AT_ONCE = `$" + "{GUARDS} $" + "{NOWAIT}`",
        to: "const GUARDS_AT_ONCE = GUARDS",
      },
    ],
  },
  {
    fault: "gives a token twice",
    faults: "none",
    patches: [
      {
        file: "core/rows.ts",
        from: "return lastToken >= first ? lastToken + 1n : first;",
        to: "return lastToken >= first ? lastToken + (lastToken % 8n === 0n ? 0n : 1n) : first;",
      },
    ],
  },
  {
    fault: "lets a small request pass a heavy one",
    faults: "none",
    patches: [ofCore("lets a small request pass a heavy one at the head of the queue")],
  },
  {
    fault: "does not compare the version of a record",
    faults: "none",
    patches: [
      {
        file: "core/decide.ts",
        from: '  const { expectedVersion = version } = command;\n  if (expectedVersion !== version) return { kind: "version_mismatch", version };\n  const',
        to: "  const",
      },
    ],
  },
  {
    fault: "takes any earlier attempt for one that was committed",
    faults: "commits do not arrive",
    patches: [
      {
        file: "core/changes.ts",
        from: "markLeft !== markFound && markLeft === markNow",
        to: "markLeft !== markFound && markNow >= 0n",
      },
    ],
  },
  {
    fault: "tells waiters nothing of what other servers grant",
    faults: "none",
    patches: [
      { file: "engine/changes/waiters.ts", from: "run: () => this.look(),", to: "run: async () => {}," },
      { file: "app.ts", from: "poke: (granted) => sender.send(granted),", to: "poke: () => {}," },
    ],
  },
  {
    fault: "runs on a database that forgets commits when it is killed",
    faults: "the database server is killed",
    patches: [],
    databaseFlags: ["--innodb-flush-log-at-trx-commit=0"],
    serverFlags: ["--weak-durability", "true"],
  },
];

/** Copies the server with its patches, and returns the path of its main file. */
export async function plant({ fault, patches }: Planted, stops: AsyncDisposableStack): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), "rowlock-planted-"));
  stops.defer(() => rm(copy, { recursive: true, force: true }));
  for (const part of [
    "server",
    "migrations",
    "clients/page/dist",
    "clients/shell",
    "clients/typescript",
    "proto",
    "package.json",
  ])
    await cp(join(ROOT, part), join(copy, part), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(copy, "node_modules"));
  for (const patch of patches) {
    const source = await patched(join(copy, "server"), { fault, ...patch });
    await writeFile(join(copy, "server", patch.file), source);
  }
  return join(copy, "server/main.ts");
}
