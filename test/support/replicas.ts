// Engines over one database, as several servers would run them: each with its own id, and on MySQL with its own pool.
// On SQLite they share the one store that the file allows; the layers above it see no difference.

import type { Claim } from "../../server/core/claim.ts";
import type { Event, Outcome } from "../../server/core/command.ts";
import type { Policy } from "../../server/core/rows.ts";
import type { AcquireInput, Follower, WatchEvent } from "../../server/engine/answers.ts";
import type { Engine } from "../../server/engine/engine.ts";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { migrateUp } from "../../server/storage/migrate/migrate.ts";
import { openStore } from "../../server/storage/open.ts";
import { openSqliteStore } from "../../server/storage/sqlite/sqlite-store.ts";
import type { Store } from "../../server/storage/store.ts";
import type { TestDatabase } from "./database.ts";
import { stopInTime } from "./stop-in-time.ts";
import { startEngine } from "./test-engine.ts";

export interface Replica {
  readonly id: bigint;
  readonly engine: Engine;
  readonly store: Store;
  /** Observed events, in order. */
  readonly events: readonly Event[];
  readonly watchEvents: readonly WatchEvent[];
  /** Failures of background loops; a test that expects none checks this. */
  readonly failures: readonly unknown[];
}

export interface Replicas {
  readonly all: readonly Replica[];
  readonly url: string;
  stop(): Promise<void>;
}

export async function startReplicas(
  database: Pick<TestDatabase, "fresh">,
  count: number,
  policy: Partial<Policy> = {},
  wrap: (store: Store) => Store = (store) => store,
  failOverPauseUs: number | null = null,
): Promise<Replicas> {
  const fresh = await database.fresh();
  await migrateUp(fresh.url);
  const address = parseDatabaseUrl(fresh.url);
  const nodes = fresh.nodes ?? [fresh.url];
  const shared =
    address.dialect === "sqlite" ? await openSqliteStore({ ...address, clock: fineClock() }) : undefined;
  const urls = Array.from({ length: count }, (_, index) => nodes[index % nodes.length] as string);
  const stores = await Promise.all(urls.map((url) => shared ?? openStore(url)));
  // Wrapped in the order of the replicas, not in the order in which their connections opened.
  const all = await Promise.all(stores.map((store) => startReplica(wrap(store), policy, failOverPauseUs)));
  return {
    all,
    url: fresh.url,
    async stop() {
      const stores = shared ? [shared] : all.map((replica) => replica.store);
      await stopInTime(
        ...all.map(({ engine }) => ({ name: "an engine", stop: () => engine.stop() })),
        ...stores.map((store) => ({ name: "a store", stop: () => store.close() })),
      );
      await fresh.drop();
    },
  };
}

/** An engine over a store; the caller stops the engine first and then closes the store. */
export async function startReplica(
  store: Store,
  overrides: Partial<Policy>,
  failOverPauseUs: number | null,
): Promise<Replica> {
  const { id, engine, events, watchEvents, failures } = await startEngine(store, overrides, failOverPauseUs);
  return { id, engine, store, events, watchEvents, failures };
}

/** As on MySQL, no two transactions of different replicas have the same time, although the system's clock is coarse. */
function fineClock(): () => number {
  let lastUs = 0;
  return () => {
    const nowUs = Date.now() * 1_000;
    lastUs = nowUs <= lastUs && lastUs < nowUs + 1_000 ? lastUs + 1 : nowUs;
    return lastUs;
  };
}

/** A request with defaults for everything but what the test is about. */
export function ask(name: string, overrides: Partial<AcquireInput> = {}): AcquireInput {
  return {
    name,
    mode: "permit",
    permits: 1,
    ttlUs: 30_000_000,
    requestId: "",
    owner: "",
    labels: {},
    maxWaitUs: null,
    mayWait: true,
    ...overrides,
  };
}

/** A follower whose claim can be awaited. */
export function follower(): Follower & { readonly toldClaim: Promise<{ claim: Claim; nowUs: number }> } {
  const { promise, resolve } = Promise.withResolvers<{ claim: Claim; nowUs: number }>();
  return { toldClaim: promise, settled: (claim, nowUs) => resolve({ claim, nowUs }) };
}

/** The claim of an answer whose outcome must be of this kind. */
export function claimOf(answer: { readonly outcome: Outcome }, kind: "held" | "waiting" | "ended"): Claim {
  if (answer.outcome.kind !== kind) throw new Error(`expected ${kind}, got ${answer.outcome.kind}`);
  return (answer.outcome as { claim: Claim }).claim;
}
