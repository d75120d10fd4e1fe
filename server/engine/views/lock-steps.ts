// Locks read for display, however many, in small steps. Each step has a turn of the event loop of its own: an embedded
// database answers without a pause, and whoever keeps a lease must come in between. What is not taken is not read. Throws
// StoreErrors.

import { setImmediate as nextTurn } from "node:timers/promises";
import { SHOWN_BY_LIST_MAX } from "../../core/bounds.ts";
import type { GuardRow } from "../../core/lock.ts";
import type { LockQuery, LockView, Store, WaitedLock } from "../../storage/store.ts";
import { CLAIMS_PER_STEP_MAX } from "../engine-bounds.ts";

/** A step of a longer read. */
export async function inOwnTurn<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  await nextTurn();
  return await read();
}

/** Guard rows in byte order of their names, `max` of them at the most. */
export async function* lockSteps(
  store: Pick<Store, "list">,
  query: LockQuery,
): AsyncGenerator<readonly GuardRow[], void, void> {
  let { afterName, max } = query;
  do {
    const { locks, next } = await inOwnTurn(() => store.list({ ...query, afterName, max }));
    yield locks;
    max -= locks.length;
    afterName = next;
  } while (afterName !== null && max > 0);
}

/** The locks, in this order, with their first claims; those that are gone by then are left out. */
export async function* viewSteps(
  store: Pick<Store, "views">,
  locks: readonly (GuardRow | WaitedLock)[],
): AsyncGenerator<LockView, void, void> {
  for (const part of partsOf(locks)) {
    const ids = part.filter((lock) => !isIdle(lock)).map(({ id }) => id);
    const read = ids.length === 0 ? [] : await inOwnTurn(() => store.views(ids, SHOWN_BY_LIST_MAX));
    const views = new Map(read.map((view) => [view.lock.id, view]));
    for (const lock of part) {
      const view = isIdle(lock) ? idle(lock) : views.get(lock.id);
      if (view) yield view;
    }
  }
}

/** Most locks of a long listing are idle and remember nothing: nothing is to be read beside the guard row. */
function isIdle(lock: GuardRow | WaitedLock): lock is GuardRow {
  return lock.holders + lock.waiting === 0 && "name" in lock && !lock.hasRecord;
}

function idle({ hasRecord: _none, ...counters }: GuardRow): LockView {
  return { lock: { ...counters, record: null }, holders: [], waiters: [] };
}

/** As many locks at a time as have no more claims to show than a step reads; one at least. */
function* partsOf(
  locks: readonly (GuardRow | WaitedLock)[],
): Generator<(GuardRow | WaitedLock)[], void, void> {
  let part: (GuardRow | WaitedLock)[] = [];
  let claims = 0;
  for (const lock of locks) {
    const own = Math.min(lock.holders, SHOWN_BY_LIST_MAX) + Math.min(lock.waiting, SHOWN_BY_LIST_MAX);
    if (claims + own > CLAIMS_PER_STEP_MAX) {
      yield part;
      part = [];
      claims = 0;
    }
    part.push(lock);
    claims += own;
  }
  yield part;
}
