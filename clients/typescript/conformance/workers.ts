// Worker loops, by the names that the runner gives them. Each handler runs until the runner says how it ends.

import type { RowlockClient } from "../src/index.ts";
import { backoffOf } from "./lock-options.ts";
import type { Command, Verb } from "./verb.ts";

interface Worker {
  readonly stop: AbortController;
  readonly stopped: Promise<void>;
  /** Ends the handlers that run, by the names of their locks. */
  readonly handlers: Map<string, PromiseWithResolvers<void>>;
}

export function workVerbs(
  clientOf: (command: Command) => RowlockClient,
  tell: (event: object) => void,
): Readonly<Record<string, Verb>> {
  const workers = new Map<string, Worker>();
  const workerOf = ({ worker }: Command): Worker => {
    const found = workers.get(worker);
    if (!found) throw new Error(`There is no worker ${worker}.`);
    return found;
  };
  return {
    work: async (asked) => {
      const { worker, prefix, concurrency, ttlMs, ifStatus, statusWhenDone, statusIfLost } = asked;
      const stop = new AbortController();
      const handlers: Worker["handlers"] = new Map();
      const stopped = clientOf(asked).work(
        prefix,
        async ({ name, token }) => {
          const end = Promise.withResolvers<void>();
          handlers.set(name, end);
          tell({ event: "working", worker, name, token: String(token) });
          await end.promise;
        },
        {
          concurrency,
          signal: stop.signal,
          ...(ttlMs !== undefined && { ttl: ttlMs }),
          ...(ifStatus && { ifStatus }),
          ...(statusWhenDone !== undefined && { statusWhenDone }),
          ...(statusIfLost !== undefined && { statusIfLost }),
          ...backoffOf(asked),
        },
      );
      // The command that stops it reports how it ended.
      stopped.catch(() => {});
      workers.set(worker, { stop, stopped, handlers });
      return {};
    },
    finish: async (asked) => {
      const handler = workerOf(asked).handlers.get(asked.name);
      if (!handler) throw new Error(`There is no handler of ${asked.name}.`);
      if (asked.fails) handler.reject(new Error("The runner said so."));
      else handler.resolve();
      return {};
    },
    stopWorking: async (asked) => {
      const { stop, stopped } = workerOf(asked);
      stop.abort();
      await stopped;
      return {};
    },
  };
}
