// The parts of an engine, and how they are connected.

import { isOwnName } from "../core/lock.ts";
import type { Policy } from "../core/rows.ts";
import type { ReplicaRow, Store } from "../storage/store.ts";
import { AfterCommit, type GrantedElsewhere } from "./after-commit.ts";
import type { EngineObserver } from "./answers.ts";
import { Background, type CleaningOptions } from "./background/background.ts";
import { ClaimsFromAhead } from "./background/claims-from-ahead.ts";
import { Detachments } from "./background/detachments.ts";
import { Health } from "./background/health.ts";
import { InvariantChecks } from "./background/invariant-checks.ts";
import { ReturnedWaiters } from "./background/returned-waiters.ts";
import { FORGETFUL, Witness, type WitnessMemory } from "./background/witness.ts";
import { Captures } from "./capturing/captures.ts";
import { secretMaker } from "./secrets.ts";
import { Subscribers } from "./subscribers/subscribers.ts";
import { Advances } from "./transaction/advances.ts";
import { CheckedStore } from "./transaction/checked-store.ts";
import { Commands } from "./transaction/commands.ts";
import { Lanes } from "./transaction/lanes.ts";
import { LockIds } from "./transaction/lock-ids.ts";
import { Locks } from "./transaction/locks.ts";
import { RulesInForce } from "./transaction/rules-in-force.ts";
import { Explaining } from "./views/explaining.ts";
import { ListingTurns } from "./views/listing-turns.ts";
import { Reads } from "./views/reads.ts";
import { Views } from "./views/views.ts";

export interface EngineOptions {
  readonly store: Store;
  /** How late a waiter learns of what another replica did, at most. */
  readonly pollIntervalMs: number;
  /** Notifies another replica of a grant. Never waits, never fails. */
  readonly poke: (granted: GrantedElsewhere) => void;
  readonly observers: readonly EngineObserver[];
  readonly policy: Policy;
  readonly replica: ReplicaRow;
  readonly lanes: number;
  readonly commandsQueuedMax: number;
  /** New names of locks that this server may create per second; unset: any number. */
  readonly namesPerSecond?: number;
  readonly cleaning: CleaningOptions;
  /** The shortest time for which ended claims of locks with a prefix are kept; unset: as those of a lock of that name. */
  readonly leastKeptUs?: (prefix: string) => number;
  /** How often the rows of live claims are checked; null or unset: never. */
  readonly doctorIntervalMs?: number | null;
  /** How long nothing is granted after a fail-over of the database; null: as long as a lost lease may last. */
  readonly failOverPauseUs: number | null;
  /** Whether callers may have spans; unset: none has. */
  readonly isTraced?: boolean | undefined;
  /** Where the witness keeps its testimony beyond this process; undefined: nowhere. */
  readonly memory?: WitnessMemory;
}

export type Parts = ReturnType<typeof connect>;

/** Makes the parts of an engine. Each takes what it needs of the parts before it, under the same name. */
export function connect(options: EngineOptions) {
  const { policy, poke, pollIntervalMs } = options;
  const observer = withoutOwnLocks(options.observers);
  // Nothing here decides past the checks.
  const store: Omit<Store, "transact" | "failOver"> = options.store;
  const locks = new Locks();
  const onFailOver = (pauseUs: number) => observer({ kind: "failed_over", pauseUs });
  const checked = new CheckedStore(options.store, { pauseUs: options.failOverPauseUs, onFailOver }, locks);
  store.clock.onJump((byUs) => observer({ kind: "clock_jumped", byUs }));
  const replica = options.replica.id;
  const health = new Health(replica);
  const onFailure = (loop: string, error: unknown) => {
    health.suspected();
    observer({ kind: "loop_failed", loop, error });
  };
  // The lanes need parts that submit commands to them.
  const submit: Lanes["submit"] = (...asked) => lanes.submit(...asked);
  const rulesInForce = new RulesInForce({ store, checked, entry: options.replica, onFailure });
  const advances = new Advances({ submit, onFailure });
  const reads = new Reads(store);
  const turns = new ListingTurns(store.readers);
  const views = new Views(store, turns);
  const waking = { store, checked, observer, onFailure, rulesInForce, advances, reads, views };
  const subscribers = new Subscribers({ ...waking, pollIntervalMs });
  const { followers } = subscribers;
  const base = {
    ...waking,
    locks,
    policy,
    replica,
    health,
    newSecret: secretMaker(),
    subscribers,
    followers,
  };

  const detachments = new Detachments({ ...base, submit });
  const returned = new ReturnedWaiters(base);
  const witness = new Witness({ ...base, memory: options.memory ?? FORGETFUL });
  const claimsFromAhead = new ClaimsFromAhead(base);
  const changing = { ...base, detachments, returned, witness, claimsFromAhead };
  const invariantChecks = new InvariantChecks({ ...base, turns });
  const { cleaning, doctorIntervalMs = null } = options;
  const background = new Background({ ...changing, invariantChecks, cleaning, doctorIntervalMs });

  const afterCommit = new AfterCommit({ ...base, poke });
  const lanes = new Lanes({
    ...{ ...changing, store: checked, background, afterCommit },
    lanes: options.lanes,
    patientSlots: store.patientSlots,
    queuedMax: options.commandsQueuedMax,
    isTraced: options.isTraced,
  });
  const lockIds = new LockIds({ ...base, namesPerSecond: options.namesPerSecond });
  const commands = new Commands({ ...changing, lanes, lockIds });
  const captures = new Captures({ ...base, store: reads.inTurn, commands });
  const nowUs = () => store.clock.latestUs(performance.now() * 1_000) ?? 0;
  const grantsFromUs = () => checked.grantsFromUs;
  const explaining = new Explaining({
    ...{ store, turns, nowUs },
    place: (key, caller) => subscribers.places.of(key, caller),
    grantsFromUs,
    heldUpForMs: (lockId) => lanes.heldUpForMs(lockId),
  });
  const { leastKeptUs = policy.keptForUs } = options;
  const kept = { ofNameUs: policy.keptForUs, underPrefixUs: leastKeptUs, changesUs: cleaning.changesUs };
  const acting = { ...changing, kept, background, afterCommit, lanes, lockIds, commands, captures };
  return { ...acting, turns, nowUs, grantsFromUs, explaining };
}

/** Tells all, but hides events about the servers' own locks, which do not interest users and operators. */
function withoutOwnLocks(observers: readonly EngineObserver[]): EngineObserver {
  return (event) => {
    if ("lockName" in event && isOwnName(event.lockName)) return;
    for (const observer of observers) observer(event);
  };
}
