// What can happen in a small world with pools: what callers, servers and operators do, and the quiet time.
import { type Explored, exploreDesign } from "../exploration/explore.ts";
import { isBusy, type Step, underWay, withFaults } from "../exploration/transactions.ts";
import { apply, leftToCount, write } from "./model.ts";
import { brokenBy } from "./promises.ts";
import {
  type Claim,
  firstState,
  type GuardRow,
  isLive,
  isPool,
  isRateReady,
  mayGoOn,
  nameOf,
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
    stepsFrom: (state: State) => stepsFrom(world, state),
    quietStep: (state: State) => quietStep(world, state),
    isLeft: ({ claims }: State) => claims.some(isLive),
  };
  return exploreDesign(design, statesMax);
}

function stepsFrom(world: World, state: State): Step[] {
  const steps = [...underWay(state), ...besides(world, state)];
  for (const server of SERVERS) {
    if (isBusy(state, server)) continue;
    const asked = transactionsAt(state, server);
    steps.push(...withFaults(state, asked, world.optimistic ? server : null));
  }
  const change = world.changes?.[state.changed];
  if (change) steps.push(change);
  if (state.walk) steps.push(["forget walk"]);
  if (state.lapses > 0)
    for (const [index, claim] of state.claims.entries())
      if (isLive(claim) && !claim.isOver) steps.push(["time over", index]);
  return steps;
}

/** What a server may do now. Two servers that know the same rules and have nothing under way do the same. */
function transactionsAt(state: State, server: number): Step[] {
  const { claims, knows, remembered } = state;
  if (server > 0 && remembered.every((one) => !one) && String(knows[0]) === String(knows[server])) return [];
  const steps: Step[] = [];
  for (const [index, claim] of claims.entries()) {
    if (claim.state === "new") steps.push(["ask", index, server]);
    else if (isLive(claim)) steps.push(["end", index, server]);
  }
  for (const lock of locksToLookAt(state)) steps.push(["look", lock, server]);
  return steps;
}

/** What a sweep finds, which needs no memory of an earlier look: locks with a claim that is over, and with one that may go on. */
function locksToLookAt(state: State): Set<string> {
  const locks = new Set<string>();
  for (const claim of state.claims) if (isLive(claim) && claim.isOver) locks.add(claim.lock);
  for (const [name, row] of Object.entries(state.rows))
    if (row.isDue && isRateReady(row)) for (const { lock } of mayGoOn(state, name)) locks.add(lock);
  return locks;
}

/** What happens without a call: time passes, rules are read, holders are counted, and what has left is dropped. */
function besides(world: World, state: State): Step[] {
  const steps: Step[] = [];
  const pools = Object.keys(state.rows).filter(isPool).sort();
  for (const server of SERVERS)
    if (!isBusy(state, server) && String(state.knows[server]) !== String(pools))
      steps.push(["learn rules", server]);
  for (const pool of pools) {
    const row = state.rows[pool] as GuardRow;
    if (row.allowed !== null && row.allowed < (world.rates?.[pool] ?? 0)) steps.push(["rate back", pool]);
    const isKnown = state.knows.every((known) => known.includes(pool));
    if (row.phase === "counting" && !state.walk && isKnown) steps.push(["begin counting", pool]);
    if (row.phase === "leaving" && row.given === 0 && row.waiting === 0) steps.push(["drop", pool]);
  }
  if (state.walk) {
    const left = leftToCount(state);
    for (const lock of left) steps.push(["count", lock]);
    if (left.length === 0) steps.push(["end counting"]);
  }
  return steps;
}

/** Releases come last, so that whoever waits without need is seen. */
function quietStep(world: World, state: State): Step | undefined {
  const [left] = underWay(state);
  if (left) return left;
  for (const [name, { limit }] of Object.entries(state.rows)) if (limit === 0) return ["set", name, 1];
  const next = besides(world, state)[0];
  if (next) return next;
  for (const lock of locksToLookAt(state)) return ["look", lock, 0];
  const held = state.claims.findIndex(({ state: is }: Claim) => is === "held");
  return held < 0 ? undefined : ["end", held, 0];
}
