// Lists claims: live ones by the names of their locks, then ended ones, newest first. Reads along the order of the
// listing in small steps, and begins and ends where the order allows it; everything else is a filter. A claim that ends
// while its listing is read is not lost: the ended ones are read after the live ones, from the newest on.

import { type Claim, inOrder } from "../../core/claim.ts";
import { isOwnName } from "../../core/lock.ts";
import type { EndedClaim, EndedPosition, Store } from "../../storage/store.ts";
import { CLAIMS_PER_STEP_MAX, CLAIMS_SEARCHED_MAX, SEARCHED_PER_STEP } from "../engine-bounds.ts";
import type { ClaimPosition, ClaimsQuery, ListedClaim } from "../history.ts";
import { search, stepsAfter } from "./search.ts";
import { inOwnTick, viewSteps } from "./views.ts";

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
  const lockId = lockName === null ? null : await idOf(store, lockName);
  if (lockId === undefined) return;
  const wanted = { isWanted: (named: Named) => isWanted(query, named), max: CLAIMS_SEARCHED_MAX };
  if (after?.kind !== "ended" && wantsLive(query, nowUs)) {
    const steps = lockId === null ? liveSteps(store, query, after) : liveStepsOf(store, query, lockId, after);
    const at = ({ claim: { ticketNumber }, lockName }: Named): Live => ({
      kind: "live",
      lockName,
      ticketNumber,
    });
    for await (const listed of search(steps, { ...wanted, at, backToUs: () => null })) {
      yield listed;
      if (listed.kind === "stopped") return;
    }
  }
  if (!wantsEnded(query)) return;
  const from = after?.kind === "ended" ? after : null;
  const steps = lockId === null ? endedSteps(store, query, from) : endedStepsOf(store, query, lockId, from);
  yield* search(steps, {
    ...wanted,
    isOver: ({ claim }) => lockId === null && endOf(claim) < (query.fromUs ?? Number.NEGATIVE_INFINITY),
    at: ({ claim }) => ({ kind: "ended", ...positionOf(claim) }),
    backToUs: ({ claim }) => (lockId === null ? endOf(claim) : claim.requestedAtUs),
  });
}

/** undefined: there is no such lock. */
async function idOf(store: ClaimsSource, lockName: string): Promise<bigint | undefined> {
  return (await inOwnTick(() => store.view(lockName, 0)))?.lock.id;
}

function wantsLive({ states, endReasons, untilUs }: ClaimsQuery, nowUs: number): boolean {
  if (endReasons.length > 0 || (untilUs !== null && untilUs <= nowUs)) return false;
  return states.length === 0 || states.some((state) => state !== "ended");
}

function wantsEnded({ states }: ClaimsQuery): boolean {
  return states.length === 0 || states.includes("ended");
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
    const query = { prefix, afterName, max: SEARCHED_PER_STEP, which: "busy" as const };
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

function liveStepsOf(
  store: ClaimsSource,
  { lockName }: ClaimsQuery,
  lockId: bigint,
  after: Live | null,
): Steps {
  return liveClaims(store, lockId, lockName as string, after?.ticketNumber ?? 0n);
}

function liveClaims(store: ClaimsSource, lockId: bigint, lockName: string, afterTicket: bigint): Steps {
  return stepsAfter(
    afterTicket,
    CLAIMS_PER_STEP_MAX,
    async (after) => named(await store.liveClaimsOf(lockId, after, CLAIMS_PER_STEP_MAX), lockName),
    ({ claim }) => claim.ticketNumber,
  );
}

/** Ended claims of all locks, by their ends. */
function endedSteps(store: ClaimsSource, { untilUs }: ClaimsQuery, from: Ended | null): Steps {
  return stepsAfter<Named, EndedPosition | null>(
    from ?? (untilUs === null ? null : { endedAtUs: untilUs, lockId: 0n, ticketNumber: 0n }),
    SEARCHED_PER_STEP,
    (after) => store.endedClaims(after, SEARCHED_PER_STEP),
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
    SEARCHED_PER_STEP,
    async (after) => named(await store.endedClaimsOf(lockId, after, SEARCHED_PER_STEP), lockName as string),
    ({ claim }) => claim.ticketNumber,
  );
}

function named(claims: readonly Claim[], lockName: string): readonly Named[] {
  return claims.map((claim) => ({ claim, lockName }));
}
