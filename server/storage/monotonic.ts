// The clock of this process that nobody sets, in microseconds: what readings of the database's clock are compared with.

export function monotonicUs(): number {
  return performance.now() * 1_000;
}
