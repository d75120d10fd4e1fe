// Reads any number of locks for display, in small steps. Each step has its own turn of the event loop: an embedded
// database answers without a pause, and calls that keep leases must run in between. Reads no more than is
// taken. Throws StoreErrors.

import { setImmediate as nextTurn } from "node:timers/promises";
import { SHOWN_BY_LIST_MAX } from "../../core/bounds.ts";
import type { GuardRow } from "../../core/lock.ts";
import type { LockQuery, LockView, Store, WaitedLock } from "../../storage/store.ts";
import { CLAIMS_PER_STEP_MAX } from "../engine-bounds.ts";

/** Runs one step of a longer read. */
export async function inOwnTurn<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  await nextTurn();
  return await read();
}

/** At most `max` guard rows, in the byte order of their names. */
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

/** The locks, in this order, with their first claims; leaves out locks that are gone by then. */
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

/** Most locks of a long listing are idle and have no record: the guard row is all there is to read. */
function isIdle(lock: GuardRow | WaitedLock): lock is GuardRow {
  return lock.holders + lock.waiting === 0 && "name" in lock && !lock.hasRecord;
}

function idle({ hasRecord: _none, ...counters }: GuardRow): LockView {
  return { lock: { ...counters, record: null }, holders: [], waiters: [] };
}

/** Parts of as many locks as have no more claims to show than one step reads, but at least one lock. */
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
