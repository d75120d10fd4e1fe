// Whether all rows of each claim for several locks are there, and in the same state. The database cannot read its list.

import { keyText, type Member } from "../../core/claim.ts";
import { bigintOf, membersOf, textOf } from "../rows/from-rows.ts";
import { CLAIM_KEY_LIST } from "../rows/placement.ts";
import { CHECK_PAGE } from "../storage-bounds.ts";
import type { Finding } from "../store.ts";
import { keyAfter, type PageKey } from "./check-pages.ts";
import { rowsOf, type Steps } from "./steps.ts";

/** In pages. Each row ends with its key. */
const ROWS: readonly (readonly [sql: string, first: PageKey])[] = [
  [
    `SELECT l.holder_members, l.holder_state, l.id FROM rowlock_lock l
      WHERE l.id > :lockId AND l.holder_state <> 0 AND l.holder_members IS NOT NULL ORDER BY l.id LIMIT ${CHECK_PAGE}`,
    { lockId: 0n },
  ],
  [
    `SELECT c.members, c.state, ${CLAIM_KEY_LIST} FROM rowlock_claim c WHERE c.members IS NOT NULL
      AND (${CLAIM_KEY_LIST}) > (:lockId, :place, :ticketNumber) ORDER BY ${CLAIM_KEY_LIST} LIMIT ${CHECK_PAGE}`,
    { lockId: 0n, place: 0n, ticketNumber: 0n },
  ],
];

interface Seen {
  readonly lead: Member;
  /** Of these, how many rows are missing. */
  missing: number;
  readonly states: Set<number>;
}

export function* checkSets(findings: Finding[], max: number): Steps<void> {
  const sets = new Map<string, Seen>();
  for (const [sql, first] of ROWS) {
    for (let after: PageKey | null = first; after; ) {
      const page = yield* rowsOf("check_sets", [sql, after]);
      for (const [members, state] of page) see(sets, membersOf(textOf(members)), Number(bigintOf(state)));
      after = keyAfter(page, first);
    }
  }
  for (const { lead, missing, states } of sets.values()) {
    if ((missing === 0 && states.size === 1) || findings.length >= max) continue;
    const what = missing === 0 ? "has rows in different states" : `lacks ${missing} of its rows`;
    const message = `Claim ${lead.ticketNumber} of lock ${JSON.stringify(lead.name)}, which is for several locks, ${what}.`;
    findings.push({ severity: "error", check: "sets", message });
  }
}

function see(sets: Map<string, Seen>, members: readonly Member[], state: number): void {
  const [lead] = members as readonly [Member];
  const key = keyText(lead);
  const seen = sets.get(key) ?? { lead, missing: members.length, states: new Set() };
  seen.missing -= 1;
  seen.states.add(state);
  sets.set(key, seen);
}
