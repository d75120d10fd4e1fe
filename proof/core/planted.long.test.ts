// Checks the property tests: each mutant is a copy of the core with one fault planted. A surviving mutant means that a
// promise is not tested.

import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { history as historyOfSets, simulateSets } from "../../test/core/few-locks.ts";
import type { Core } from "../../test/core/rows-in-memory.ts";
import { simulate } from "../../test/core/simulation.ts";
import { headStartHistory, history, sharedHistory } from "../../test/core/steps.ts";
import { seed } from "../../test/support/seed.ts";
import { CORE, MUTANTS, type Mutant, patched } from "./planted.ts";

const RUNS_MAX = 1_000;
/** A look is lost only where one is forgotten and nothing else happens at the lock. */
const RUNS_OF_SETS_MAX = 5_000;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rowlock-mutants-"));
});

afterAll(() => rm(directory, { recursive: true }));

test("a copy of the core without a fault passes", async () => {
  const core = await copyOfCore("sound");
  for (const kind of [{}, { of: "sets" }, { of: "shares" }, { of: "head starts" }] as const)
    expect(fc.defaultReportMessage(check(core, { numRuns: 20 }, kind))).toBeUndefined();
});

test.each(MUTANTS)("a core that $fault is caught", async (mutant) => {
  const core = await copyOfCore(String(MUTANTS.indexOf(mutant)), mutant);
  // No shrinking: the smallest failing history does not matter here.
  const numRuns = mutant.of === "sets" ? RUNS_OF_SETS_MAX : RUNS_MAX;
  const result = check(core, { numRuns, endOnFailure: true }, mutant);
  expect(result.failed, "a broken promise is found").toBe(true);
  // A crash of the copy would prove nothing.
  expect(result.errorInstance).not.toBeInstanceOf(TypeError);
  expect(result.errorInstance).not.toBeInstanceOf(ReferenceError);
});

function check(core: Core, options: object, kind: Pick<Mutant, "of">): fc.RunDetails<unknown> {
  return fc.check(propertyOf(core, kind) as fc.IProperty<unknown>, { seed, ...options });
}

function propertyOf(core: Core, { of }: Pick<Mutant, "of">) {
  if (of === "sets") return fc.property(historyOfSets, (steps) => simulateSets(steps, core));
  if (!of) return fc.property(history, (steps) => simulate(steps, { core }));
  // Half of them read only parts of the queue, which the reference model does not follow.
  const ofOneQueue = of === "shares" ? sharedHistory : headStartHistory;
  return fc.property(ofOneQueue, fc.constantFrom({}, { dueMax: 1 }), (steps, options) =>
    simulate(steps, { core, ...options }),
  );
}

/** Loads a fresh copy of the core from its own directory, patched if a mutant is given. */
async function copyOfCore(name: string, mutant?: Mutant): Promise<Core> {
  const copy = join(directory, name);
  await cp(CORE, copy, { recursive: true });
  if (mutant) {
    await writeFile(join(copy, mutant.file), await patched(copy, mutant));
  }
  const load = (file: string) => import(/* @vite-ignore */ pathToFileURL(join(copy, file)).href);
  return (await load("decide-batch.ts")).decideBatch;
}
