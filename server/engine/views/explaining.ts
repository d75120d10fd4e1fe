// Why a claim waits, or why a request would have to: reads its locks with their first claims and a few rows of the history.
// wait-causes.ts finds the causes in these rows.

import { setTimeout as sleep } from "node:timers/promises";
import { SHOWN_BY_GET_MAX, SHOWN_BY_LIST_MAX } from "../../core/bounds.ts";
import { type Claim, isEntering, keyText, type Member, sameSecret } from "../../core/claim.ts";
import type { Caller, Place } from "../../core/command.ts";
import { type EffectiveLimit, effectiveLimit, effectiveRate, type LimitRule } from "../../core/limit.ts";
import type { Lock } from "../../core/lock.ts";
import { settingsOf } from "../../core/noted-change.ts";
import { longestPlace } from "../../core/sets.ts";
import type { KeptChange, LockView, Store } from "../../storage/store.ts";
import type { Waiter } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import type { Explanation, WaitTarget } from "../history.ts";
import { heldTimesUs } from "./estimate.ts";
import { poolRowsOver } from "./pool-views.ts";
import { inOwnTick, type ListingTurns, viewOrUnused } from "./views.ts";
import { type Basis, causesAt, explain, type LockBasis } from "./wait-causes.ts";

export interface ExplainingOptions {
  readonly store: Pick<
    Store,
    "view" | "views" | "claims" | "limitRules" | "changes" | "endedClaimsOf" | "rowHolder"
  >;
  readonly turns: ListingTurns;
  /** The latest time that the database's clock may show. */
  readonly nowUs: () => number;
  readonly subscribers: {
    /** The places of a waiter, at each of its locks or at a pool; empty: it does not wait. */
    readonly places: {
      atEach(waiter: Waiter, caller: Caller | undefined): Promise<readonly Place[]>;
    };
  };
  /** Nothing is granted before this time, because of a fail-over. */
  readonly checked: { readonly grantsFromUs: number };
  /** How long commands of this server have waited for the lock's rows. */
  readonly lanes: { heldUpForMs(lockId: bigint): number };
}

type RowsHeld = NonNullable<LockBasis["rowsHeld"]>;
type Source = ExplainingOptions["store"];

/** null: the claim does not wait, or there is none with that id. Throws Faults. */
export async function explainWait(
  target: WaitTarget,
  caller: Caller | undefined,
  options: ExplainingOptions,
): Promise<Explanation | null> {
  const basis = await options.turns.run(() => read(target, caller, options), caller);
  return basis && inOwnTick(async () => explain(basis));
}

async function read(
  target: WaitTarget,
  caller: Caller | undefined,
  options: ExplainingOptions,
): Promise<Basis | null> {
  const { store, subscribers, checked, nowUs } = options;
  const view = await inOwnTick(() => viewOf(target, store));
  if (!view) return null;
  const { lock } = view;
  const claim = target.kind === "name" ? null : await waiterOf(target, lock.id, store);
  if (target.kind !== "name" && !claim) return null;
  const rows = claim ? await rowsOfWhole(claim, store) : [];
  const [lead] = rows;
  const places = lead ? await subscribers.places.atEach(lead, caller) : [placeAtTheEnd(lock)];
  const place = longestPlace(places);
  if (!place) return null;
  const rules = await inOwnTick(() => store.limitRules());
  const reading = new Reading(options, rules, nowUs());
  const names = claim?.members?.map(({ name }) => name) ?? [lock.name];
  const pools = await inOwnTick(() => poolRowsOver(names, rules, store));
  const common = {
    grantsFromUs: checked.grantsFromUs,
    nowUs: reading.nowUs,
    isOwn: target.kind === "ticket",
  };
  if (!claim?.members) {
    const recent = await recentOf(lock.id, store);
    return { ...(await reading.at(view, claim, place)), ...common, recent, pools, each: null };
  }
  const each: LockBasis[] = [];
  for (const [at, row] of rows.entries()) {
    const { name } = claim.members[at] as Member;
    const here = places.find(({ waitsFor }) => waitsFor === name) ?? FIRST;
    const there = row.lockId === lock.id ? view : await viewWith(row, store);
    if (there) each.push(await reading.at(there, row, here));
  }
  const own = each.find((at) => at.lock.id === lock.id);
  return own ? { ...own, ...common, place, pools, each: await withRecent(each, reading.nowUs, store) } : null;
}

/** Of a claim with nobody ahead: at a lock that it has, while it waits at a pool. */
const FIRST: Place = { ahead: 0, permitsAhead: 0, queueLength: 1 };

function placeAtTheEnd({ waiting, waitingPermits }: Lock): Place {
  return { ahead: waiting, permitsAhead: waitingPermits, queueLength: waiting };
}

async function viewOf(target: WaitTarget, store: Source): Promise<LockView | undefined> {
  if (target.kind !== "ticket") return await viewOrUnused(store, target.name, SHOWN_BY_GET_MAX);
  return (await store.views([target.ref.lockId], SHOWN_BY_GET_MAX))[0];
}

async function viewWith(
  { lockId }: Pick<Claim, "lockId">,
  store: Source,
  shown = SHOWN_BY_GET_MAX,
): Promise<LockView | undefined> {
  return (await inOwnTick(() => store.views([lockId], shown)))[0];
}

async function waiterOf(
  target: Exclude<WaitTarget, { kind: "name" }>,
  lockId: bigint,
  store: Source,
): Promise<Claim | null> {
  const { ticketNumber } = target.kind === "ticket" ? target.ref : target;
  const { claims } = await inOwnTick(() => store.claims([{ lockId, ticketNumber }]));
  const [claim] = claims;
  if (claim?.state !== "waiting") return null;
  return target.kind === "claim" || sameSecret(claim.secret, target.ref.secret) ? claim : null;
}

/** The claim's rows at all of its locks, the lead first; empty: it waits no more. */
async function rowsOfWhole(claim: Claim, store: Source): Promise<readonly Claim[]> {
  const { members } = claim;
  if (!members) return [claim];
  const { claims } = await inOwnTick(() => store.claims(members));
  const byKey = new Map(claims.map((row) => [keyText(row), row]));
  const rows = members.flatMap((member) => byKey.get(keyText(member)) ?? []);
  return rows.length === members.length && rows.every(({ state }) => state === "waiting") ? rows : [];
}

/** Reads what is in the way at one lock after the other. */
class Reading {
  readonly nowUs: number;
  readonly #options: ExplainingOptions;
  readonly #rules: readonly LimitRule[];

  constructor(options: ExplainingOptions, rules: readonly LimitRule[], nowUs: number) {
    this.#options = options;
    this.#rules = rules;
    this.nowUs = nowUs;
  }

  async at(view: LockView, claim: Claim | null, place: Place): Promise<LockBasis> {
    const { store, lanes } = this.#options;
    const basis = this.#basis(view, claim, place);
    const { lock, limit } = basis;
    return {
      ...basis,
      limitSet: await limitSetOf(lock, limit, store),
      rowsHeld: await rowsHeldOf(lock, lanes.heldUpForMs(lock.id), store),
      firstWaitsFor: place.ahead > 0 ? await this.#firstWaitsFor(basis) : undefined,
    };
  }

  #basis({ lock, holders, waiters }: LockView, claim: Claim | null, place: Place): LockBasis {
    const limit = effectiveLimit(lock, this.#rules);
    const rate = effectiveRate(lock, this.#rules);
    return { lock, holders, waiters, claim, place, limit, rate, limitSet: null, rowsHeld: null, recent: [] };
  }

  /** Whoever is behind a claim for several locks learns for which of them that waits, if this one would be free for it. */
  async #firstWaitsFor({ lock, holders, waiters }: LockBasis): Promise<readonly string[] | undefined> {
    const first = waiters.find((waiter) => !isEntering(waiter));
    if (!first?.members || this.#isInItsWay({ lock, holders, waiters }, first)) return undefined;
    const names: string[] = [];
    for (const { name, ...there } of first.members) {
      if (there.lockId === lock.id) continue;
      const view = await viewWith(there, this.#options.store, SHOWN_BY_LIST_MAX);
      if (view && this.#isInItsWay(view, { ...first, ...there })) names.push(name);
    }
    return names.length > 0 ? names : undefined;
  }

  #isInItsWay(view: LockView, claim: Claim): boolean {
    const isAhead = (other: Claim) => other.ticketNumber < claim.ticketNumber && !isEntering(other);
    if (view.waiters.some(isAhead)) return true;
    return !causesAt(this.#basis(view, claim, FIRST), this.nowUs).next().done;
  }
}

/** Recent claims make an estimate where only one lock is in the way. */
async function withRecent(
  each: readonly LockBasis[],
  nowUs: number,
  store: Source,
): Promise<readonly LockBasis[]> {
  const inTheWay = each.filter((at) => !causesAt(at, nowUs).next().done);
  const [one] = inTheWay;
  if (!one || inTheWay.length > 1) return each;
  const recent = await recentOf(one.lock.id, store);
  return each.map((at) => (at === one ? { ...at, recent } : at));
}

/** How the limit in force was set: a change of the rate beside it says nothing of that. */
async function limitSetOf(
  { name }: Lock,
  { limit, source, pattern }: EffectiveLimit,
  store: Source,
): Promise<KeptChange | null> {
  if (source === "default") return null;
  const target = source === "name" ? name : pattern;
  const changes = await inOwnTick(() => store.changes([target], null, bounds.LIMIT_CHANGES_READ));
  const isOfPattern = source === "pattern";
  const last = changes.find(
    ({ kind, isPattern, from, to }) =>
      kind === "limit" &&
      isPattern === isOfPattern &&
      (from === to || settingsOf(from).limit !== settingsOf(to).limit),
  );
  return last && settingsOf(last.to).limit === limit ? last : null;
}

/** A transaction that holds the rows now and for longer than decisions do. `forMs`: how long commands have waited. */
async function rowsHeldOf({ id, revision }: Lock, forMs: number, store: Source): Promise<RowsHeld | null> {
  const first = await inOwnTick(() => store.rowHolder(id));
  if (forMs >= bounds.ROWS_HELD_MS_MIN) return { kind: "rows_held", holder: first, forUs: forMs * 1_000 };
  if (!first) return null;
  // It may be a decision of another server, which is over soon and writes the lock.
  await sleep(bounds.ROWS_LOOKED_AGAIN_MS);
  const again = await inOwnTick(() => store.rowHolder(id));
  if (again?.connectionId !== first.connectionId) return null;
  const [now] = await inOwnTick(() => store.views([id], 0));
  return now?.lock.revision === revision ? { kind: "rows_held", holder: again, forUs: null } : null;
}

/** Recent ended claims, as many as make an estimate. */
async function recentOf(lockId: bigint, store: Source): Promise<readonly Claim[]> {
  const atOnce = bounds.ESTIMATED_FROM_MAX;
  const found: Claim[] = [];
  while (found.length < bounds.RECENT_CLAIMS_READ && heldTimesUs(found).length < atOnce) {
    const below = found.at(-1)?.ticketNumber ?? null;
    const step = await inOwnTick(() => store.endedClaimsOf(lockId, below, atOnce));
    found.push(...step);
    if (step.length < atOnce) break;
  }
  return found;
}
