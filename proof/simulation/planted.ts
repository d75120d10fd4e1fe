// Faults to plant into the simulated servers and their stores: the simulation must catch each within a number of seeds,
// except for those that it is known to miss.

import { corePatch } from "../core/planted.ts";
import { patchesOf } from "../faults/planted.ts";
import type { Difference } from "./seeds.ts";

const ofCore = (fault: string): Difference => ({ fault, patches: [corePatch(fault)] });

export const DIFFERENCES: readonly Difference[] = [
  { fault: "writes rows that it remembers and others have changed", store: { trustsOldRows: true } },
  { fault: "reads guard rows without locking them", store: { locksNothing: true } },
  { fault: "reads the clock before it waits for a lock", store: { readsClockFirst: true } },
  ofCore("grants to a waiter that has lapsed"),
  ofCore("lets a lease run on after its end"),
  ofCore("revives an expired lease"),
  {
    fault: "releases what is held, whoever asks",
    patches: [
      {
        file: "core/decide.ts",
        from: "const claim = claimOf(draft, ref.ticketNumber);\n  return claim && isLead(claim) && sameSecret(claim.secret, ref.secret) ? claim : undefined;",
        to: 'return draft.claims.find(({ state }) => state === "held") ?? claimOf(draft, ref.ticketNumber);',
      },
    ],
  },
  ofCore("updates a record without looking at the expected version"),
  ofCore("gives the last token again when a lease comes after a wait"),
  ofCore("makes a second claim for a request id whose claim has ended"),
  { fault: "gives a token twice", patches: patchesOf("gives a token twice") },
  {
    fault: "forgets the request ids of its clients",
    patches: patchesOf("takes each call for a new one, whatever its request id"),
  },
  {
    fault: "takes any earlier attempt for one that was committed",
    patches: [
      {
        file: "core/decide-batch.ts",
        from: "markLeft !== markFound && markLeft === markNow",
        to: "markLeft !== markFound && markNow >= 0n",
      },
    ],
  },
  {
    fault: "makes a change again whatever has changed since",
    patches: [
      {
        file: "core/decide-batch.ts",
        from: "if (markNow !== markFound && hasChanged(outcome))",
        to: "if (markNow < 0n && hasChanged(outcome))",
      },
    ],
  },
  {
    fault: "does not notify waiters of what other servers grant",
    patches: [
      { file: "engine/subscribers/waiters.ts", from: "run: () => this.look(),", to: "run: async () => {}," },
      {
        file: "engine/subscribers/subscribers.ts",
        from: "if (replica !== null && replica !== own) poke({ replica, lockId, ticketNumber });",
        to: "if (replica !== null && replica === own) poke({ replica, lockId, ticketNumber });",
      },
    ],
  },
  {
    fault: "gives back what another try was granted",
    patches: [
      {
        file: "grpc/methods/capture.ts",
        from: "isGivenUp(call.signal) && !isRepeated;",
        to: "isGivenUp(call.signal);",
      },
      {
        file: "engine/capturing/captures.ts",
        from: "if (isRepeated && !isGivenUp(caller?.signal))",
        to: "if (isRepeated)",
      },
      {
        file: "core/decide.ts",
        from: "if (isServerMade(known.requestId) || isUnheard)",
        to: 'if (secret !== "")',
      },
    ],
  },
  {
    fault: "takes permits of a rate again for a spend that is repeated",
    patches: [
      {
        file: "core/decide.ts",
        from: '  else if (claim.state === "held") confirm(draft, claim);\n  return asItIs(claim);',
        to: `  else if (claim.state === "held") confirm(draft, claim);
  else if (isSpend(claim) && draft.rate)
    draft.lock.rateUntilUs = Math.max(draft.lock.rateUntilUs, draft.nowUs) + draft.rate.perUs / draft.rate.permits;
  return asItIs(claim);`,
      },
    ],
  },
  {
    fault: "spends twice for a request that comes twice in one transaction",
    patches: [
      {
        file: "core/decide-batch.ts",
        from: ' || outcome.kind === "waiting" || outcome.kind === "ended") {',
        to: ' || outcome.kind === "waiting") {',
      },
    ],
  },
  {
    fault: "takes nothing of a rate for grants after a wait",
    patches: [
      {
        file: "core/transitions.ts",
        from: "  if (rate) lock.rateUntilUs = afterTaking(",
        to: "  if (rate && draft.added.includes(claim)) lock.rateUntilUs = afterTaking(",
      },
    ],
  },
  {
    fault: "fills a rate again whenever it is set",
    patches: [
      {
        file: "core/transitions.ts",
        from: "  draft.rate = effectiveRate(lock, limitRules);\n  if",
        to: "  draft.rate = effectiveRate(lock, limitRules);\n  lock.rateUntilUs = 0;\n  if",
      },
    ],
  },
  {
    fault: "does not write what was taken of a rate if nothing else that is seldom written has changed",
    patches: [
      {
        file: "storage/rows/values.ts",
        from: "    a.rateUntilUs === b.rateUntilUs &&\n",
        to: "",
      },
    ],
  },
  {
    fault: "does not look again at a lock when its rate allows a grant",
    patches: [
      {
        file: "core/transitions.ts",
        from: "  return fromUs > clock.atLeastUs ? fromUs : null;",
        to: "  return fromUs < 0 ? fromUs : null;",
      },
    ],
  },
  { fault: "writes pools that it remembers and others have changed", store: { trustsOldPools: true } },
  {
    fault: "gives nothing of a pool back for a lease that expires",
    patches: [
      {
        file: "core/transitions.ts",
        from: "  giveAllBack(draft.pools, claim);\n  // Somebody",
        to: '  if (reason !== "expired") giveAllBack(draft.pools, claim);\n  // Somebody',
      },
    ],
  },
  {
    fault: "keeps the wider permits of a claim that comes back",
    patches: [
      {
        file: "core/levels.ts",
        from: "if (other === null || other === pool || inOrderOfPools(pool, other) < 0)",
        to: "if (other === null || other === pool)",
      },
    ],
  },
  {
    fault: "lets claims go on at a pool without keeping what those before them need",
    patches: [
      {
        file: "core/pools.ts",
        from: "      left -= waiter.room;\n      if (left < 0) return;",
        to: "      if (waiter.room > left) continue;",
      },
    ],
  },
  {
    fault: "counts no earlier holders of the first lock under a new pool",
    patches: [
      {
        file: "engine/transaction/pool-counts.ts",
        from: "part.map((lock) => this.#countAt(lock, id))",
        to: "part.slice(1).map((lock) => this.#countAt(lock, id))",
      },
    ],
  },
  {
    fault: "takes nothing of a pool's rate for grants after a wait",
    patches: [
      {
        file: "core/transitions.ts",
        from: "    if (!pool || !rate) continue;",
        to: "    if (!pool || !rate || claim.deadlineUs !== null) continue;",
      },
    ],
  },
  {
    fault: "takes a pool's rate again for a request that is repeated",
    patches: [
      {
        file: "core/decide.ts",
        from: '  else if (claim.state === "held") confirm(draft, claim);\n  return asItIs(claim);',
        to: `  else if (claim.state === "held") confirm(draft, claim);
  for (const { lock } of poolsOverLock(draft))
    if (lock.rate) lock.rateUntilUs += (claim.permits * lock.rate.perUs) / lock.rate.permits;
  return asItIs(claim);`,
      },
    ],
  },
  ofCore("gives several locks to who is first at one of them"),
  ofCore("holds what is free of several locks while it waits for the others"),
  ofCore("lets later claims pass one for several locks"),
  ofCore("gives back two of several locks"),
  ofCore("renews one of several locks"),
  ofCore("grants nothing at a lock that a claim for several has left in the same decision"),
  {
    fault: "looks at no claim for several locks by itself",
    patches: [
      {
        file: "core/decide-batch.ts",
        from: "  for (const key of draft.left) mayGoOn.push(key);\n",
        to: "",
      },
      {
        file: "core/transitions.ts",
        from: "  if (left.length > 0) return clock.atLeastUs;\n",
        to: "",
      },
    ],
  },
  {
    fault: "takes of a pool what the first of several locks needs",
    patches: [
      {
        file: "core/pools.ts",
        from: "if (!members) return { room: roomOf(asking), permits: asking.permits };",
        to: "if (members !== undefined) return { room: roomOf(asking), permits: asking.permits };",
      },
    ],
  },
  ofCore("counts nothing of what groups hold"),
  ofCore("gives all of a lock to the group that was first"),
  {
    fault: "lets a superseded waiter wait on, and be granted",
    patches: [
      {
        file: "core/transitions.ts",
        from: '  claim.state = "ended";\n',
        to: '  claim.state = reason === "superseded" ? "waiting" : "ended";\n',
      },
    ],
  },
  {
    fault: "does not notice a fail-over",
    patches: [
      {
        file: "engine/transaction/checked-store.ts",
        from: "if (isSuccessor || epoch < this.#highestEpoch || atUs < this.#lostUs) return true;",
        to: "if (this.#lostUs >= 0) return false;",
      },
    ],
  },
];

/** Faults that 400 seeds did not show. The tests of the core catch those of the core. */
export const MISSED: readonly Difference[] = [
  ofCore("does not write that a claim for several locks must be looked at"),
  ofCore("takes every grant to have been fetched"),
  ofCore("lets a small request pass a heavy one at the head of the queue"),
  ofCore("keeps the attempt of a lease that nobody has used"),
  ofCore("takes a short step of the clock for time that has passed"),
  {
    fault: "does not confirm the leases of a session",
    patches: [
      {
        file: "grpc/session/session.ts",
        from: "this.#leases.acknowledged(request.received);",
        to: "",
      },
    ],
  },
];
