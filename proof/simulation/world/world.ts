// Simulated time: one queue of events, run one after the other. Each event belongs to a process. What a process does in an
// event, and in all that follows before the next one, belongs to it, too: so everything that one process sends to another
// has to be an event of the other. A frozen process runs its events when it is thawed, and a dead one never.

import type { Chance } from "./chance.ts";
import { chanceOf } from "./chance.ts";

interface Queued {
  atMs: number;
  readonly order: number;
  readonly process: Process;
  run: (() => void) | null;
}

/** Cancels an event that has not run; does nothing otherwise. */
export type Cancel = () => void;

/** Wall-clock time when a world begins. */
export const BEGAN_MS = Date.UTC(2030, 0, 1);
/** What no run reaches unless something in it never ends. */
const EVENTS_MAX = 400_000;
/** Steps for one turn of the real event loop, which costs more than a step. */
const STEPS_PER_TURN = 500;

const turn = globalThis.setImmediate;

export class Process {
  readonly name: string;
  readonly chance: Chance;
  state: "running" | "frozen" | "dead" = "running";
  readonly held: Queued[] = [];
  /** Called once, when it dies. */
  readonly onDeath: (() => void)[] = [];

  constructor(name: string, seed: number) {
    this.name = name;
    this.chance = chanceOf(seed, name);
  }
}

/** The world that the fakes of this thread serve; set while it runs. */
let present: World | undefined;

export function maybeWorld(): World | undefined {
  return present;
}

export function presentWorld(): World {
  if (!present) throw new Error("No simulated world runs now.");
  return present;
}

export class World {
  readonly seed: number;
  nowMs = 0;
  /** Whose event runs. */
  current: Process;
  /** The makers of the run itself: never frozen. */
  readonly director: Process;
  readonly #heap: Queued[] = [];
  #order = 0;
  #events = 0;
  readonly #trace: string[] | undefined;

  constructor(seed: number, trace?: string[]) {
    this.seed = seed;
    this.director = new Process("director", seed);
    this.current = this.director;
    this.#trace = trace;
  }

  get eventCount(): number {
    return this.#events;
  }

  at(process: Process, inMs: number, run: () => void): Cancel {
    const order = this.#order++;
    const event: Queued = { atMs: this.nowMs + Math.max(0, inMs), order, process, run };
    this.#push(event);
    return () => {
      event.run = null;
    };
  }

  /** Resolves in an event of the process. */
  hop(process: Process, inMs: number): Promise<void> {
    return new Promise((resolve) => this.at(process, inMs, resolve));
  }

  note(line: () => string): void {
    this.#trace?.push(`${this.nowMs.toFixed(3)} ${this.current.name}: ${line()}`);
  }

  freeze(process: Process): void {
    if (process.state === "running") process.state = "frozen";
  }

  thaw(process: Process): void {
    if (process.state !== "frozen") return;
    process.state = "running";
    for (const event of process.held.splice(0)) {
      event.atMs = this.nowMs;
      this.#push(event);
    }
  }

  kill(process: Process): void {
    if (process.state === "dead") return;
    process.state = "dead";
    process.held.length = 0;
    for (const tell of process.onDeath.splice(0)) tell();
  }

  /** Runs events until `work` has settled. */
  run<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      present = this;
      let isOver = false;
      const end = (settle: () => void) => {
        if (isOver) return;
        isOver = true;
        present = undefined;
        settle();
      };
      const step = () => {
        if (isOver) return;
        try {
          if (!this.step()) throw new Error("Nothing will ever happen, and the run is not over.");
        } catch (error) {
          end(() => reject(error));
        }
      };
      const steps = () => {
        if (isOver) return;
        // Promises settle between two of these.
        for (let count = 0; count < STEPS_PER_TURN; count++) turn(step);
        turn(steps);
      };
      work().then(
        (answer) => end(() => resolve(answer)),
        (error: unknown) => end(() => reject(error)),
      );
      turn(steps);
    });
  }

  /** Runs the next event; returns false if there is none. */
  step(): boolean {
    for (;;) {
      const event = this.#pop();
      if (!event) return false;
      const { run, process } = event;
      if (!run || process.state === "dead") continue;
      if (process.state === "frozen") {
        process.held.push(event);
        continue;
      }
      if (++this.#events > EVENTS_MAX) throw new Error("The run does not end.");
      this.nowMs = Math.max(this.nowMs, event.atMs);
      this.current = process;
      event.run = null;
      run();
      return true;
    }
  }

  #push(event: Queued): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Queued;
      if (!isBefore(event, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  #pop(): Queued | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right && isBefore(right, heap[child] as Queued)) child += 1;
      if (!isBefore(heap[child] as Queued, last)) break;
      heap[index] = heap[child] as Queued;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: Queued, b: Queued): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
