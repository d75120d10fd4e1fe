// What decisions of all kinds may write about one lock, for property tests of how stores write it. They keep the counters
// right, and nothing else that the core would.

import type { Claim } from "../../server/core/claim.ts";
import { countHolder, countWaiter, type Lock } from "../../server/core/lock.ts";
import type { Writes } from "../../server/storage/store.ts";
import { CLAIM, RECORD } from "./claims.ts";
import { NO_CHANGES, SECOND_US } from "./store-fixture.ts";

/** The more usual ones twice. */
export const DECISION_KINDS = ["take", "take", "wait", "renew", "end", "end", "limit", "record"] as const;
/** `free` ends all claims. */
export type DecisionKind = (typeof DECISION_KINDS)[number] | "free" | "nothing" | "sweep";

export const NOT_ENDED = {
  state: "waiting",
  fencingToken: 0n,
  grantedAtUs: null,
  endedAtUs: null,
  endReason: null,
} as const;

export interface Decision {
  readonly lock: Lock;
  /** Its live claims. */
  readonly claims: readonly Claim[];
  /** Chooses one of the claims. */
  readonly pick: number;
  readonly ttlUs: number | null;
  readonly nowUs: number;
  /** A part of what callers send. */
  readonly text?: string;
}

/** Changes the lock and its claims; returns what to write. A waiter is granted before a new claim. */
export function decided(
  kind: DecisionKind,
  { lock, claims, pick, ttlUs, nowUs, text = "" }: Decision,
): Writes {
  const deadlineUs = ttlUs === null ? null : nowUs + ttlUs;
  const added: Claim[] = [];
  const changed: Claim[] = [];
  const grant = (claim: Claim) => {
    lock.lastToken += 1n;
    Object.assign(claim, {
      state: "held",
      fencingToken: lock.lastToken,
      grantedAtUs: nowUs,
      ttlUs,
      deadlineUs,
    });
    countHolder(lock, claim);
  };
  const first = claims.find(({ state }) => state === "waiting");
  const picked = claims[pick % Math.max(1, claims.length)];
  lock.revision += 7n;
  if (kind === "take" && first) {
    countWaiter(lock, first, -1);
    grant(first);
    changed.push(first);
  } else if (kind === "take" || kind === "wait") {
    const number = lock.nextTicket;
    lock.nextTicket += 1n;
    const fresh = {
      lockId: lock.id,
      ticketNumber: number,
      secret: `secret ${number}${text}`,
      requestId: `${lock.id} ${number}${text}`,
      owner: text,
      labels: number % 2n ? { team: `\u00e4${text}` } : {},
    };
    const claim: Claim = { ...CLAIM, ...fresh, ...NOT_ENDED };
    claim.deadlineUs = deadlineUs;
    if (kind === "take") grant(claim);
    else countWaiter(lock, claim);
    added.push(claim);
  } else if (kind === "renew" && picked) {
    Object.assign(picked, { ttlUs, deadlineUs, provisional: !picked.provisional });
    changed.push(picked);
  } else if ((kind === "end" && picked) || kind === "free") {
    const end = {
      state: "ended",
      endedAtUs: nowUs,
      endReason: "released",
      endNote: text,
      deadlineUs: nowUs + 3_600 * SECOND_US,
    };
    for (const claim of kind === "free" ? claims : [picked as Claim]) {
      (claim.state === "held" ? countHolder : countWaiter)(lock, claim, -1);
      changed.push(Object.assign(claim, end));
    }
  } else if (kind === "limit") {
    Object.assign(lock, {
      limit: pick,
      limitVersion: lock.limitVersion + 1n,
      limitReason: `as asked${text}`,
      changeMark: 5n,
    });
  } else if (kind === "record") {
    if (lock.record) lock.recordFloor += 1n;
    lock.record = lock.record ? null : RECORD;
  }
  return { ...NO_CHANGES, locks: [lock], added, changed };
}
