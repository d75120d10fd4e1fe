// Lists what the history keeps, in small steps. Claims: live ones by the names of their locks, then ended ones, newest first,
// along the order of the listing: it begins and ends where the order allows it, and everything else is a filter. A claim
// that ends while its listing is read is not lost: the ended ones are read after the live ones, from the newest on. Changes:
// newest first, and those of one lock by an index.

import { type Claim, inOrder } from "../../core/claim.ts";
import { type LimitRule, patternOf } from "../../core/limit.ts";
import { isOwnName } from "../../core/lock.ts";
import type { EndedClaim, EndedPosition, KeptChange, Store } from "../../storage/store.ts";
import * as bounds from "../engine-bounds.ts";
import type {
  ChangePosition,
  ChangesQuery,
  ClaimPosition,
  ClaimsQuery,
  Listed,
  ListedChange,
  ListedClaim,
} from "../history.ts";
import { inOwnTick, viewSteps } from "./views.ts";

interface Search<Item, Position> {
  readonly isWanted: (item: Item) => boolean;
  /** Whether neither this item nor any after it is wanted. */
  readonly isOver?: (item: Item) => boolean;
  /** Searches about as many items. */
  readonly max: number;
  /** Where a listing continues after the item. */
  readonly at: (item: Item) => Position;
  /** As in `Listed`, if the search stops at the item. */
  readonly backToUs: (item: Item) => number | null;
}

/** The wanted items. If the bound is met, the last one is what the search stopped at, wanted or not. */
export async function* search<Item, Position>(
  steps: AsyncIterable<readonly Item[]>,
  { isWanted, isOver = () => false, max, at, backToUs }: Search<Item, Position>,
): AsyncGenerator<Listed<Item, Position>, void, void> {
  let searched = 0;
  for await (const step of steps) {
    for (const item of step) {
      if (isOver(item)) return;
      if (isWanted(item)) yield { kind: "found", item, at: at(item) };
    }
    searched += step.length;
    const last = step.at(-1);
    if (searched >= max && last !== undefined) {
      yield { kind: "stopped", at: at(last), backToUs: backToUs(last) };
      return;
    }
  }
}

/** Steps of up to `max` items, each in its own tick, and each after the last item of the one before. */
async function* stepsAfter<Item, Position>(
  first: Position,
  max: number,
  read: (after: Position) => Promise<readonly Item[]>,
  at: (last: Item) => Position,
): AsyncGenerator<readonly Item[], void, void> {
  for (let after = first; ; ) {
    const items = await inOwnTick(() => read(after));
    yield items;
    const last = items.at(-1);
    if (last === undefined || items.length < max) return;
    after = at(last);
  }
}

export type ClaimsSource = Pick<
  Store,
  "view" | "list" | "views" | "liveClaimsOf" | "endedClaimsOf" | "ticketAfter" | "endedClaims"
>;

/** A claim with the name of its lock. */
type Named = EndedClaim;
type Steps = AsyncGenerator<readonly Named[], void, void>;
type Live = Extract<ClaimPosition, { kind: "live" }>;
type Ended = Extract<ClaimPosition, { kind: "ended" }>;

/** `nowUs`: the latest time that the database's clock may show. Throws StoreErrors. */
export async function* listedClaims(
  store: ClaimsSource,
  query: ClaimsQuery,
  nowUs: number,
): AsyncGenerator<ListedClaim, void, void> {
  const { lockName, after } = query;
  const lockId = lockName === null ? null : (await inOwnTick(() => store.view(lockName, 0)))?.lock.id;
  // There is no such lock.
  if (lockId === undefined) return;
  const wanted = { isWanted: (named: Named) => isWanted(query, named), max: bounds.CLAIMS_SEARCHED_MAX };
  if (after?.kind !== "ended" && wantsLive(query, nowUs)) {
    const steps =
      lockName === null || lockId === null
        ? liveSteps(store, query, after)
        : liveClaims(store, lockId, lockName, after?.ticketNumber ?? 0n);
    const at = ({ claim, lockName }: Named): Live => ({
      ...{ kind: "live", lockName, ticketNumber: claim.ticketNumber },
    });
    for await (const listed of search(steps, { ...wanted, at, backToUs: () => null })) {
      yield listed;
      if (listed.kind === "stopped") return;
    }
  }
  if (query.states.length > 0 && !query.states.includes("ended")) return;
  const from = after?.kind === "ended" ? after : null;
  const steps = lockId === null ? endedSteps(store, query, from) : endedStepsOf(store, query, lockId, from);
  yield* search(steps, {
    ...wanted,
    isOver: ({ claim }) => lockId === null && endOf(claim) < (query.fromUs ?? Number.NEGATIVE_INFINITY),
    at: ({ claim }) => ({ kind: "ended", ...positionOf(claim) }),
    backToUs: ({ claim }) => (lockId === null ? endOf(claim) : claim.requestedAtUs),
  });
}

function wantsLive({ states, endReasons, untilUs }: ClaimsQuery, nowUs: number): boolean {
  if (endReasons.length > 0 || (untilUs !== null && untilUs <= nowUs)) return false;
  return states.length === 0 || states.some((state) => state !== "ended");
}

function isWanted(query: ClaimsQuery, { claim, lockName }: Named): boolean {
  const { owner, principal, states, prefix, isSeen } = query;
  if (query.lockName === null && (!lockName.startsWith(prefix) || isOwnName(lockName))) return false;
  if (owner !== "" && claim.owner !== owner) return false;
  if (principal !== "" && claim.principal !== principal) return false;
  if (states.length > 0 && !states.includes(claim.state)) return false;
  for (const [key, value] of Object.entries(query.labels))
    if (!Object.hasOwn(claim.labels, key) || claim.labels[key] !== value) return false;
  return isOfTheTime(query, claim) && (isSeen?.(lockName) ?? true);
}

function isOfTheTime({ heldAtUs, fromUs, untilUs, endReasons }: ClaimsQuery, claim: Claim): boolean {
  const { grantedAtUs, endedAtUs, endReason } = claim;
  if (heldAtUs !== null) {
    if (grantedAtUs === null || grantedAtUs > heldAtUs) return false;
    if (endedAtUs !== null && endedAtUs <= heldAtUs) return false;
  }
  if (endedAtUs === null || endReason === null) return true;
  if (endReasons.length > 0 && !endReasons.includes(endReason)) return false;
  return endedAtUs >= (fromUs ?? endedAtUs) && (untilUs === null || endedAtUs < untilUs);
}

/** An ended claim has this time. */
function endOf({ endedAtUs }: Claim): number {
  return endedAtUs ?? 0;
}

function positionOf(claim: Claim): EndedPosition {
  const { lockId, ticketNumber } = claim;
  return { endedAtUs: endOf(claim), lockId, ticketNumber };
}

/** Live claims of busy locks. */
async function* liveSteps(store: ClaimsSource, { prefix, isSeen }: ClaimsQuery, after: Live | null): Steps {
  if (after) {
    const view = await inOwnTick(() => store.view(after.lockName, 0));
    if (view) yield* liveClaims(store, view.lock.id, after.lockName, after.ticketNumber);
  }
  let afterName = after?.lockName ?? null;
  do {
    const query = { prefix, afterName, max: bounds.SEARCHED_PER_STEP, which: "busy" as const };
    const { locks, next } = await inOwnTick(() => store.list(query));
    const seen = locks.filter(({ name }) => isSeen?.(name) ?? true);
    for await (const { lock, holders, waiters } of viewSteps(store, seen)) {
      const shown = inOrder([...holders, ...waiters]);
      if (shown.length < lock.holders + lock.waiting) yield* liveClaims(store, lock.id, lock.name, 0n);
      else yield named(shown, lock.name);
    }
    afterName = next;
  } while (afterName !== null);
}

function liveClaims(store: ClaimsSource, lockId: bigint, lockName: string, afterTicket: bigint): Steps {
  return stepsAfter(
    afterTicket,
    bounds.CLAIMS_PER_STEP_MAX,
    async (after) => named(await store.liveClaimsOf(lockId, after, bounds.CLAIMS_PER_STEP_MAX), lockName),
    ({ claim }) => claim.ticketNumber,
  );
}

/** Ended claims of all locks, by their ends. */
function endedSteps(store: ClaimsSource, { untilUs }: ClaimsQuery, from: Ended | null): Steps {
  return stepsAfter<Named, EndedPosition | null>(
    from ?? (untilUs === null ? null : { endedAtUs: untilUs, lockId: 0n, ticketNumber: 0n }),
    bounds.SEARCHED_PER_STEP,
    (after) => store.endedClaims(after, bounds.SEARCHED_PER_STEP),
    ({ claim }) => positionOf(claim),
  );
}

/** Ended claims of one lock, by their ticket numbers. What ended before a time was requested before it, too. */
async function* endedStepsOf(
  store: ClaimsSource,
  { lockName, heldAtUs, untilUs }: ClaimsQuery,
  lockId: bigint,
  from: Ended | null,
): Steps {
  const atUs = heldAtUs ?? untilUs;
  let below = from?.ticketNumber ?? null;
  if (!from && atUs !== null) below = await inOwnTick(() => store.ticketAfter(lockId, atUs));
  yield* stepsAfter<Named, bigint | null>(
    below,
    bounds.SEARCHED_PER_STEP,
    async (after) =>
      named(await store.endedClaimsOf(lockId, after, bounds.SEARCHED_PER_STEP), lockName as string),
    ({ claim }) => claim.ticketNumber,
  );
}

function named(claims: readonly Claim[], lockName: string): readonly Named[] {
  return claims.map((claim) => ({ claim, lockName }));
}

/** Throws StoreErrors. */
export async function* listedChanges(
  store: Pick<Store, "changes" | "limitRules">,
  query: ChangesQuery,
): AsyncGenerator<ListedChange, void, void> {
  const { lockName, fromUs, untilUs, after } = query;
  const targets = lockName === null ? null : targetsOf(lockName, await inOwnTick(() => store.limitRules()));
  const steps = stepsAfter<KeptChange, ChangePosition | null>(
    after ?? (untilUs === null ? null : { atUs: untilUs, id: 0n }),
    bounds.SEARCHED_PER_STEP,
    (before) => store.changes(targets, before, bounds.SEARCHED_PER_STEP),
    (last) => last,
  );
  yield* search(steps, {
    isWanted: (change) => isWantedChange(query, change),
    isOver: ({ atUs }) => fromUs !== null && atUs < fromUs,
    max: bounds.CHANGES_SEARCHED_MAX,
    at: ({ atUs, id }) => ({ atUs, id }),
    backToUs: ({ atUs }) => atUs,
  });
}

/** The lock, and the patterns that match its name. A rule outlives its limit, so these are all that ever were. */
function targetsOf(lockName: string, rules: readonly LimitRule[]): string[] {
  const patterns = rules.filter(({ prefix }) => lockName.startsWith(prefix)).map(patternOf);
  return [...new Set([lockName, ...patterns])];
}

function isWantedChange(query: ChangesQuery, change: KeptChange): boolean {
  const { lockName, prefix, kinds, untilUs, changedBy, isSeen } = query;
  // Another lock may be named as a pattern is written.
  if (lockName !== null && !change.isPattern && change.target !== lockName) return false;
  if (lockName === null && !change.target.startsWith(prefix)) return false;
  if (kinds.length > 0 && !kinds.includes(change.kind)) return false;
  if (changedBy !== "" && change.by !== changedBy) return false;
  return (untilUs === null || change.atUs < untilUs) && (isSeen?.(change) ?? true);
}
