// Watches, by the names that the runner gives them: sends each update as an event.

import type { RowlockClient } from "../src/index.ts";
import type { Command, Verb } from "./verb.ts";

export function watchVerbs(
  clientOf: (command: Command) => RowlockClient,
  tell: (event: object) => void,
): Readonly<Record<string, Verb>> {
  const watches = new Map<string, { readonly end: AbortController; readonly ended: Promise<void> }>();

  async function read(client: RowlockClient, watch: string, prefix: string, signal: AbortSignal) {
    try {
      for await (const { locks, ...update } of client.watchLocks({ prefix, signal }))
        tell({
          event: "watched",
          watch,
          ...update,
          locks: locks.map(({ name, holderCount, waiterCount, lastToken }) => ({
            name,
            holderCount,
            waiterCount,
            lastToken: String(lastToken),
          })),
        });
    } catch (error) {
      if (!signal.aborted) tell({ event: "watch failed", watch, error: String(error) });
    }
  }

  return {
    watch: async (asked) => {
      const end = new AbortController();
      const ended = read(clientOf(asked), asked.watch, asked.prefix, end.signal);
      watches.set(asked.watch, { end, ended });
      return {};
    },
    unwatch: async ({ watch }) => {
      watches.get(watch)?.end.abort();
      await watches.get(watch)?.ended;
      return {};
    },
  };
}
