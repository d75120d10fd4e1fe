// Faults to plant into the transactions: each is a wrong design, and the exploration of a small world has to find it.
import type { Planted } from "../exploration/planted.ts";

export const PLANTED: readonly Planted[] = [
  {
    fault: "takes each name as it becomes free, and holds it while it waits for the others",
    file: "model.ts",
    from: `    if (wanted.some((how) => how !== "fits")) return;
    for (const name of names) takeName(draft, claim, name);`,
    to: `    for (const [index, name] of names.entries())
      if (wanted[index] === "fits") takeName(draft, claim, name);
    if (names.some((name) => rowAt(claim, name).state === "waiting")) return;`,
    world: "a set between",
    breaks: "it has some of its names and not others",
  },
  {
    fault: "takes its places in two transactions",
    file: "model.ts",
    from: "  for (const name of namesOf(claim)) place(draft, claim, name);\n",
    to: `  const left = namesOf(claim).filter((name) => !claim.rows[name]);
  place(draft, claim, String(left[0]));
  if (left.length > 1) {
    state.repeats.push(["ask", state.claims.indexOf(claim)]);
    return;
  }\n`,
    world: "two sets in different",
    breaks: "two sets stand in another order",
  },
  {
    fault: "does not write down that it has left a set which may go on",
    file: "model.ts",
    from: "lockRow(draft, name).isDue = isLeft;",
    to: "lockRow(draft, name).isDue = false;",
    world: "a set between",
    breaks: "a look is lost",
  },
  {
    fault: "takes the mark of a lock away in a look at a set behind the first one",
    file: "model.ts",
    from: "lockRow(draft, name).isDue = isLeft;",
    to: "lockRow(draft, name).isDue = isLeft && (locks.length === 1 || !state.rows[name]?.isDue);",
    world: "two sets behind holders",
    breaks: "a look is lost",
  },
  {
    fault: "takes a set that was first before, and did not fit, for one that it has looked at",
    file: "model.ts",
    from: "state.rows[name]?.isDue ? null : wantedFirst(state, name)",
    to: "state.rows[name]?.isDue ? null : (queueOf(state, name)[0] ?? null)",
    world: "a set between",
    breaks: "a look is lost",
  },
  {
    fault: "takes a set for one that it has looked at, although the lock is due",
    file: "model.ts",
    from: "state.rows[name]?.isDue ? null : wantedFirst(state, name)",
    to: "wantedFirst(state, name)",
    world: "two sets behind holders",
    breaks: "a look is lost",
  },
  {
    fault: "raises a limit, and does not look at the set that fits then",
    file: "model.ts",
    from: "    lockRow(draft, name).limit = limit;\n  });",
    to: "    lockRow(draft, name).limit = limit;\n  }).filter((written) => isPool(written) || !Object.assign(state.rows[written] as GuardRow, { isDue: false }));",
    world: "a heavy set beside",
    breaks: "a look is lost",
  },
  {
    fault: "leaves a set that never fits a lowered limit without a mark",
    file: "model.ts",
    from: "isWantedAt(state, head, name) !== null ?",
    to: 'isWantedAt(state, head, name) === "fits" ?',
    world: "a heavy set beside",
    breaks: "a look is lost",
  },
  {
    fault: "ends only the name that is force-released",
    file: "model.ts",
    from: `    case "force":
      return decide(state, namesOf(claim), (draft) => isLive(claim) && end(draft, claim));`,
    to: `    case "force":
      return decide(state, more.map(String), (draft) => isLive(claim) && endAt(draft, claim, String(more[0])));`,
    world: "two sets in different",
    breaks: "it has some of its names and not others",
  },
  {
    fault: "comes back to the queue of the lowered name alone",
    file: "model.ts",
    from: `  for (const name of namesOf(claim)) {
    const row = lockRow(draft, name);
    row.given`,
    to: `  for (const name of namesOf(claim)) {
    const row = lockRow(draft, name);
    if (!isOverLimit(row)) continue;
    row.given`,
    world: "limits of names and of a pool",
    breaks: "it has some of its names and not others",
  },
  {
    fault: "goes on to its tokens although the limit of a name was lowered meanwhile",
    file: "model.ts",
    from: "names.some((name) => isOverLimit(lockRow(draft, name)))",
    to: "names.some((name) => lockRow(draft, name).given < 0)",
    world: "limits of names and of a pool",
    breaks: "it was granted beyond a limit",
  },
  {
    fault: "passes a set that is first and waits for another lock",
    file: "state.ts",
    from: "  if (queueOf(state, lock)[0] !== claim) return null;\n",
    to: `  const queue = queueOf(state, lock);
  const isAlone = namesOf(claim).length === 1;
  const others = isAlone ? queue.filter((other) => namesOf(other).length === 1) : queue;
  if (others[0] !== claim) return null;\n`,
    world: "a set between",
    breaks: "it has overtaken somebody",
  },
  {
    fault: "gives a set back again for a Release that is repeated",
    file: "model.ts",
    from: `    case "end":
      return decide(state, namesOf(claim), (draft) => isLive(claim) && end(draft, claim));`,
    to: `    case "end":
      return decide(state, namesOf(claim), (draft) => !isNew(claim) && end(draft, claim));`,
    world: "two sets in different",
    breaks: "counters are not what the claims have",
  },
  {
    fault: "takes the places of a set again for an Acquire that is repeated",
    file: "model.ts",
    from: "isNew(claim) && ask(draft, claim)",
    to: "ask(draft, claim)",
    world: "two sets in different",
    breaks: "counters are not what the claims have",
  },
  {
    fault: "takes one permit of a pool after the other, and asks for the next one behind those who wait",
    file: "state.ts",
    from: `{ rows, ranks }: Claim, name: string): number {
  return (isPool(name) ? ranks[name] : rows[name]?.ticket) ?? Number.POSITIVE_INFINITY;
}

/** Permits of a pool that the claim does not have yet: it takes the whole sum or nothing. */
export function missingAt(claim: Claim, pool: string): number {
  return permitsAt(claim, pool) - (claim.levels[pool] ?? 0);
}`,
    to: `{ rows, ranks, levels }: Claim, name: string): number {
  if (!isPool(name)) return rows[name]?.ticket ?? Number.POSITIVE_INFINITY;
  return (ranks[name] ?? Number.POSITIVE_INFINITY) + 10 * (levels[name] ?? 0);
}

export function missingAt(claim: Claim, pool: string): number {
  return Math.min(1, permitsAt(claim, pool) - (claim.levels[pool] ?? 0));
}`,
    world: "two sets with two permits",
    breaks: "somebody stays for ever",
  },
  {
    fault: "enters pools in the order of its names",
    file: "state.ts",
    from: "return over.sort((a, b) => b.length - a.length);",
    to: "return namesOf(claim).flatMap((name) => over.filter((pool) => isUnder(name, pool)));",
    world: "two pools of equal width",
    breaks: "somebody stays for ever",
  },
  {
    fault: "keeps the later pools when it comes back to an earlier one of equal width",
    file: "model.ts",
    from: "for (const level of order.slice(order.indexOf(pool)))",
    to: "for (const level of order.filter((other) => other === pool || other.length < pool.length))",
    world: "come back to pools",
    breaks: "somebody stays for ever",
  },
  {
    fault: "counts as holders of a new pool only sets whose lead is under it",
    file: "model.ts",
    from: "if (!isPast(state, claim, pool) ||",
    to: "if (namesOf(claim)[0] !== lock || !isPast(state, claim, pool) ||",
    world: "the lead is no name",
    breaks: "it has passed a pool without its permits",
  },
  {
    fault: "counts a set at each of its names under a new pool",
    file: "model.ts",
    from: "      if (!isPast(state, claim, pool) || missingAt(claim, pool) === 0) continue;\n",
    to: "      if (!isPast(state, claim, pool)) continue;\n      row.given += claim.levels[pool] ?? 0;\n",
    world: "the lead is no name",
    breaks: "counters are not what the claims have",
  },
  {
    fault: "keeps what it has taken for a set that may not wait",
    file: "model.ts",
    from: "  state.rows = before.rows;\n",
    to: "",
    world: "a set that must not",
    breaks: "counters are not what the claims have",
  },
  {
    fault: "asserts from memory the revision of its first name alone",
    file: "../exploration/transactions.ts",
    from: "return { step, memory, asserted };",
    to: "return { step, memory, asserted: asserted.slice(0, 1) };",
    world: "decisions from memory",
    breaks: "counters are not what the claims have",
  },
];
