// What the server does after the database has lost commits that it had acknowledged: a lagging copy replaced it, or
// it was set back to a backup. Then leases may be held that no row knows of, and the rows do not know the last
// tokens. So nothing is granted until such leases have ended, and after that tokens begin above all that can have
// been given. The engine notices fail-overs and writes them down: see engine/transaction/checked-store.ts.

/** What the database records of its last fail-over. */
export interface FailOver {
  /** Rises with each fail-over; 0: there was none. It makes the high bits of every fencing token. */
  readonly epoch: bigint;
  /** When it was noticed, by the database's clock; 0: never. */
  readonly atUs: number;
  /** Nothing is granted before. */
  readonly grantsFromUs: number;
}

export const NO_FAIL_OVER: FailOver = { epoch: 0n, atUs: 0, grantsFromUs: 0 };

/** Bits for the tokens of one epoch: enough for more than two years of a thousand grants a second of one lock. */
const TOKEN_BITS = 36n;

/** The token of the next grant of a lock. */
export function nextToken(lastToken: bigint, failOver: FailOver): bigint {
  const first = firstToken(failOver);
  return lastToken >= first ? lastToken + 1n : first;
}

/** The lowest token since the fail-over. */
export function firstToken({ epoch }: FailOver): bigint {
  return (epoch << TOKEN_BITS) + 1n;
}
