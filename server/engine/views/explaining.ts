// Why a claim waits, or why a request would have to: reads one lock with its first claims and a few rows of the history, and
// finds the causes in these rows, the most important first.

import { setTimeout as sleep } from "node:timers/promises";
import { SHOWN_BY_GET_MAX, SHOWN_BY_REFUSAL_MAX } from "../../core/bounds.ts";
import { type Claim, type ClaimKey, sameSecret } from "../../core/claim.ts";
import type { Caller, Place } from "../../core/command.ts";
import { type EffectiveLimit, effectiveLimit, fits, neverFits } from "../../core/limit.ts";
import { isDraining, isExhausted, isInWantedStatus, type Lock, statusOf } from "../../core/lock.ts";
import type { KeptChange, LockView, RowHolder, Store } from "../../storage/store.ts";
import {
  ESTIMATED_FROM_MAX,
  LIMIT_CHANGES_READ,
  RECENT_CLAIMS_READ,
  ROWS_HELD_MS_MIN,
  ROWS_LOOKED_AGAIN_MS,
} from "../engine-bounds.ts";
import type { Explanation, WaitCause, WaitTarget } from "../history.ts";
import { estimate, heldTimesUs } from "./estimate.ts";
import type { ListingTurns } from "./listing-turns.ts";
import { inOwnTick, unused } from "./views.ts";

export interface ExplainingOptions {
  readonly store: Pick<
    Store,
    "view" | "views" | "claims" | "limitRules" | "changes" | "endedClaimsOf" | "rowHolder"
  >;
  readonly turns: ListingTurns;
  /** The latest time that the database's clock may show. */
  readonly nowUs: () => number;
  /** The place of a waiter; null: it does not wait. */
  readonly place: (key: ClaimKey, caller: Caller | undefined) => Promise<Place | null>;
  /** Nothing is granted before this time, because of a fail-over. */
  readonly grantsFromUs: () => number;
  /** How long commands of this server have waited for the lock's rows. */
  readonly heldUpForMs: (lockId: bigint) => number;
}

type RowsHeld = Extract<WaitCause, { kind: "rows_held" }>;

export class Explaining {
  readonly #options: ExplainingOptions;

  constructor(options: ExplainingOptions) {
    this.#options = options;
  }

  /** null: the claim does not wait, or there is none with that id. Throws Faults. */
  async explain(target: WaitTarget, caller?: Caller): Promise<Explanation | null> {
    const { turns } = this.#options;
    const basis = await turns.run(caller, () => this.#read(target, caller));
    return basis && inOwnTick(async () => explain(basis));
  }

  async #read(target: WaitTarget, caller: Caller | undefined): Promise<Basis | null> {
    const { store, nowUs, grantsFromUs, place } = this.#options;
    const view = await this.#view(target);
    if (!view) return null;
    const { lock, holders, waiters } = view;
    const claim = target.kind === "name" ? null : await this.#waiter(target, lock.id);
    if (target.kind !== "name" && !claim) return null;
    const ownPlace = claim
      ? await place(claim, caller)
      : { ahead: lock.waiting, permitsAhead: lock.waitingPermits };
    if (!ownPlace) return null;
    const limit = effectiveLimit(lock, await inOwnTick(() => store.limitRules()));
    return {
      ...{ lock, holders, waiters, claim, limit, place: ownPlace },
      limitSet: await this.#limitSet(lock, limit),
      rowsHeld: await this.#rowsHeld(lock),
      recent: await this.#recent(lock.id),
      grantsFromUs: grantsFromUs(),
      nowUs: nowUs(),
    };
  }

  async #view(target: WaitTarget): Promise<LockView | null> {
    const { store } = this.#options;
    if (target.kind === "ticket") {
      const { lockId } = target.ref;
      return (await inOwnTick(() => store.views([lockId], SHOWN_BY_GET_MAX)))[0] ?? null;
    }
    const { name } = target;
    const view = await inOwnTick(() => store.view(name, SHOWN_BY_GET_MAX));
    return view ?? { lock: unused(name), holders: [], waiters: [] };
  }

  async #waiter(target: Exclude<WaitTarget, { kind: "name" }>, lockId: bigint): Promise<Claim | null> {
    const { ticketNumber } = target.kind === "ticket" ? target.ref : target;
    const { claims } = await inOwnTick(() => this.#options.store.claims([{ lockId, ticketNumber }]));
    const [claim] = claims;
    if (claim?.state !== "waiting") return null;
    return target.kind === "claim" || sameSecret(claim.secret, target.ref.secret) ? claim : null;
  }

  /** How the limit in force was set. */
  async #limitSet({ name }: Lock, { limit, source, pattern }: EffectiveLimit): Promise<KeptChange | null> {
    if (source === "default") return null;
    const { store } = this.#options;
    const target = source === "name" ? name : pattern;
    const changes = await inOwnTick(() => store.changes([target], null, LIMIT_CHANGES_READ));
    const last = changes.find(
      ({ kind, isPattern }) => kind === "limit" && isPattern === (source === "pattern"),
    );
    return last?.to === String(limit) ? last : null;
  }

  /** A transaction that holds the rows now and for longer than decisions do. */
  async #rowsHeld({ id, revision }: Lock): Promise<RowsHeld | null> {
    const forMs = this.#options.heldUpForMs(id);
    const first = await this.#rowHolder(id);
    if (forMs >= ROWS_HELD_MS_MIN) return { kind: "rows_held", holder: first, forUs: forMs * 1_000 };
    if (!first) return null;
    // It may be a decision of another server, which is over soon and writes the lock.
    await sleep(ROWS_LOOKED_AGAIN_MS);
    const again = await this.#rowHolder(id);
    if (again?.connectionId !== first.connectionId) return null;
    const [now] = await inOwnTick(() => this.#options.store.views([id], 0));
    return now?.lock.revision === revision ? { kind: "rows_held", holder: again, forUs: null } : null;
  }

  #rowHolder(lockId: bigint): Promise<RowHolder | null> {
    return inOwnTick(() => this.#options.store.rowHolder(lockId));
  }

  /** Recent ended claims, as many as make an estimate. */
  async #recent(lockId: bigint): Promise<readonly Claim[]> {
    const { store } = this.#options;
    const found: Claim[] = [];
    while (found.length < RECENT_CLAIMS_READ && heldTimesUs(found).length < ESTIMATED_FROM_MAX) {
      const below = found.at(-1)?.ticketNumber ?? null;
      const step = await inOwnTick(() => store.endedClaimsOf(lockId, below, ESTIMATED_FROM_MAX));
      found.push(...step);
      if (step.length < ESTIMATED_FROM_MAX) break;
    }
    return found;
  }
}

/** What an explanation rests on. */
export interface Basis {
  readonly nowUs: number;
  readonly lock: Lock;
  readonly limit: EffectiveLimit;
  /** How the limit was set, if the history still has that. */
  readonly limitSet: KeptChange | null;
  /** The oldest holders, and the first waiters. */
  readonly holders: readonly Claim[];
  readonly waiters: readonly Claim[];
  /** The waiter; null: a request for one permit that would come now. */
  readonly claim: Claim | null;
  readonly place: Pick<Place, "ahead" | "permitsAhead">;
  /** Nothing is granted before this time, because of a fail-over. */
  readonly grantsFromUs: number;
  readonly rowsHeld: Extract<WaitCause, { kind: "rows_held" }> | null;
  /** Ended claims of the lock, newest first. */
  readonly recent: readonly Claim[];
}

const ONE_PERMIT = { mode: "permit", permits: 1, terms: null } as const;

export function explain(basis: Basis): Explanation {
  const { nowUs, lock, limit, limitSet, claim, place } = basis;
  const causes = [...causesOf(basis)];
  return { nowUs, lock, limit, limitSet, claim, place, causes, estimate: estimateOf(basis, causes) };
}

function* causesOf(basis: Basis): Generator<WaitCause, void, void> {
  const { nowUs, lock, limit: inForce, limitSet, claim, place, grantsFromUs, rowsHeld } = basis;
  const { limit } = inForce;
  const asked = claim ?? ONE_PERMIT;
  if (grantsFromUs > nowUs) yield { kind: "failed_over", untilUs: grantsFromUs };
  if (rowsHeld) yield rowsHeld;
  if (limit === 0 || isDraining(lock, limit) || neverFits(limit, asked))
    yield { kind: "limit", limit: inForce, set: limitSet };
  const notBeforeUs = lock.record?.notBeforeUs ?? 0;
  if (notBeforeUs > nowUs) yield { kind: "not_before", untilUs: notBeforeUs };
  if (isExhausted(lock)) yield { kind: "exhausted" };
  if (!isInWantedStatus(lock, asked.terms)) yield { kind: "status", status: statusOf(lock) };
  // A limit of 0 is a cause of its own: who would be in the way of any limit is named, too.
  if (lock.holders > 0 && !fits(lock, Math.max(1, limit), asked)) yield heldBy(basis);
  if (place.ahead > 0) yield { kind: "queued", ...aheadOf(basis) };
}

function heldBy({ lock, holders }: Basis): WaitCause {
  const ends = holders.flatMap(({ deadlineUs }) => (deadlineUs === null ? [] : [deadlineUs]));
  return {
    kind: "held",
    holders: holders.slice(0, SHOWN_BY_REFUSAL_MAX),
    holderCount: lock.holders,
    firstEndsAtUs: ends.length === 0 ? null : Math.min(...ends),
  };
}

function aheadOf(basis: Basis) {
  const { ahead, permitsAhead } = basis.place;
  return { ahead, permitsAhead, first: waitersAhead(basis).slice(0, SHOWN_BY_REFUSAL_MAX) };
}

function waitersAhead({ waiters, claim }: Basis): readonly Claim[] {
  return claim ? waiters.filter(({ ticketNumber }) => ticketNumber < claim.ticketNumber) : waiters;
}

/** Recent leases say how long those last that hold the lock or wait for it, and nothing about other causes. */
function estimateOf(basis: Basis, causes: readonly WaitCause[]): Explanation["estimate"] {
  const { limit, claim, place } = basis;
  const asked = claim ?? ONE_PERMIT;
  const isOnlyOthers = causes.every(({ kind }) => kind === "held" || kind === "queued" || kind === "limit");
  if (causes.length === 0 || !isOnlyOthers || limit.limit === 0 || neverFits(limit.limit, asked)) return null;
  const { ahead } = place;
  return estimate({ ...basis, limit: limit.limit, waiters: waitersAhead(basis), ahead, asked });
}
