// An engine over a chosen store, assembled as the app does it, that records what it has reported.

import { randomBytes } from "node:crypto";
import type { Event } from "../../server/core/command.ts";
import type { Policy } from "../../server/core/rows.ts";
import type { EngineObserver, WatchEvent } from "../../server/engine/answers.ts";
import { Engine } from "../../server/engine/engine.ts";
import type { Store } from "../../server/storage/store.ts";

const POLL_MS = 20;

/** What an engine keeps. */
export const CLEANING = {
  idleLockUs: 3_600_000_000,
  retentionUs: 3_600_000_000,
  historyRowsMax: 1_000_000,
  changesUs: 3_600_000_000,
  keptBy: "test",
};

export interface TestEngine {
  /** The replica's id. */
  readonly id: bigint;
  readonly engine: Engine;
  readonly policy: Policy;
  /** Events about claims and limits, in order. */
  readonly events: readonly Event[];
  /** Events about watches of locks, in order. */
  readonly watchEvents: readonly WatchEvent[];
  /** Failures of background loops, jumps of the clock and fail-overs; a test that expects none checks this. */
  readonly failures: readonly unknown[];
  /** Resolves with the next event that fits, or with an earlier one. */
  event(fits: (event: Event) => boolean): Promise<Event>;
}

export async function startEngine(
  store: Store,
  overrides: Partial<Policy> = {},
  failOverPauseUs: number | null = null,
  isTraced = false,
): Promise<TestEngine> {
  const events: Event[] = [];
  const watchEvents: WatchEvent[] = [];
  const failures: unknown[] = [];
  const listeners = new Set<(event: Event) => void>();
  const failed = (loop: string, error: unknown) => void failures.push({ loop, error });
  const observer: EngineObserver = (seen) => {
    if (seen.kind === "failed_over") failed("fail_over", seen.pauseUs);
    if (seen.kind === "clock_jumped") failed("clock", seen.byUs);
    if (seen.kind === "loop_failed") failed(seen.loop, seen.error);
    if (seen.kind.startsWith("watch_")) watchEvents.push(seen as WatchEvent);
    if (seen.kind !== "event") return;
    events.push(seen.event);
    for (const listener of listeners) listener(seen.event);
  };
  const id = randomBytes(8).readBigUInt64BE() >> 1n;
  const policy: Policy = {
    graceUs: 10_000_000,
    attachedForUs: 12_500_000,
    keptForUs: () => 3_600_000_000,
    queueMax: 10_000,
    ...overrides,
  };
  const engine = new Engine({
    store,
    pollIntervalMs: POLL_MS,
    poke() {},
    observer,
    policy,
    replica: { id, address: "test", version: "test", secret: "" },
    lanes: store.lanes,
    commandsQueuedMax: 10_000,
    cleaning: CLEANING,
    failOverPauseUs,
    isTraced,
  });
  await engine.start();
  return {
    id,
    engine,
    policy,
    events,
    watchEvents,
    failures,
    event(fits) {
      const before = events.find(fits);
      if (before) return Promise.resolve(before);
      return new Promise((resolve) => {
        const listener = (event: Event) => {
          if (!fits(event)) return;
          listeners.delete(listener);
          resolve(event);
        };
        listeners.add(listener);
      });
    },
  };
}
