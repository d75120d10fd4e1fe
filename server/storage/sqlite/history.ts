// Ended claims and changes: reads for display, and cleaning. Each read goes along an index.

import { setImmediate as otherWork } from "node:timers/promises";
import { inOrder } from "../../core/claim.ts";
import {
  type EndedKey,
  endedKeyFromRow,
  endedUntil,
  forgetStep,
  historyFromRow,
  newestEnded,
  oldestByClass,
  requestedFromRow,
  requestsOfClients,
  searchTicket,
} from "../rows/ended-order.ts";
import { claimFromRow, endedClaimFromRow, type Row } from "../rows/from-rows.ts";
import { changeFromRow, changeValues, newestChanges } from "../rows/kept-changes.ts";
import { bytesOf } from "../rows/values.ts";
import { PURGE_SLICE } from "../storage-bounds.ts";
import type { ChangePosition, EndedPosition, Store } from "../store.ts";
import type { SqliteHandle } from "./handle.ts";

/** Above all numbers of claims and changes, and after all times. */
const HIGHEST = 2n ** 63n - 1n;
const NEWEST: EndedPosition = { endedAtUs: Number.MAX_SAFE_INTEGER, lockId: HIGHEST, ticketNumber: HIGHEST };
const NEWEST_CHANGE: ChangePosition = { atUs: Number.MAX_SAFE_INTEGER, id: HIGHEST };

export function history(handle: SqliteHandle) {
  const { statements, nowUs } = handle;

  /** The times for which ended claims are kept. */
  function classes(): number[] {
    const found: number[] = [];
    for (let next = -1; ; ) {
      const [keptFor = null] = statements.get("next_history_class", next) ?? [];
      if (keptFor === null) return found;
      next = Number(keptFor);
      found.push(next);
    }
  }

  /** Deletes the oldest claims that ended until then, in slices between which this process does its other work. */
  async function removeInSlices(
    endedUntilUs: (keptForS: number) => number,
    max: number,
    removedTo: (lastUs: number) => void = () => {},
  ): Promise<number> {
    for (let removed = 0; ; await otherWork()) {
      const slice = Math.min(max - removed, PURGE_SLICE);
      const removedNow = removeOldest(endedUntilUs, slice, removedTo);
      removed += removedNow;
      if (removedNow < slice || removed === max) return removed;
    }
  }

  function removeOldest(
    endedUntilUs: (keptForS: number) => number,
    max: number,
    removedTo: (lastUs: number) => void,
  ): number {
    const removed = handle.inTransaction(() => {
      const keys = classes().flatMap((keptForS) =>
        statements.all("ended_until", keptForS, endedUntilUs(keptForS), max).map(endedKeyFromRow),
      );
      let removed = 0;
      for (const ofClass of oldestByClass(keys, max).values()) {
        const { keptForS, endedAtUs, lockId, ticketNumber } = ofClass.at(-1) as EndedKey;
        const upTo = [keptForS, endedAtUs, lockId, ticketNumber] as const;
        forgetRequests(statements.all("requests_until", ...upTo));
        removed += statements.run("purge_claims", ...upTo);
        removedTo(endedAtUs);
      }
      return removed;
    });
    handle.countEnded(-removed);
    return removed;
  }

  function forgetRequests(ended: readonly Row[]): void {
    for (const { key, lockId, ticketNumber } of requestsOfClients(ended))
      statements.run("forget_request", key, lockId, ticketNumber);
  }

  const requested = (row: Row | undefined) => (row ? requestedFromRow(row) : null);

  return {
    liveClaimsOf: async (lockId, afterTicket, max) =>
      inOrder(statements.all("live_claims", lockId, afterTicket, max).map(claimFromRow)).slice(0, max),

    endedClaimsOf: async (lockId, belowTicket, max) =>
      statements.all("ended_of_lock", lockId, belowTicket ?? HIGHEST, max).map(claimFromRow),

    ticketAfter: (lockId, atUs) =>
      searchTicket(
        requested(statements.get("requested_last", lockId)),
        async (ticketNumber) => requested(statements.get("requested_from", lockId, ticketNumber)),
        atUs,
      ),

    async endedClaims(from, max) {
      const { endedAtUs, lockId, ticketNumber } = from ?? NEWEST;
      const found = classes().flatMap((keptForS) =>
        statements.all("ended_claims", keptForS, endedAtUs, lockId, ticketNumber, max).map(endedClaimFromRow),
      );
      return newestEnded(found, max);
    },

    async historyStats() {
      const atUs = nowUs();
      const overdueUs = classes().flatMap((keptForS) =>
        statements
          .all("ended_until", keptForS, endedUntil(atUs, keptForS), 1)
          .map((row) => endedUntil(atUs, keptForS) - endedKeyFromRow(row).endedAtUs),
      );
      return { rows: handle.endedCount, overdueUs: Math.max(0, ...overdueUs) };
    },

    purgeClaims: async (untilUs, max) => {
      const kept = Math.min(untilUs, nowUs());
      return removeInSlices((keptForS) => endedUntil(kept, keptForS), max);
    },

    forgetRequests: async (fromUs, untilUs, max) => {
      // Fewer than are asked for, because this process does nothing else meanwhile.
      const slice = Math.min(max, PURGE_SLICE);
      return handle.inTransaction(() => {
        const keys = classes().flatMap((keptForS) =>
          statements.all("ended_from", keptForS, fromUs, untilUs, slice).map(endedKeyFromRow),
        );
        const step = forgetStep(keys, fromUs, slice);
        for (const keptForS of step?.keptForS ?? [])
          forgetRequests(statements.all("requests_between", keptForS, fromUs, step?.toUs ?? fromUs));
        return step?.nextUs ?? null;
      });
    },

    noteKeptBy: async (settings) => {
      handle.inTransaction(() => statements.run("note_kept_by", bytesOf(settings), nowUs()));
    },

    historyFrom: async () => historyFromRow(statements.get("history_from") ?? []),

    trimHistory: (untilUs, max) =>
      removeInSlices(
        () => untilUs - 1,
        max,
        (lastUs) => statements.run("raise_claims_from", lastUs + 1),
      ),

    async noteChange(change) {
      handle.inTransaction(() => statements.run("add_change", ...changeValues(change, nowUs())));
    },

    async changes(targets, before, max) {
      const { atUs, id } = before ?? NEWEST_CHANGE;
      if (targets === null) return statements.all("changes", atUs, id, max).map(changeFromRow);
      const found = [...new Set(targets)].flatMap((target) =>
        statements.all("changes_of_target", bytesOf(target), atUs, id, max).map(changeFromRow),
      );
      return newestChanges(found, max);
    },

    purgeChanges: async (untilUs, keptMax, max) =>
      handle.inTransaction(() => {
        const old = statements.run("purge_changes", untilUs, max);
        const surplus = Number(statements.get("count_changes")?.[0]) - keptMax;
        if (surplus <= 0 || old === max) return old;
        const early = Math.min(surplus, max - old);
        statements.run("raise_changes_from", early - 1);
        return old + statements.run("purge_changes", HIGHEST, early);
      }),

    /** One process has the file to itself. */
    rowHolder: async () => null,
  } satisfies Partial<Store>;
}
