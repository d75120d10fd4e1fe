// The parts of an engine, and how they are connected.

import { POOLS_LEVEL } from "../core/level.ts";
import type { ReplicaRow, Store } from "../storage/store.ts";
import type { EngineObserver } from "./answers.ts";
import { Background, type BackgroundOptions } from "./background/background.ts";
import { ClaimsFromAhead } from "./background/claims-from-ahead.ts";
import { Detachments } from "./background/detachments.ts";
import { Health } from "./background/health.ts";
import { InvariantChecks } from "./background/invariant-checks.ts";
import { ReturnedWaiters } from "./background/returned-waiters.ts";
import { FORGETFUL, Witness, type WitnessMemory } from "./background/witness.ts";
import { Captures } from "./capturing/captures.ts";
import { secretMaker } from "./secrets.ts";
import { Subscribers, type SubscribersOptions } from "./subscribers/subscribers.ts";
import { Advances } from "./transaction/advances.ts";
import { CheckedStore } from "./transaction/checked-store.ts";
import { Commands } from "./transaction/commands.ts";
import { Lanes, type LanesOptions } from "./transaction/lanes.ts";
import { LockIds, type LockIdsOptions } from "./transaction/lock-ids.ts";
import { Locks } from "./transaction/locks.ts";
import { Looks } from "./transaction/looks.ts";
import { PoolCounts } from "./transaction/pool-counts.ts";
import { PoolsOverNames } from "./transaction/pools-over-names.ts";
import { RulesInForce } from "./transaction/rules-in-force.ts";
import { SetMembers } from "./transaction/set-members.ts";
import { withAttempts } from "./transaction/transaction.ts";
import { Reads } from "./views/reads.ts";
import { ListingTurns, Views } from "./views/views.ts";

export interface EngineOptions
  extends Pick<SubscribersOptions, "pollIntervalMs" | "poke">,
    Pick<BackgroundOptions, "policy" | "cleaning">,
    Pick<LanesOptions, "lanes" | "isTraced">,
    Pick<LockIdsOptions, "namesPerSecond"> {
  readonly store: Store;
  readonly observers: readonly EngineObserver[];
  readonly replica: ReplicaRow;
  readonly commandsQueuedMax: number;
  /** The shortest time for which ended claims of locks with a prefix are kept; unset: as those of a lock of that name. */
  readonly leastKeptUs?: (prefix: string) => number;
  /** How often the rows of live claims are checked; null or unset: never. */
  readonly doctorIntervalMs?: number | null;
  /** How long nothing is granted after a fail-over of the database; null: as long as a lost lease may last. */
  readonly failOverPauseUs: number | null;
  /** Where the witness keeps its testimony beyond this process; undefined: nowhere. */
  readonly memory?: WitnessMemory;
}

export type Parts = ReturnType<typeof connect>;

/** Makes the parts of an engine. Each takes what it needs of the parts before it, under the same name. */
export function connect(options: EngineOptions) {
  const { observers, policy, poke, pollIntervalMs, cleaning, memory = FORGETFUL } = options;
  const observer: EngineObserver = (event) => {
    for (const each of observers) each(event);
  };
  // Nothing here decides past the checks.
  const store: Omit<Store, "transact" | "failOver"> = options.store;
  const replica = options.replica.id;
  const health = new Health(replica);
  const onFailure = (loop: string, error: unknown) => {
    health.suspected();
    observer({ kind: "loop_failed", loop, error });
  };
  store.clock.onJump((byUs) => observer({ kind: "clock_jumped", byUs }));
  const onFailOver = (pauseUs: number) => observer({ kind: "failed_over", pauseUs });
  const locks = new Locks();
  const checked = new CheckedStore(options.store, { pauseUs: options.failOverPauseUs, onFailOver }, locks);
  // The lanes need parts that submit commands to them.
  const submit: Lanes["submit"] = (...asked) => lanes.submit(...asked);
  const base = { store, policy, replica, observer, onFailure, health, locks, checked, submit, poke };
  const pools = new PoolsOverNames();
  const sets = new SetMembers();
  const rulesInForce = new RulesInForce({ ...base, entry: options.replica });
  const advances = new Advances(base);
  const looks = new Looks(base);
  const reads = new Reads(store);
  const turns = new ListingTurns(store.readers);
  const nowUs = () => store.clock.latestUs(performance.now() * 1_000) ?? 0;
  const views = new Views(store, turns, nowUs);
  const subscribers = new Subscribers({
    ...base,
    rulesInForce,
    advances,
    looks,
    reads,
    views,
    pollIntervalMs,
  });
  const { followers } = subscribers;
  const waking = { ...base, pools, sets, rulesInForce, advances, subscribers, followers, turns };
  const detachments = new Detachments(waking);
  const returned = new ReturnedWaiters(waking);
  const poolCounts = new PoolCounts(waking);
  const background = new Background({
    ...{
      ...waking,
      poolCounts,
      cleaning,
      detachments,
      returned,
      doctorIntervalMs: options.doctorIntervalMs ?? null,
    },
    witness: new Witness({ ...waking, memory }),
    claimsFromAhead: new ClaimsFromAhead(waking),
    invariantChecks: new InvariantChecks(waking),
  });
  const lanes = new Lanes({
    ...{ ...waking, store: checked, background, returned, lanes: options.lanes, isTraced: options.isTraced },
    patientSlots: store.patientSlots,
    waitForRows: (lockIds) => store.waitForRows(lockIds),
    queuedMax: options.commandsQueuedMax,
  });
  const lockIds = new LockIds({ ...base, namesPerSecond: options.namesPerSecond });
  const keepOldServersOut = onceDone(() =>
    withAttempts(() => store.raiseLevelMin({ level: POOLS_LEVEL, by: options.replica.version }), observer),
  );
  const commands = new Commands({ ...base, detachments, lanes, lockIds, keepOldServersOut });
  const newSecret = secretMaker();
  const captures = new Captures({ observer, newSecret, commands, store: reads.inTurn });
  const { leastKeptUs = policy.keptForUs } = options;
  const kept = { ofNameUs: policy.keptForUs, underPrefixUs: leastKeptUs, changesUs: cleaning.changesUs };
  const acting = {
    poolCounts,
    keepOldServersOut,
    entry: options.replica,
    newSecret,
    detachments,
    background,
    lanes,
    lockIds,
    commands,
    captures,
  };
  return { ...waking, ...acting, reads, views, nowUs, kept };
}

/** Does it once, and again after a failure. Calls at the same time share it. */
function onceDone(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
