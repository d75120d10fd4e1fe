// What is wrong with the rows of claims for several locks after a transaction: the rows of one must wait, hold and end together,
// and while it waits for its own locks, it has none.

import {
  type Claim,
  type ClaimKey,
  isEntering,
  isLead,
  keyText,
  type Member,
} from "../../server/core/claim.ts";
import { waitsAt } from "../../server/core/pools.ts";

/** `changed`: what the transaction has written. `rowOf`: what is committed now. `locked`: the locks that it had. */
export function tornSets(
  changed: readonly Claim[],
  rowOf: (key: ClaimKey) => Claim | null,
  locked: ReadonlySet<bigint>,
): string[] {
  const sets = new Map<string, readonly Member[]>();
  for (const { members } of changed) if (members) sets.set(keyText(members[0] as Member), members);
  return [...sets].flatMap(([name, members]) => {
    const rows = members.map(rowOf);
    const wrong = differenceOf(
      rows,
      members,
      members.every(({ lockId }) => locked.has(lockId)),
    );
    return wrong === null ? [] : `claim ${name}: ${wrong}`;
  });
}

/** `isWhole`: the transaction had all of its locks. Otherwise it may have corrected times of some rows. */
function differenceOf(
  rows: readonly (Claim | null)[],
  members: readonly Member[],
  isWhole: boolean,
): string | null {
  const [lead] = rows;
  // Names differ in how long their ended claims are kept.
  if (rows.every((row) => row === null || row.state === "ended")) return endedApart(rows);
  if (!lead || rows.includes(null))
    return `it has no row at ${members.find((_, at) => rows[at] === null)?.name}`;
  for (const [at, row] of (rows as Claim[]).entries()) {
    const { name, fencingToken } = members[at] as Member;
    const own = row.members?.find(({ lockId }) => lockId === row.lockId);
    if (row.state !== lead.state || isEntering(row) !== isEntering(lead))
      return `it ${stateOf(lead)} at ${members[0]?.name}, and ${stateOf(row)} at ${name}`;
    if (textOf(row.members) !== textOf(lead.members)) return `its rows list other locks or tokens at ${name}`;
    if (row.state === "held" && own?.fencingToken !== row.fencingToken)
      return `it lists token ${own?.fencingToken} at ${name}, and has ${row.fencingToken}`;
    if (row.state === "waiting" && (own?.fencingToken !== 0n || fencingToken !== 0n))
      return `it waits at ${name} with a token`;
    if (row.state === "waiting" && waitsAt(row) !== waitsAt(lead))
      return `it waits at another pool at ${name}`;
    if (row.state === "held" && !isLead(row) && row.levels !== null) return `it lists pools at ${name}, too`;
    if (row.state === "held" && isWhole && termOf(row) !== termOf(lead))
      return `it runs out at other times at ${name}`;
  }
  return null;
}

function endedApart(rows: readonly (Claim | null)[]): string | null {
  const ends = new Set(rows.flatMap((row) => (row ? `${row.endReason} at ${row.endedAtUs}` : [])));
  return ends.size > 1 ? `it ended as ${[...ends].join(" and as ")}` : null;
}

function stateOf(claim: Claim): string {
  if (claim.state === "waiting") return isEntering(claim) ? "enters" : "waits";
  return claim.state === "held" ? "holds" : "has ended";
}

const termOf = ({ deadlineUs, provisional, ttlUs }: Claim) => `${deadlineUs} ${provisional} ${ttlUs}`;

function textOf(list: unknown): string {
  return JSON.stringify(list, (_, value) => (typeof value === "bigint" ? String(value) : value));
}
