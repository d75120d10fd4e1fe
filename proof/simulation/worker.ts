// A thread that runs seeds, one after the other. Its clock and its chance are those of the present run, so nothing else may
// run in it. It loads the server from source, in which faults can be planted.

import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { Asked, Told, WorkerOptions } from "./seeds.ts";
import type { Run } from "./simulate.ts";

const { sources, planted } = workerData as WorkerOptions;
if (sources.length > 0) {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const patch = sources.find(({ file }) => url.endsWith(`/server/${file}`));
      return patch ? { ...loaded, source: patch.source } : loaded;
    },
  });
}
// After the hooks.
await import("./world/fakes.ts");
const { openRows } = await import("./store/database.ts");
const { simulate } = await import("./simulate.ts");
const { shortened } = await import("./shorten.ts");
const rows = await openRows();
const tell = (told: Told) => parentPort?.postMessage(told);

/** Where errors were thrown is written down only in a run that goes wrong: it is run again, and goes as it went. */
async function quickly(seed: number): Promise<Run> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const run = await simulate(rows, seed, { planted }).catch(() => null);
  Error.stackTraceLimit = stackTraceLimit;
  return run?.breaches.length === 0 ? run : await simulate(rows, seed, { planted });
}

parentPort?.on("message", async (asked: Asked) => {
  switch (asked.ask) {
    case "run": {
      for (let seed = asked.from; seed < asked.from + asked.count; seed++) {
        const { breaches, events, ms } = await quickly(seed);
        tell({ tell: "run", seed, breaches, events, ms });
        if (breaches.length > 0 && asked.stopsAtBreach) break;
      }
      tell({ tell: "done" });
      break;
    }
    case "history": {
      const trace: string[] = [];
      const { history, breaches } = await simulate(rows, asked.seed, { planted, trace });
      tell({
        tell: "history",
        lines: history.entries.map((entry) => JSON.stringify(entry)),
        trace,
        breaches,
      });
      break;
    }
    case "shorten":
      tell({ tell: "short", ...(await shortened(rows, asked.seed, planted, asked.triesMax)) });
      break;
  }
});
