// What can happen in a small world with sets: what callers, servers and operators do, and the quiet time. There are no looks but the
// sweep's, which finds what the rows say: a look from memory only makes it sooner.
import { type Explored, exploreDesign } from "../exploration/explore.ts";
import { isBusy, type Step, underWay, withFaults } from "../exploration/transactions.ts";
import { apply, write } from "./model.ts";
import { brokenBy } from "./promises.ts";
import {
  type Claim,
  firstState,
  isIn,
  isLive,
  isNew,
  isPool,
  isWantedAt,
  mayGoOn,
  nameOf,
  namesOf,
  queueOf,
  SERVERS,
  type State,
  type World,
} from "./state.ts";

/** Throws if the world has more states. */
export function explore(world: World, statesMax: number): Explored {
  const design = {
    name: world.name,
    first: firstState(world),
    nameOf,
    apply,
    write,
    brokenBy,
    quietStep,
    stepsFrom: (state: State) => stepsFrom(world, state),
    isLeft: ({ claims }: State) => claims.some(isLive),
  };
  return exploreDesign(design, statesMax);
}

function stepsFrom(world: World, state: State): Step[] {
  const steps = [...underWay(state), ...counts(state)];
  const asked = transactions(state);
  if (!world.optimistic) steps.push(...withFaults(state, asked, null));
  else
    for (const server of SERVERS) if (!isBusy(state, server)) steps.push(...withFaults(state, asked, server));
  const change = world.changes?.[state.changed];
  if (change) steps.push(["set", ...change]);
  if (state.lapses > 0)
    for (const [index, claim] of state.claims.entries())
      if (isLive(claim) && !claim.isOver) steps.push(["time over", index]);
  return steps;
}

function transactions(state: State): Step[] {
  const steps: Step[] = [];
  for (const [index, claim] of state.claims.entries()) {
    if (isNew(claim)) steps.push(["ask", index]);
    if (!isLive(claim)) continue;
    steps.push(["end", index]);
    const names = namesOf(claim);
    if (names.length > 1) for (const name of names) steps.push(["force", index, name]);
  }
  return [...steps, ...looks(state)];
}

/** Each with all names of a claim that is over, or that the mark of a guard row is about. */
function looks(state: State): Step[] {
  const found = new Set(state.claims.filter((claim) => isLive(claim) && claim.isOver));
  for (const [name, { isDue }] of Object.entries(state.rows))
    if (isDue)
      for (const claim of isPool(name) ? mayGoOn(state, name) : headOf(state, name)) found.add(claim);
  return [...found].map((claim) => ["look", ...namesOf(claim)]);
}

function counts({ rows }: State): Step[] {
  return Object.entries(rows).flatMap(([pool, { uncounted }]) =>
    uncounted.map((lock) => ["count", pool, lock]),
  );
}

function headOf(state: State, lock: string): Claim[] {
  return queueOf(state, lock).filter((claim) => isWantedAt(state, claim, lock) !== null);
}

function quietStep(state: State): Step | undefined {
  const [left] = [...underWay(state), ...counts(state)];
  if (left) return left;
  for (const [name, { limit }] of Object.entries(state.rows)) if (limit === 0) return ["set", name, 1];
  const [look] = looks(state);
  if (look) return look;
  const held = state.claims.findIndex((claim) => isIn(claim, "held"));
  return held < 0 ? undefined : ["end", held];
}
