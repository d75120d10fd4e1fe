// Runs seeds on several threads.

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { type Mutant, patched } from "../core/planted.ts";
import type { Breach } from "../faults/checker/breach.ts";
import { SERVER } from "../faults/planted.ts";
import type { Short } from "./shorten.ts";
import type { Planted } from "./store/sim-store.ts";

/** What differs in the server on purpose. */
export interface Difference {
  readonly fault: string;
  readonly patches?: readonly Omit<Mutant, "fault">[];
  readonly store?: Planted;
}

export interface WorkerOptions {
  readonly sources: readonly { readonly file: string; readonly source: string }[];
  readonly planted: Planted;
}

export type Asked =
  | { readonly ask: "run"; readonly from: number; readonly count: number; readonly stopsAtBreach: boolean }
  | { readonly ask: "history"; readonly seed: number }
  | { readonly ask: "shorten"; readonly seed: number; readonly triesMax: number | undefined };

export interface RunTold {
  readonly tell: "run";
  readonly seed: number;
  readonly breaches: readonly Breach[];
  readonly events: number;
  readonly ms: number;
}
export interface HistoryTold {
  readonly tell: "history";
  readonly lines: readonly string[];
  readonly trace: readonly string[];
  readonly breaches: readonly Breach[];
}
export type Told = RunTold | HistoryTold | ({ readonly tell: "short" } & Short) | { readonly tell: "done" };

const SEEDS_AT_ONCE = 20;
const NONE: Difference = { fault: "" };

/** One thread. Rejects what is asked if it fails. */
export class Thread {
  readonly #worker: Worker;
  #failed: Error | undefined;
  #heard: ((told: Told | Error) => void) | undefined;

  private constructor(options: WorkerOptions) {
    this.#worker = new Worker(new URL("./worker.ts", import.meta.url), {
      workerData: options,
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    });
    this.#worker.on("message", (told: Told) => this.#heard?.(told));
    this.#worker.on("error", (error) => {
      this.#failed = error as Error;
      this.#heard?.(this.#failed);
    });
  }

  static async start({ fault, patches = [], store = {} }: Difference = NONE): Promise<Thread> {
    const sources: { file: string; source: string }[] = [];
    for (const patch of patches) {
      const before = sources.find(({ file }) => file === patch.file);
      if (before) throw new Error(`Two patches of ${patch.file}: make them one.`);
      sources.push({ file: patch.file, source: await patched(SERVER, { fault, ...patch }) });
    }
    return new Thread({ sources, planted: store });
  }

  /** Passes runs to `see`. */
  async run(from: number, count: number, see: (run: RunTold) => void, stopsAtBreach = false): Promise<void> {
    await this.#ask({ ask: "run", from, count, stopsAtBreach }, (told) => {
      if (told.tell === "run") see(told);
      return told.tell === "done" ? told : undefined;
    });
  }

  async history(seed: number): Promise<HistoryTold> {
    return await this.#ask({ ask: "history", seed }, (told) => (told.tell === "history" ? told : undefined));
  }

  async shortened(seed: number, triesMax?: number): Promise<Short> {
    return await this.#ask({ ask: "shorten", seed, triesMax }, (told) =>
      told.tell === "short" ? told : undefined,
    );
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask<Answer>(asked: Asked, answer: (told: Told) => Answer | undefined): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#failed) return reject(this.#failed);
      this.#heard = (told) => {
        if (told instanceof Error) return reject(told);
        const found = answer(told);
        if (found !== undefined) resolve(found);
      };
      this.#worker.postMessage(asked);
    });
  }
}

export interface Seeds {
  readonly from: number;
  readonly count: number;
  readonly difference?: Difference;
  readonly threads?: number;
  /** Runs no further seeds after the first that breaks a promise. */
  readonly stopsAtBreach?: boolean;
  readonly see?: (run: RunTold) => void;
}

export interface Ran {
  readonly runs: number;
  readonly events: number;
  /** Simulated. */
  readonly ms: number;
  /** In the order of their seeds. */
  readonly broken: readonly RunTold[];
}

export async function runSeeds({
  from,
  count,
  difference = NONE,
  stopsAtBreach = false,
  ...more
}: Seeds): Promise<Ran> {
  const { threads = availableParallelism(), see = () => {} } = more;
  const broken: RunTold[] = [];
  let runs = 0;
  let events = 0;
  let ms = 0;
  let next = from;
  const isOver = () => next >= from + count || (stopsAtBreach && broken.length > 0);
  const work = async () => {
    const thread = await Thread.start(difference);
    try {
      while (!isOver()) {
        const first = next;
        const some = Math.min(SEEDS_AT_ONCE, from + count - first);
        next += some;
        const heard = (run: RunTold) => {
          runs += 1;
          events += run.events;
          ms += run.ms;
          if (run.breaches.length > 0) broken.push(run);
          see(run);
        };
        await thread.run(first, some, heard, stopsAtBreach);
      }
    } finally {
      await thread.end();
    }
  };
  await Promise.all(Array.from({ length: Math.min(threads, Math.ceil(count / SEEDS_AT_ONCE)) }, work));
  return { runs, events, ms, broken: broken.sort((a, b) => a.seed - b.seed) };
}
