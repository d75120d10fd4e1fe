// The process's monotonic clock in microseconds. Readings of the database's clock are compared with it.

export function monotonicUs(): number {
  return performance.now() * 1_000;
}
