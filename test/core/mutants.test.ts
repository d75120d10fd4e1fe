// Whether the properties would notice: each mutant is a copy of the core with one fault planted by a textual patch.
// A mutant that survives means that a promise is not tested; a patch that no longer applies fails as well.

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seed } from "../support/seed.ts";
import type { Core } from "./rows-in-memory.ts";
import { simulate } from "./simulation.ts";
import { history } from "./steps.ts";

interface Mutant {
  readonly fault: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const MUTANTS: readonly Mutant[] = [
  {
    fault: "grants at once without looking at the queue",
    file: "acquire.ts",
    from: "lock.waiting === 0 && fits(",
    to: "fits(",
  },
  {
    fault: "makes a second claim for a request id whose claim has ended",
    file: "acquire.ts",
    from: "if (known) {",
    to: 'if (known && known.state !== "ended") {',
  },
  {
    fault: "forgets how many waiters stand before the one in the queue that has just come",
    file: "acquire.ts",
    from: "permitsAhead: lock.waitingPermits",
    to: "permitsAhead: lock.waiting",
  },
  {
    fault: "lets a lease run on after its end",
    file: "advance.ts",
    from: 'claim.state !== "ended" && isDue',
    to: 'claim.state === "waiting" && isDue',
  },
  {
    fault: "grants to a waiter that has lapsed",
    file: "advance.ts",
    from: 'claim.state !== "ended" && isDue',
    to: 'claim.state === "held" && isDue',
  },
  {
    fault: "lets a small request pass a heavy one at the head of the queue",
    file: "advance.ts",
    from: "    } else return;",
    to:
      "    } else if (queue[1] && fits(lock, draft.limit.limit, queue[1])) {\n" +
      "      grant(draft, queue.splice(1, 1)[0] as Claim);\n    } else return;",
  },
  {
    fault: "stops at the last waiter that it has read",
    file: "advance.ts",
    from: "draft.unfinished = !draft.queueComplete && draft.limit.limit > 0;",
    to: "draft.unfinished = false;",
  },
  {
    fault: "takes a lease to be valid in the microsecond in which it ends",
    file: "advance.ts",
    from: "claim.deadlineUs > clock.atLeastUs",
    to: "claim.deadlineUs >= clock.atLeastUs",
  },
  {
    fault: "ends a lease that may not have ended yet by a clock that is not known exactly",
    file: "advance.ts",
    from: "claim.deadlineUs > clock.atLeastUs",
    to: "claim.deadlineUs > clock.nowUs",
  },
  {
    fault: "grants when the pause after a fail-over may not be over yet",
    file: "advance.ts",
    from: "grantsFromUs <= clock.atLeastUs",
    to: "grantsFromUs <= clock.nowUs",
  },
  {
    fault: "gives leases from before they may have been asked for",
    file: "draft.ts",
    from: "nowUs: rows.nowUs",
    to: "nowUs: rows.atLeastUs",
  },
  {
    fault: "takes a jump of the clock for time that has passed",
    file: "advance.ts",
    from: "Math.max(clock.jumpedAtUs ?? 0, failOver.atUs)",
    to: "failOver.atUs",
  },
  {
    fault: "takes leases whose renewal a fail-over may have lost for expired",
    file: "advance.ts",
    from: "Math.max(clock.jumpedAtUs ?? 0, failOver.atUs)",
    to: "(clock.jumpedAtUs ?? 0)",
  },
  {
    fault: "grants to waiters while leases may be held that a fail-over has lost",
    file: "advance.ts",
    from: "mayGrant(draft) && fits(",
    to: "fits(",
  },
  {
    fault: "grants to new requests while leases may be held that a fail-over has lost",
    file: "acquire.ts",
    from: "if (isFree && mayGrant(draft)) {",
    to: "if (isFree) {",
  },
  {
    fault: "goes on with the old tokens after a fail-over",
    file: "fail-over.ts",
    from: "(lastToken > epochStart ? lastToken : epochStart) + 1n",
    to: "lastToken + (epochStart > 0n ? 1n : 1n)",
  },
  {
    fault: "takes the places of waiters whose replica has not come back yet",
    file: "advance.ts",
    from: 'claim.state === "waiting" && isKept(',
    to: 'claim.state === "ended" && isKept(',
  },
  {
    fault: "keeps a place after a jump of the clock for as long as the lease that it waits for",
    file: "advance.ts",
    from: "heldForUs : policy.attachedForUs",
    to: "heldForUs : (claim.ttlUs ?? policy.attachedForUs)",
  },
  {
    fault: "says that a lease has lapsed which ran for its whole time",
    file: "advance.ts",
    from: "return wholeEndUs === null || claim.deadlineUs < wholeEndUs;",
    to: "return true;",
  },
  {
    fault: "keeps a lease that was cut short for its whole time to live after a jump of the clock",
    file: "advance.ts",
    from: "isCutShort(claim) ? policy.graceUs : (claim.ttlUs ?? policy.graceUs);",
    to: "claim.ttlUs ?? policy.graceUs;",
  },
  {
    fault: "takes any secret for the right one",
    file: "claim.ts",
    from: "return difference === 0;",
    to: "return true;",
  },
  {
    fault: "does not find the first of two requests with one id",
    file: "decide-batch.ts",
    from: "if (claim) byRequestId.set(",
    to: "if (!claim) byRequestId.set(",
  },
  {
    fault: "goes on with commands for a lock without ending what is due there",
    file: "decide-batch.ts",
    from: "    endDue(draft);\n",
    to: "",
  },
  {
    fault: "stops where more waiters have to be read",
    file: "decide-batch.ts",
    from: "if (draft.unfinished) again",
    to: "if (!draft) again",
  },
  {
    fault: "does not write what has changed",
    file: "decide-batch.ts",
    from: "changed.push(...draft.changed)",
    to: "changed.push()",
  },
  {
    fault: "lets one permit too many be held",
    file: "fits.ts",
    from: "lock.heldPermits + asked.permits <= limit",
    to: "lock.heldPermits + asked.permits <= limit + 1",
  },
  {
    fault: "lets a reader in beside a writer",
    file: "fits.ts",
    from: "limit === 0 || lock.exclusiveHolders > 0",
    to: 'limit === 0 || (lock.exclusiveHolders > 0 && asked.mode !== "shared")',
  },
  {
    fault: "does not pause readers",
    file: "fits.ts",
    from: "if (limit === 0 ||",
    to: 'if ((limit === 0 && asked.mode !== "shared") ||',
  },
  {
    fault: "takes the shortest pattern",
    file: "limit.ts",
    from: "rule.prefix.length > best.prefix.length",
    to: "rule.prefix.length < best.prefix.length",
  },
  {
    fault: "gives the last token again when a lease comes after a wait",
    file: "transitions.ts",
    from: "lock.lastToken = nextToken(",
    to: "if (claim.deadlineUs === null) lock.lastToken = nextToken(",
  },
  {
    fault: "gives a waiter whose stream is known its whole time to live",
    file: "transitions.ts",
    from: "Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs)",
    to: "claim.replica !== null ? wholeEnd(claim, draft.nowUs) : graceEndUs",
  },
  {
    fault: "counts the time to live from when the lease is fetched",
    file: "transitions.ts",
    from: "provisional = false;\n  claim.deadlineUs = wholeEnd(claim, claim.grantedAtUs ?? draft.nowUs)",
    to: "provisional = false;\n  claim.deadlineUs = wholeEnd(claim, draft.nowUs)",
  },
  {
    fault: "takes every grant to have been fetched",
    file: "transitions.ts",
    from: "claim.provisional = true;",
    to: "claim.provisional = false;",
  },
  {
    fault: "cuts no lease without end to the grace period",
    file: "transitions.ts",
    from: "Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs)",
    to: "claim.ttlUs === null ? null : Math.min(graceEndUs, draft.nowUs + claim.ttlUs)",
  },
  {
    fault: "prolongs a lease that runs out within the grace period",
    file: "transitions.ts",
    from: "Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs)",
    to: "graceEndUs",
  },
  {
    fault: "lets signs of life prolong the longest wait",
    file: "transitions.ts",
    from: "claim.waitUntilUs === null ? untilUs : Math.min(untilUs, claim.waitUntilUs)",
    to: "untilUs",
  },
  {
    fault: "does not write a sign of life",
    file: "transitions.ts",
    from: "claim.deadlineUs ?? 0));\n  }\n  touch(draft, claim);",
    to: "claim.deadlineUs ?? 0));\n  }",
  },
  {
    fault: "keeps a waiter that gave up in the known head of the queue",
    file: "transitions.ts",
    from: "draft.queue.splice(place, 1)",
    to: "draft.queue.slice(place, 1)",
  },
  {
    fault: "counts a released lease as released twice",
    file: "decide.ts",
    from: 'if (claim.state === "ended") {\n    const ownDoing',
    to: 'if (claim.state === "waiting") {\n    const ownDoing',
  },
  {
    fault: "revives an expired lease",
    file: "decide.ts",
    from: 'if (claim.state === "held") {\n    prolong',
    to: 'if (claim.state !== "waiting") {\n    prolong',
  },
  {
    fault: "lets a replica end the wait of a client that another one has by now",
    file: "decide.ts",
    from: "claim.replica === command.replica",
    to: "command.replica > 0n",
  },
  {
    fault: "sets a limit without looking at the expected version",
    file: "decide.ts",
    from: "expectedVersion !== lock.limitVersion",
    to: "expectedVersion > lock.limitVersion",
  },
  {
    fault: "leaves what a command has freed to the next one",
    file: "decide.ts",
    from: "const outcome = apply(draft, command, known);\n  grantWaiters(draft);",
    to: "const outcome = apply(draft, command, known);",
  },
];

const CORE = new URL("../../server/core/", import.meta.url);
const RUNS_MAX = 1_000;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rowlock-mutants-"));
});

afterAll(() => rm(directory, { recursive: true }));

test("a copy of the core without a fault passes", async () => {
  const core = await copyOfCore("sound");
  const property = fc.property(history, (steps) => simulate(steps, { core }));
  fc.assert(property, { seed, numRuns: 20 });
});

test.each(MUTANTS)("a core that $fault is caught", async (mutant) => {
  const core = await copyOfCore(String(MUTANTS.indexOf(mutant)), mutant);
  const property = fc.property(history, (steps) => simulate(steps, { core }));
  // The smallest history that shows the fault is of no interest here.
  const result = fc.check(property, { seed, numRuns: RUNS_MAX, endOnFailure: true });
  expect(result.failed, "a broken promise is found").toBe(true);
  // A patch that only makes the copy crash would prove nothing.
  expect(result.errorInstance).not.toBeInstanceOf(TypeError);
  expect(result.errorInstance).not.toBeInstanceOf(ReferenceError);
});

/** Loads the core anew from a directory of its own, patched if a mutant is given. */
async function copyOfCore(name: string, mutant?: Mutant): Promise<Core> {
  const copy = join(directory, name);
  await cp(CORE, copy, { recursive: true });
  if (mutant) {
    const path = join(copy, mutant.file);
    const source = await readFile(path, "utf8");
    expect(source.split(mutant.from), "the patch applies exactly once").toHaveLength(2);
    await writeFile(
      path,
      source.replace(mutant.from, () => mutant.to),
    );
  }
  const load = (file: string) => import(/* @vite-ignore */ pathToFileURL(join(copy, file)).href);
  return (await load("decide-batch.ts")).decideBatch;
}
