// What may happen to a transaction: it is lost, or its answer is, and whoever asked asks again; or its server decides from memory
// now and writes later, if no row that it asserts was written in between.

/** One thing that happens, as words: what, and about what. */
export type Step = readonly (string | number)[];

/** A decision from memory: what the server knew as it decided, and the rows whose revisions it asserts. */
export interface Remembered {
  readonly step: Step;
  readonly memory: string;
  readonly asserted: readonly string[];
}

/** A part of each state. */
export interface Transacting {
  /** Steps whose COMMIT had no answer. Whoever asked asks again. */
  repeats: Step[];
  /** How many more COMMITs have no answer. */
  cuts: number;
  /** By server. */
  remembered: (Remembered | null)[];
}

export interface Rules<State> {
  /** The state's JSON. States that go on alike have the same name. */
  nameOf(state: State): string;
  /** Applies a step in place. Returns the guard rows that it has written. */
  apply(state: State, step: Step): readonly string[];
  /** Writes what a decision from memory has changed. What it has not written stays as others have left it. */
  write(
    state: State,
    decided: { readonly from: State; readonly to: State; readonly written: readonly string[] },
  ): void;
}

export function textOf(step: Step): string {
  return step.join(" ");
}

export function isBusy({ remembered }: Transacting, server: number): boolean {
  return Boolean(remembered[server]);
}

const COMMITS = ["answer lost:", "commit lost:"] as const;

/** The same transactions with what may happen to them. A look that is lost comes again without anybody who asks. */
export function withFaults({ cuts }: Transacting, asked: readonly Step[], server: number | null): Step[] {
  const steps = [...asked];
  if (cuts > 0)
    for (const step of asked) if (step[0] !== "look") steps.push(...COMMITS.map((lost) => [lost, ...step]));
  if (server !== null) for (const step of asked) steps.push(["from memory:", server, ...step]);
  return steps;
}

/** What is under way: a COMMIT that is repeated, and a decision from memory that is written. */
export function underWay({ repeats, remembered }: Transacting): Step[] {
  const written = remembered.flatMap((decided, server) =>
    decided ? [["write from memory:", server] as const] : [],
  );
  return [...written, ...repeats.map((repeat) => ["again:", ...repeat])];
}

/** @param name of the state before. */
export function afterStep<State extends Transacting>(rules: Rules<State>, name: string, step: Step): State {
  const state = JSON.parse(name) as State;
  const [how, ...rest] = step as readonly [string, ...Step];
  switch (how) {
    case "answer lost:":
    case "commit lost:":
      state.cuts -= 1;
      state.repeats.push(rest);
      if (how === "answer lost:") forget(state, rules.apply(state, rest));
      return state;
    case "again:": {
      const at = state.repeats.findIndex((repeat) => textOf(repeat) === textOf(rest));
      state.repeats.splice(at, 1);
      forget(state, rules.apply(state, rest));
      return state;
    }
    case "from memory:": {
      const [server, ...asked] = rest as [number, ...Step];
      state.remembered[server] = fromMemory(rules, state, asked);
      return state;
    }
    case "write from memory:":
      forget(state, writeRemembered(rules, state, rest[0] as number));
      return state;
    default:
      forget(state, rules.apply(state, step));
      return state;
  }
}

/** Revisions have risen: a decision from memory that asserts one of these rows would write nothing, and is begun anew. */
function forget(state: Transacting, written: readonly string[]): void {
  state.remembered = state.remembered.map((decided) =>
    decided?.asserted.some((row) => written.includes(row)) ? null : decided,
  );
}

/** Decides and sends nothing yet: the writes, and what they assert. */
function fromMemory<State extends Transacting>(rules: Rules<State>, state: State, step: Step): Remembered {
  const memory = rules.nameOf({ ...(JSON.parse(JSON.stringify(state)) as State), remembered: [] });
  const asserted = rules.apply(JSON.parse(memory) as State, step);
  return { step, memory, asserted };
}

function writeRemembered<State extends Transacting>(
  rules: Rules<State>,
  state: State,
  server: number,
): readonly string[] {
  const remembered = state.remembered[server];
  if (!remembered) return [];
  const [from, to] = [JSON.parse(remembered.memory) as State, JSON.parse(remembered.memory) as State];
  const written = rules.apply(to, remembered.step);
  rules.write(state, { from, to, written });
  state.remembered[server] = null;
  return written;
}
