package io.rowlock;

/**
 * What is used of a pool.
 *
 * @param heldPermits permits that are taken: by holders, and by claims that wait at a wider pool
 * @param holderCount how many claims have them
 * @param waiterCount how many claims wait there
 * @param draining whether more is taken than the limit allows, because it was lowered, or made while others held
 * @param counting whether the pool is new, and servers still count those who held before it was made
 * @param available how many permits of its rate may be taken now; 0 if it has none
 */
public record PoolUse(
    long heldPermits,
    int holderCount,
    int waiterCount,
    boolean draining,
    boolean counting,
    int available) {
  static PoolUse of(rowlock.v1.PoolUse use) {
    return new PoolUse(
        use.getHeldPermits(),
        use.getHolderCount(),
        use.getWaiterCount(),
        use.getDraining(),
        use.getCounting(),
        use.getAvailable());
  }
}
