// Goes through all states that a small world can reach, and judges each step. From each state it also plays a quiet time: no more
// faults and no more changes, whoever holds releases, and servers look where the rows say so. Then nobody may be left waiting.
// A state is plain data: its JSON is its name.
import { afterStep, type Rules, type Step, type Transacting, textOf } from "./transactions.ts";

/** The transactions of a design, and the world in which they are explored. */
export interface Design<State extends Transacting> extends Rules<State> {
  readonly name: string;
  readonly first: State;
  stepsFrom(state: State): readonly Step[];
  /** The next step of the quiet time. Releases come last, so that whoever waits without need is seen. */
  quietStep(state: State): Step | undefined;
  isLeft(state: State): boolean;
  /** The first broken promise; null: none. */
  brokenBy(before: State, after: State, step: Step): string | null;
}

export interface Explored {
  readonly states: number;
  /** The first broken promise, and the steps to it; null: none was broken. */
  readonly broken: { readonly promise: string; readonly steps: readonly string[] } | null;
}

/** Breadth first, so that the steps to a broken promise are the fewest. Throws if the world has more states. */
export function exploreDesign<State extends Transacting>(design: Design<State>, statesMax: number): Explored {
  const cameFrom = new Map<string, { readonly from: string; readonly step: Step } | null>();
  const isQuietWell = new Set<string>();
  const broken = (promise: string, name: string, ...more: readonly Step[]): Explored => {
    const steps = more.map(textOf);
    for (let at = cameFrom.get(name); at; at = cameFrom.get(at.from)) steps.unshift(textOf(at.step));
    return { states: cameFrom.size, broken: { promise, steps } };
  };
  cameFrom.set(design.nameOf(design.first), null);
  // A map goes on with what is added while it is being gone through.
  for (const name of cameFrom.keys()) {
    const before = JSON.parse(name) as State;
    for (const step of design.stepsFrom(before)) {
      const after = afterStep(design, name, step);
      const promise = design.brokenBy(before, after, step);
      if (promise) return broken(promise, name, step);
      const next = design.nameOf(after);
      if (!cameFrom.has(next)) cameFrom.set(next, { from: name, step });
    }
    const stuck = stuckAfter(design, name, isQuietWell);
    if (stuck) return broken(stuck.promise, name, ["(quiet)"], ...stuck.steps);
    if (cameFrom.size > statesMax) throw new Error(`${design.name}: more than ${statesMax} states`);
  }
  return { states: cameFrom.size, broken: null };
}

/** Plays the quiet time from a state. null: nobody is left. `well`: states from which that is known. */
function stuckAfter<State extends Transacting>(
  design: Design<State>,
  from: string,
  well: Set<string>,
): { readonly promise: string; readonly steps: readonly Step[] } | null {
  const steps: Step[] = [];
  const passed = new Set<string>();
  for (let name = from; !well.has(name); ) {
    if (passed.has(name)) return { promise: "servers look again and again, and nobody goes on", steps };
    passed.add(name);
    const before = JSON.parse(name) as State;
    const step = design.quietStep(before);
    if (!step) {
      if (!design.isLeft(before)) break;
      return { promise: "somebody stays for ever, although nothing is in the way", steps };
    }
    const after = afterStep(design, name, step);
    steps.push(step);
    const promise = design.brokenBy(before, after, step);
    if (promise) return { promise, steps };
    name = design.nameOf(after);
  }
  for (const name of passed) well.add(name);
  return null;
}
