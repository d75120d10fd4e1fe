// Goes through all states that a small world can reach, and judges each step. From each state it also plays a quiet time: no more
// faults and no more changes, whoever holds releases, and servers look where the rows say so. Then nobody may be left waiting.
import { apply, commitRemembered, leftToCount, remember } from "./model.ts";
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
  type Step,
  stateOf,
  type World,
} from "./state.ts";

export interface Explored {
  readonly states: number;
  /** The first broken promise, and the steps to it; null: none was broken. */
  readonly broken: { readonly promise: string; readonly steps: readonly string[] } | null;
}

/** Breadth first, so that the steps to a broken promise are the fewest. Throws if the world has more states. */
export function explore(world: World, statesMax: number): Explored {
  const first = nameOf(firstState(world));
  const cameFrom = new Map<string, { readonly from: string; readonly step: Step } | null>([[first, null]]);
  const isQuietWell = new Set<string>();
  const broken = (promise: string, name: string, ...more: readonly Step[]): Explored => {
    const steps = more.map(textOf);
    for (let at = cameFrom.get(name); at; at = cameFrom.get(at.from)) steps.unshift(textOf(at.step));
    return { states: cameFrom.size, broken: { promise, steps } };
  };
  // A map goes on with what is added while it is being gone through.
  for (const name of cameFrom.keys()) {
    const before = stateOf(name);
    for (const step of stepsFrom(world, before)) {
      const after = afterStep(before, name, step);
      const promise = brokenBy(before, step, after);
      if (promise) return broken(promise, name, step);
      const next = nameOf(after);
      if (!cameFrom.has(next)) cameFrom.set(next, { from: name, step });
    }
    const stuck = stuckAfter(world, name, isQuietWell);
    if (stuck) return broken(stuck.promise, name, ["(quiet)"], ...stuck.steps);
    if (cameFrom.size > statesMax) throw new Error(`${world.name}: more than ${statesMax} states`);
  }
  return { states: cameFrom.size, broken: null };
}

function textOf(step: Step): string {
  return step.join(" ");
}

/** A step may be one of these: the transaction; its answer is lost; it is lost itself; it is repeated; it is from memory. */
const COMMITS = ["answer lost:", "commit lost:"] as const;

function afterStep(before: State, name: string, step: Step): State {
  const state = stateOf(name);
  const [how, ...rest] = step as readonly [string, ...Step];
  switch (how) {
    case "answer lost:":
    case "commit lost:":
      state.cuts -= 1;
      state.repeats.push(rest);
      if (how === "answer lost:") written(state, apply(state, rest));
      return state;
    case "again:": {
      const at = before.repeats.findIndex((repeat) => textOf(repeat) === textOf(rest));
      state.repeats.splice(at, 1);
      written(state, apply(state, rest));
      return state;
    }
    case "from memory:":
      remember(state, rest, rest.at(-1) as number);
      return state;
    case "write from memory:":
      written(state, commitRemembered(state, rest[0] as number));
      return state;
    case "forget walk":
      state.walk = null;
      return state;
    default:
      written(state, apply(state, step));
      return state;
  }
}

/** Revisions have risen: a decision from memory that asserts one of these rows would write nothing, and is begun anew. */
function written(state: State, rows: readonly string[]): void {
  state.remembered = state.remembered.map((remembered) =>
    remembered?.asserted.some((row) => rows.includes(row)) ? null : remembered,
  );
}

function stepsFrom(world: World, state: State): Step[] {
  const asked = SERVERS.flatMap((server) => (isBusy(state, server) ? [] : transactionsAt(state, server)));
  const steps = [...asked, ...besides(world, state)];
  if (state.cuts > 0)
    for (const step of asked) if (step[0] !== "look") steps.push(...COMMITS.map((lost) => [lost, ...step]));
  if (world.optimistic) for (const step of asked) steps.push(["from memory:", ...step]);
  for (const server of SERVERS) if (isBusy(state, server)) steps.push(["write from memory:", server]);
  const change = world.changes?.[state.changed];
  if (change) steps.push(change);
  if (state.walk) steps.push(["forget walk"]);
  if (state.lapses > 0)
    for (const [index, claim] of state.claims.entries())
      if (isLive(claim) && !claim.isOver) steps.push(["time over", index]);
  return steps;
}

function isBusy({ remembered }: State, server: number): boolean {
  return Boolean(remembered[server]);
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
  for (const repeat of state.repeats) steps.push(["again:", ...repeat]);
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

/** Plays the quiet time from a state. null: nobody is left. `well`: states from which that is known. */
function stuckAfter(
  world: World,
  from: string,
  well: Set<string>,
): { readonly promise: string; readonly steps: readonly Step[] } | null {
  const steps: Step[] = [];
  const passed = new Set<string>();
  for (let name = from; !well.has(name); ) {
    if (passed.has(name)) return { promise: "servers look again and again, and nobody goes on", steps };
    passed.add(name);
    const before = stateOf(name);
    const step = quietStep(world, before);
    if (!step) {
      if (!before.claims.some(isLive)) break;
      return { promise: "somebody stays for ever, although nothing is in the way", steps };
    }
    const after = afterStep(before, name, step);
    steps.push(step);
    const promise = brokenBy(before, step, after);
    if (promise) return { promise, steps };
    name = nameOf(after);
  }
  for (const name of passed) well.add(name);
  return null;
}

/** Releases come last, so that whoever waits without need is seen. */
function quietStep(world: World, state: State): Step | undefined {
  for (const server of SERVERS) if (isBusy(state, server)) return ["write from memory:", server];
  for (const [name, { limit }] of Object.entries(state.rows)) if (limit === 0) return ["set", name, 1];
  const next = besides(world, state)[0];
  if (next) return next;
  for (const lock of locksToLookAt(state)) return ["look", lock, 0];
  const held = state.claims.findIndex(({ state: is }: Claim) => is === "held");
  return held < 0 ? undefined : ["end", held, 0];
}
