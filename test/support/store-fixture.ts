// Writes rows for the contract suite: claims with every field filled in, written through the store itself. Decides
// nothing; only keeps the guard row's counters correct, so that every test starts from a sound database.

import { randomBytes } from "node:crypto";
import type { Claim } from "../../server/core/claim.ts";
import type { Lock } from "../../server/core/lock.ts";
import { countHolder, countWaiter } from "../../server/core/lock.ts";
import { ROLLED_BACK, retry } from "../../server/storage/retry.ts";
import type { DecideRows, Loaded, LoadPlan, Store, Writes } from "../../server/storage/store.ts";
import { StoreError } from "../../server/storage/store.ts";

/** A store on a separate database, and a way to bypass the store. */
export interface FreshStore {
  readonly store: Store;
  /** Another server's store on the same database; null if only one server can open it. */
  readonly other: Store | null;
  /** Runs one statement that bypasses the store: to plant what the store must find, and to let time pass. */
  tamper(sql: string, ...values: (number | bigint | Uint8Array)[]): Promise<void>;
  close(): Promise<void>;
}

/** No test has so much contention that a transaction loses more often. */
export const TRIES_MAX = 100;
export const SECOND_US = 1_000_000;
/** Larger than a double can represent exactly. */
export const BIG = 2n ** 53n + 1n;
export const NO_PLAN: LoadPlan = { locks: [], claims: [], requestIds: [], holdersOf: [] };
export const NO_CHANGES: Writes = { locks: [], added: [], changed: [], again: [] };

/** The fields of a claim, with a deadline relative to now: negative is overdue, null is none. */
export type Wanted = Partial<Claim> & { readonly dueInUs?: number | null };

export const HELD: Wanted = { state: "held" };
export const ENDED: Wanted = { state: "ended" };

/** Empties the database. The rules' revision continues, because stores may cache rules by it. */
export async function empty({ tamper }: FreshStore): Promise<void> {
  for (const table of [
    "claim",
    "history",
    "request",
    "record",
    "lock",
    "limit_rule",
    "replica",
    "witness",
    "change",
  ])
    await tamper(`DELETE FROM rowlock_${table}`);
  await tamper("UPDATE rowlock_meta SET token_floor = 0, rules_revision = rules_revision + 1");
  await tamper("UPDATE rowlock_meta SET epoch = 0, failed_over_at = 0, grants_from = 0, level_min = 0");
}

/** Resolves names, with as many retries as an engine would make. */
export function resolve(store: Store, names: readonly string[]): Promise<Map<string, bigint>> {
  return retry(ROLLED_BACK, () => store.resolve(names));
}

export async function lockId(store: Store, name: string): Promise<bigint> {
  const id = (await resolve(store, [name])).get(name);
  if (id === undefined) throw new Error(`${JSON.stringify(name)} was not resolved`);
  return id;
}

/** Runs the transaction, and repeats it while the store reports a retryable failure. */
export async function transact(store: Store, plan: Partial<LoadPlan>, decide: DecideRows): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await store.transact({ ...NO_PLAN, ...plan }, decide);
      return;
    } catch (error) {
      if (!isBadLuck(error) || tries === TRIES_MAX) throw error;
    }
  }
}

function isBadLuck(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "transient" && error.reason !== "duplicate_request";
}

/** What a transaction reads. Writes the guard rows, as every transaction must, and nothing else. */
export async function load(store: Store, plan: Partial<LoadPlan>): Promise<Loaded> {
  let read: Loaded | undefined;
  await transact(store, plan, (loaded) => {
    read = structuredClone(loaded);
    return { ...NO_CHANGES, locks: raised(loaded) };
  });
  if (!read) throw new Error("The store did not call decide.");
  return read;
}

/** Changes one guard row. */
export async function changeLock(
  store: Store,
  id: bigint,
  change: (lock: Lock, nowUs: number) => void,
): Promise<Lock> {
  let changed: Lock | undefined;
  await transact(store, { locks: planned(id) }, (loaded) => {
    changed = structuredClone(loaded.locks.get(id));
    if (!changed) return NO_CHANGES;
    change(changed, loaded.nowUs);
    changed.revision += 1n;
    return { ...NO_CHANGES, locks: [changed] };
  });
  if (!changed) throw new Error(`Lock ${id} is not there.`);
  return changed;
}

/** Adds claims to a lock, in this order, and counts them. */
export async function addClaims(store: Store, id: bigint, ...wanted: Wanted[]): Promise<Claim[]> {
  return await addClaimsTo(store, [id], ...wanted);
}

/** Adds the same claims to each of the locks, in one transaction. */
export async function addClaimsTo(
  store: Store,
  ids: readonly bigint[],
  ...wanted: Wanted[]
): Promise<Claim[]> {
  let added: Claim[] = [];
  await transact(store, { locks: planned(...ids) }, (loaded) => {
    added = [...loaded.locks.values()].flatMap((lock) =>
      wanted.map((each) => claimOf(lock, loaded.nowUs, each)),
    );
    return { ...NO_CHANGES, locks: raised(loaded), added };
  });
  return structuredClone(added);
}

/** Adds claims to the lock of this name. */
export async function addTo(store: Store, name: string, ...wanted: Wanted[]): Promise<Claim[]> {
  return await addClaims(store, await lockId(store, name), ...wanted);
}

/** The same claim so many times. */
export function times(count: number, wanted: Wanted = {}): Wanted[] {
  return Array.from({ length: count }, () => wanted);
}

/** Writes claims that already exist. */
export async function changeClaims(store: Store, ...claims: Claim[]): Promise<void> {
  const ids = [...new Set(claims.map((claim) => claim.lockId))].sort((a, b) => (a < b ? -1 : 1));
  await transact(store, { locks: planned(...ids) }, (loaded) => ({
    ...NO_CHANGES,
    locks: raised(loaded),
    changed: claims,
  }));
}

export async function readClaim(store: Store, { lockId, ticketNumber }: Claim): Promise<Claim> {
  const { claims } = await store.claims([{ lockId, ticketNumber }]);
  if (!claims[0]) throw new Error(`Claim ${ticketNumber} of lock ${lockId} is not there.`);
  return claims[0];
}

export function planned(...ids: bigint[]): LoadPlan["locks"] {
  return ids.map((id) => ({ id, heads: 1, likelyQueue: false }));
}

/** The guard rows of a load, each with its revision raised. */
export function raised(loaded: Loaded): Lock[] {
  for (const lock of loaded.locks.values()) lock.revision += 1n;
  return [...loaded.locks.values()];
}

/** The wanted claim; the guard row counts it and has issued its numbers. */
function claimOf(lock: Lock, nowUs: number, { dueInUs, ...wanted }: Wanted): Claim {
  const state = wanted.state ?? "waiting";
  const held = state === "held";
  const claim: Claim = {
    lockId: lock.id,
    ticketNumber: lock.nextTicket,
    secret: randomBytes(16).toString("base64url"),
    requestId: `request ${randomBytes(12).toString("hex")}`,
    mode: "permit",
    permits: 1,
    owner: "",
    principal: "",
    labels: {},
    turn: null,
    group: null,
    requestedAtUs: nowUs,
    waitUntilUs: null,
    terms: null,
    state,
    levels: null,
    members: null,
    ttlUs: dueInUs === null ? null : 60 * SECOND_US,
    deadlineUs: dueInUs === null ? null : nowUs + (dueInUs ?? 60 * SECOND_US),
    replica: null,
    provisional: false,
    fencingToken: held ? lock.lastToken + 1n : 0n,
    grantedAtUs: held ? nowUs : null,
    endedAtUs: state === "ended" ? nowUs : null,
    endReason: state === "ended" ? "released" : null,
    endNote: "",
    endedBy: "",
    ...wanted,
  };
  if (claim.ticketNumber >= lock.nextTicket) lock.nextTicket = claim.ticketNumber + 1n;
  if (claim.fencingToken > lock.lastToken) lock.lastToken = claim.fencingToken;
  if (held) countHolder(lock, claim);
  if (state === "waiting") countWaiter(lock, claim);
  return claim;
}
