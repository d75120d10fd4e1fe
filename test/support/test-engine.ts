// An engine over a chosen store, assembled as the app does it, that records what it has reported.

import { randomBytes } from "node:crypto";
import type { Event } from "../../server/core/command.ts";
import type { Policy } from "../../server/core/rows.ts";
import type { EngineEvent, WatchEvent } from "../../server/engine/answers.ts";
import { Engine } from "../../server/engine/engine.ts";
import type { GrantedElsewhere } from "../../server/engine/subscribers/subscribers.ts";
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
  /** All that it has reported, in order. */
  readonly seen: readonly EngineEvent[];
  /** Events about claims and limits, in order. */
  readonly events: readonly Event[];
  /** Events about watches of locks, in order. */
  readonly watchEvents: readonly WatchEvent[];
  /** Failures of background loops, jumps of the clock and fail-overs; a test that expects none checks this. */
  readonly failures: readonly unknown[];
  /** Grants that it would have told other servers of, in order. */
  readonly poked: readonly GrantedElsewhere[];
  /** Resolves with the next report that fits, or with an earlier one. */
  report(fits: (seen: EngineEvent) => boolean): Promise<EngineEvent>;
  /** Resolves with the next event that fits, or with an earlier one. */
  event(fits: (event: Event) => boolean): Promise<Event>;
}

export async function startEngine(
  store: Store,
  overrides: Partial<Policy> = {},
  failOverPauseUs: number | null = null,
  isTraced = false,
  pollIntervalMs = POLL_MS,
): Promise<TestEngine> {
  const seen: EngineEvent[] = [];
  const events: Event[] = [];
  const watchEvents: WatchEvent[] = [];
  const failures: unknown[] = [];
  const poked: GrantedElsewhere[] = [];
  const listeners = new Set<(next: EngineEvent) => void>();
  const failed = (loop: string, error: unknown) => void failures.push({ loop, error });
  const observer = (next: EngineEvent) => {
    seen.push(next);
    if (next.kind === "failed_over") failed("fail_over", next.pauseUs);
    if (next.kind === "clock_jumped") failed("clock", next.byUs);
    if (next.kind === "loop_failed") failed(next.loop, next.error);
    if (next.kind.startsWith("watch_")) watchEvents.push(next as WatchEvent);
    if (next.kind === "event") events.push(next.event);
    for (const listener of listeners) listener(next);
  };
  const report: TestEngine["report"] = (fits) => {
    const before = seen.find(fits);
    if (before) return Promise.resolve(before);
    return new Promise((resolve) => {
      const listener = (next: EngineEvent) => {
        if (!fits(next)) return;
        listeners.delete(listener);
        resolve(next);
      };
      listeners.add(listener);
    });
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
    pollIntervalMs,
    poke: (granted) => void poked.push(granted),
    observers: [observer],
    policy,
    replica: { id, address: "test", version: "test", secret: "" },
    lanes: store.lanes,
    commandsQueuedMax: 10_000,
    cleaning: CLEANING,
    failOverPauseUs,
    isTraced,
  });
  await engine.start();
  const event: TestEngine["event"] = async (fits) => {
    const found = await report((next) => next.kind === "event" && fits(next.event));
    return (found as Extract<EngineEvent, { kind: "event" }>).event;
  };
  return { id, engine, policy, seen, events, watchEvents, failures, poked, report, event };
}
