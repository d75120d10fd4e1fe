// Whether all rows of each claim for several locks are there, and in the same state. The database cannot read its list.

import { keyText, type Member } from "../../core/claim.ts";
import { membersOf, textOf } from "../rows/from-rows.ts";
import type { Finding } from "../store.ts";
import { eachClaimWith } from "./check-pages.ts";
import type { Steps } from "./steps.ts";

interface Seen {
  readonly lead: Member;
  /** Of these, how many rows are missing. */
  missing: number;
  readonly states: Set<number>;
}

export function* checkSets(findings: Finding[], max: number): Steps<void> {
  const sets = new Map<string, Seen>();
  yield* eachClaimWith(["members", "state"], "check_sets", ([members, state]) =>
    see(sets, membersOf(textOf(members)), Number(state)),
  );
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
