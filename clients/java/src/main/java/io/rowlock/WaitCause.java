package io.rowlock;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** One cause why a lock is not granted. */
public sealed interface WaitCause {
  /**
   * Returns, of a claim for several locks, the one with this cause.
   *
   * @return empty: the claim is for one lock, or the cause is a pool
   */
  default Optional<String> lockName() {
    return Optional.empty();
  }

  /**
   * Others hold what the claim needs.
   *
   * @param holders the oldest, at most 10; none if the caller may not see them
   * @param holderCount all of them
   * @param firstEndsAt when the first of these leases ends if it is not renewed; empty: none of them has an end
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record Held(
      List<ClaimView> holders, int holderCount, Optional<Instant> firstEndsAt, Optional<String> lockName)
      implements WaitCause {}

  /**
   * Others wait before it.
   *
   * @param ahead how many
   * @param permitsAhead how many permits they ask for
   * @param first the first of them, at most 10; none if the caller may not see them
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record Queued(int ahead, long permitsAhead, List<ClaimView> first, Optional<String> lockName)
      implements WaitCause {}

  /**
   * The limit is 0, or smaller than what is held or asked for.
   *
   * @param limit the limit in force
   * @param setAt when it was set; empty if the history no longer has that
   * @param setBy who set it; empty if the history no longer has that
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record InTheWay(LimitView limit, Optional<Instant> setAt, String setBy, Optional<String> lockName)
      implements WaitCause {}

  /**
   * The lock's rate does not allow the grant yet, or its burst is too small for the claim.
   *
   * @param rate the rate in force
   * @param until when it allows the grant, if those that wait before are granted first; empty: never
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record RateInTheWay(RateView rate, Optional<Instant> until, Optional<String> lockName)
      implements WaitCause {}

  /**
   * A pool over the lock has no room, or its rate does not allow the grant.
   *
   * @param pool the pool
   * @param waitsHere whether it waits there now; if not, it has another lock or pool to pass before
   * @param ahead how many wait there before it, or all if it does not wait there
   * @param permitsAhead how many permits they ask for
   * @param rateUntil when the rate of the pool allows the grant; empty: the rate is not in the way
   */
  record PoolInTheWay(
      PoolView pool, boolean waitsHere, int ahead, long permitsAhead, Optional<Instant> rateUntil)
      implements WaitCause {}

  /**
   * Nothing is granted before this instant.
   *
   * @param until the instant
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record NotBefore(Instant until, Optional<String> lockName) implements WaitCause {}

  /**
   * The lock has no attempts left.
   *
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record Exhausted(Optional<String> lockName) implements WaitCause {}

  /**
   * The lock's status is none of those that the claim wants.
   *
   * @param status the lock's status
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record UnwantedStatus(String status, Optional<String> lockName) implements WaitCause {}

  /**
   * The database has failed over, and nothing is granted before this instant.
   *
   * @param until the instant
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record FailedOver(Instant until, Optional<String> lockName) implements WaitCause {}

  /**
   * Another transaction holds the lock's rows in the database. What is empty is not known.
   *
   * @param connectionId its connection at the database server
   * @param user the database user of that connection
   * @param heldFor how long the server has found the rows held
   * @param lockName of a claim for several locks, this one; otherwise empty
   */
  record RowsHeld(
      OptionalLong connectionId, String user, Optional<Duration> heldFor, Optional<String> lockName)
      implements WaitCause {}
}
