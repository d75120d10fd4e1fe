// Lists claims: live ones by the names of their locks, then ended ones, newest first. Reads along the order of the
// listing in small steps, and begins and ends where the order allows it; everything else is a filter. A claim that ends
// while its listing is read is not lost: the ended ones are read after the live ones, from the newest on.

import { type Claim, inOrder } from "../../core/claim.ts";
import { isOwnName } from "../../core/lock.ts";
import type { EndedClaim, Store } from "../../storage/store.ts";
import { CLAIMS_PER_STEP_MAX, CLAIMS_SEARCHED_MAX, SEARCHED_PER_STEP } from "../engine-bounds.ts";
import type { ClaimPosition, ClaimsQuery, ListedClaim } from "../history.ts";
import { search } from "./search.ts";
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
  if (after?.kind !== "ended" && wantsLive(query, nowUs)) {
    const steps = lockId === null ? liveSteps(store, query, after) : liveStepsOf(store, query, lockId, after);
    for await (const { kind, item } of search(steps, {
      isWanted: (named) => isWanted(query, named),
      max: CLAIMS_SEARCHED_MAX,
    })) {
      const { claim, lockName } = item;
      const at: Live = { kind: "live", lockName, ticketNumber: claim.ticketNumber };
      yield kind === "found" ? { kind, ...item, at } : { kind, at, backToUs: null };
      if (kind === "stopped") return;
    }
  }
  if (!wantsEnded(query)) return;
  const from = after?.kind === "ended" ? after : null;
  const steps = lockId === null ? endedSteps(store, query, from) : endedStepsOf(store, query, lockId, from);
  for await (const { kind, item } of search(steps, {
    isWanted: (named) => isWanted(query, named),
    isOver: ({ claim }) => lockId === null && endOf(claim) < (query.fromUs ?? Number.NEGATIVE_INFINITY),
    max: CLAIMS_SEARCHED_MAX,
  })) {
    const { claim } = item;
    const { ticketNumber } = claim;
    const at: Ended = { kind: "ended", endedAtUs: endOf(claim), lockId: claim.lockId, ticketNumber };
    if (kind === "found") yield { kind, ...item, at };
    else yield { kind, at, backToUs: lockId === null ? endOf(claim) : claim.requestedAtUs };
  }
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
      else yield shown.map((claim) => ({ claim, lockName: lock.name }));
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

async function* liveClaims(
  store: ClaimsSource,
  lockId: bigint,
  lockName: string,
  afterTicket: bigint,
): Steps {
  for (let after = afterTicket; ; ) {
    const claims = await inOwnTick(() => store.liveClaimsOf(lockId, after, CLAIMS_PER_STEP_MAX));
    yield claims.map((claim) => ({ claim, lockName }));
    const last = claims.at(-1);
    if (!last || claims.length < CLAIMS_PER_STEP_MAX) return;
    after = last.ticketNumber;
  }
}

/** Ended claims of all locks, by their ends. */
async function* endedSteps(store: ClaimsSource, { untilUs }: ClaimsQuery, from: Ended | null): Steps {
  let position = from ?? (untilUs === null ? null : { endedAtUs: untilUs, lockId: 0n, ticketNumber: 0n });
  for (;;) {
    const claims = await inOwnTick(() => store.endedClaims(position, SEARCHED_PER_STEP));
    yield claims;
    const last = claims.at(-1)?.claim;
    if (!last || claims.length < SEARCHED_PER_STEP) return;
    position = { endedAtUs: endOf(last), lockId: last.lockId, ticketNumber: last.ticketNumber };
  }
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
  for (;;) {
    const claims = await inOwnTick(() => store.endedClaimsOf(lockId, below, SEARCHED_PER_STEP));
    yield claims.map((claim) => ({ claim, lockName: lockName as string }));
    const last = claims.at(-1);
    if (!last || claims.length < SEARCHED_PER_STEP) return;
    below = last.ticketNumber;
  }
}
