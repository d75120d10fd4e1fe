// Servers that break a rule on purpose. A run with each must end with a broken promise that the fault explains; otherwise
// the checker is blind. README.md tells which promise, and how fast.

import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { corePatch, type Mutant, patched } from "../core/planted.ts";

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
  /** Those lose what was acknowledged: right servers, too, break promises beside those of `caughtBy`. */
  readonly losesCommits?: true;
  /** How long it is used, if not as long as any run: what only shows at the end does not need that. */
  readonly seconds?: number;
  /** The checker's rules that the fault explains. Any other one may be a false alarm of a busy machine. */
  readonly caughtBy: readonly string[];
  /** How often it must break one of them, if a busy machine breaks it now and then. */
  readonly times?: number;
}

const EXCLUSION = "never held more often than allowed";
const REPEATED = "tokens never repeat";
const FALLEN = "tokens rise";
const WON_TWICE = "a compare-and-set is won once";
const LOST = "no acknowledged change is lost";
const LINEARIZABLE = "one order explains all answers";
/** Two decisions about one lock of which the second one does not know the first one. */
const BLIND = [
  EXCLUSION,
  REPEATED,
  FALLEN,
  WON_TWICE,
  LOST,
  "no replaced value comes back",
  "no fenced write is lost",
  LINEARIZABLE,
];

export const PLANTED: readonly Planted[] = [
  {
    fault: "does not write the guard rows that it has decided about",
    faults: "none",
    caughtBy: BLIND,
    patches: [
      {
        file: "storage/mysql/transaction/write.ts",
        from: "of guardsAlike(writes.locks, moves, mayReorder))",
        to: "of guardsAlike([], moves, mayReorder).filter((alike) => alike.length > 0))",
      },
    ],
  },
  {
    fault: "reads guard rows without locking them",
    faults: "none",
    caughtBy: BLIND,
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
    fault: "writes guard rows that other servers have changed",
    faults: "none",
    caughtBy: BLIND,
    patches: [
      {
        file: "storage/mysql/transaction/write.ts",
        from: "const asKnown = onlyAsKnown ?",
        to: "const asKnown = (false as boolean) ?",
      },
    ],
  },
  {
    // A lease that is given to a waiter begins before it can be told, and has ended when its client comes for it.
    fault: "reads the clock before it locks guard rows",
    faults: "a foreign transaction holds guard rows for 1.8 s",
    serverFlags: ["--grace", "1s"],
    caughtBy: ["a waiter is told of its grant"],
    times: 10,
    patches: [
      {
        file: "storage/mysql/transaction/read.ts",
        from: "  const guardsAt = ids.length > 0 ? trip.add(guards, ids) : null;\n",
        to: "",
      },
      {
        file: "storage/mysql/transaction/read.ts",
        from: "  const metaAt = trip.add(META);\n",
        to: "  const metaAt = trip.add(META);\n  const guardsAt = ids.length > 0 ? trip.add(guards, ids) : null;\n",
      },
    ],
  },
  {
    fault: "grants to waiters without looking whether they are still there",
    faults: "a client that waits for a held lock is killed",
    caughtBy: ["grants flow again soon"],
    patches: [
      {
        file: "core/transitions.ts",
        from: '  if (claim.state === "waiting" && isKept(draft, claim)) return false;',
        to: '  if (claim.state === "waiting") return false;',
      },
    ],
  },
  {
    fault: "keeps the leases of clients that are gone",
    faults: "a client is killed and replaced",
    seconds: 30,
    caughtBy: ["nothing is held for nobody", "nobody waits for what is free"],
    patches: [
      {
        file: "core/transitions.ts",
        from: '  if (claim.state === "waiting" && isKept(draft, claim)) return false;',
        to: '  if (claim.state === "held" || isKept(draft, claim)) return false;',
      },
    ],
  },
  {
    fault: "gives a token twice",
    faults: "none",
    caughtBy: [REPEATED, FALLEN, LINEARIZABLE],
    patches: [
      {
        file: "core/lock.ts",
        from: "return last >= first ? last + 1n : first;",
        to: "return last >= first ? last + (last % 8n === 0n ? 0n : 1n) : first;",
      },
    ],
  },
  {
    fault: "ends whichever lease a lock has when somebody releases one",
    faults: "none",
    caughtBy: [EXCLUSION],
    patches: [
      {
        file: "engine/transaction/transaction.ts",
        from: '} else if ("ref" in command) {\n          claims.push(command.ref);',
        to: '} else if (command.verb === "release") holdersOf.push(lockId);\n        else if ("ref" in command) {\n          claims.push(command.ref);',
      },
      {
        file: "core/decide.ts",
        from: 'function release(draft: Draft, command: CommandOf<"release">): OutcomeOf<"release"> {\n  const claim = find(draft, command.ref);',
        to: 'function release(draft: Draft, command: CommandOf<"release">): OutcomeOf<"release"> {\n  const held = draft.claims.find(({ state }) => state === "held");\n  const claim = held ?? find(draft, command.ref);',
      },
    ],
  },
  {
    fault: "takes each call for a new one, whatever its request id",
    faults: "none",
    caughtBy: ["one request id is one claim"],
    patches: [
      {
        file: "engine/engine.ts",
        from: "            : keptRequestId(markOf(caller?.principal), requestId),",
        to: "            : SERVER_MADE_PREFIX + newSecret(),",
      },
    ],
  },
  {
    fault: "takes a change that looks like its own for its own",
    faults: "commits do not arrive",
    caughtBy: [WON_TWICE, LOST, LINEARIZABLE],
    patches: [
      {
        file: "core/decide-batch.ts",
        from: "  const left = afterEarlier(command, index, markFound, earlier);",
        to: `  const alike = earlier.map(({ outcomes }) => outcomes[index]).find((outcome) =>
    outcome?.kind === "record" && outcome.setVersion === draft.lock.record?.version);
  if (alike) return alike;
  const left = afterEarlier(command, index, markFound, earlier);`,
      },
    ],
  },
  {
    fault: "does not compare the version of a record",
    faults: "none",
    caughtBy: [WON_TWICE, LOST, LINEARIZABLE],
    patches: [
      {
        file: "core/decide.ts",
        from: '  const { expectedVersion = version } = command;\n  if (expectedVersion !== version) return { kind: "version_mismatch", version };\n  const isNewRecord',
        to: "  const isNewRecord",
      },
    ],
  },
  {
    fault: "lets a small request pass a heavy one",
    faults: "none",
    caughtBy: ["first come, first served"],
    patches: [corePatch("lets a small request pass a heavy one at the head of the queue")],
  },
  {
    fault: "lets grants take nothing of a rate",
    faults: "none",
    caughtBy: ["never granted faster than allowed"],
    patches: [
      {
        file: "core/transitions.ts",
        from: "  if (rate) lock.rateUntilUs = afterTaking(rate, lock.rateUntilUs, claim.permits, clock);\n",
        to: "",
      },
    ],
  },
  {
    fault: "gives several locks to who is first at one of them",
    faults: "none",
    caughtBy: [EXCLUSION, "no fenced write is lost"],
    patches: [corePatch("gives several locks to who is first at one of them")],
  },
  {
    fault: "gives back two of several locks",
    faults: "none",
    seconds: 20,
    caughtBy: ["several locks are taken and given back together", "nothing is held for nobody"],
    patches: [corePatch("gives back two of several locks")],
  },
  {
    fault: "tells waiters nothing of what other servers grant",
    faults: "none",
    caughtBy: ["a waiter is told of its grant"],
    times: 10,
    patches: [
      { file: "engine/subscribers/waiters.ts", from: "run: () => this.look(),", to: "run: async () => {}," },
      { file: "app.ts", from: "poke: (granted) => sender.send(granted),", to: "poke: () => {}," },
    ],
  },
  {
    fault: "runs on a database that forgets commits when it is killed",
    faults: "the database server is killed",
    caughtBy: BLIND,
    patches: [],
    databaseFlags: ["--innodb-flush-log-at-trx-commit=0"],
    serverFlags: ["--weak-durability", "true"],
  },
  {
    fault: "does not notice that an older copy of the database has taken over",
    faults: "an older copy of the rows takes over",
    losesCommits: true,
    serverFlags: ["--fail-over-pause", "3s"],
    caughtBy: [EXCLUSION, REPEATED, FALLEN],
    patches: [
      {
        file: "engine/transaction/checked-store.ts",
        from: "if (this.#isBroken(loaded)) throw new Broken(loaded);",
        to: "",
      },
    ],
  },
];

/** The patches of one of them. */
export function patchesOf(fault: string): Planted["patches"] {
  const planted = PLANTED.find((each) => each.fault === fault);
  if (!planted) throw new Error(`No server that ${fault}.`);
  return planted.patches;
}

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
