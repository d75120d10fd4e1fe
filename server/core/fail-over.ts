// What a fail-over of the database changes about numbers that must never repeat: fencing tokens of locks, and versions of
// records. The rows may lack the last numbers that clients know, so they begin anew above all that were ever given.

/** What the database records of its last fail-over. */
export interface FailOver {
  /** Rises with each fail-over; 0: there was none. It makes the high bits of these numbers. */
  readonly epoch: bigint;
  /** When it was noticed, by the database's clock; 0: never. */
  readonly atUs: number;
  /** Nothing is granted before. */
  readonly grantsFromUs: number;
}

export const NO_FAIL_OVER: FailOver = { epoch: 0n, atUs: 0, grantsFromUs: 0 };

/** Bits for the numbers of one epoch: enough for more than two years of a thousand grants a second of one lock. */
const NUMBER_BITS = 36n;

/** The next token of a lock, or the next version of a record. */
export function nextNumber(last: bigint, failOver: FailOver): bigint {
  const first = firstNumber(failOver);
  return last >= first ? last + 1n : first;
}

/** The lowest one since the fail-over. */
export function firstNumber({ epoch }: FailOver): bigint {
  return (epoch << NUMBER_BITS) + 1n;
}
