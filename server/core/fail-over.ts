// What a lock server owes its clients when the database has lost commits that it had acknowledged: it was replaced by a
// copy that lagged, or set back to a backup. Leases may be held that no row knows of, and tokens that were given do not
// count any more. So nothing is granted until such leases have ended, and from then on tokens begin above all that can
// have been given before. Noticed and written down by the engine; see engine/transaction/checked-store.ts.

/** What the database says of its last fail-over. */
export interface FailOver {
  /** Rises with each one; 0: there was none. The high bits of every fencing token. */
  readonly epoch: bigint;
  /** When it was noticed, by the database's clock; 0: never. */
  readonly atUs: number;
  /** Nothing is granted before. */
  readonly grantsFromUs: number;
}

export const NO_FAIL_OVER: FailOver = { epoch: 0n, atUs: 0, grantsFromUs: 0 };

/** Tokens of one epoch are below it as a power of two: more than two years of a thousand grants a second of one lock. */
const TOKEN_BITS = 36n;

/** The token of the next grant of a lock. */
export function nextToken(lastToken: bigint, failOver: FailOver): bigint {
  const first = firstToken(failOver);
  return lastToken >= first ? lastToken + 1n : first;
}

/** The lowest token that is given since the fail-over. */
export function firstToken({ epoch }: FailOver): bigint {
  return (epoch << TOKEN_BITS) + 1n;
}
