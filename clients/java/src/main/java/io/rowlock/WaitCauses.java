// Makes the causes of a wait from messages.

package io.rowlock;

import java.util.Optional;
import java.util.OptionalLong;

final class WaitCauses {
  private WaitCauses() {}

  /** Empty for a cause that a newer server knows and this client does not: the summary has it. */
  static Optional<WaitCause> of(rowlock.v1.WaitCause cause) {
    Optional<String> lock = Place.unlessEmpty(cause.getLockName());
    return Optional.ofNullable(
        switch (cause.getCauseCase()) {
          case HELD -> held(cause.getHeld(), lock);
          case QUEUED ->
              new WaitCause.Queued(
                  cause.getQueued().getAhead(),
                  cause.getQueued().getPermitsAhead(),
                  cause.getQueued().getFirstList().stream().map(ClaimView::of).toList(),
                  lock);
          case LIMIT -> limit(cause.getLimit(), lock);
          case NOT_BEFORE -> new WaitCause.NotBefore(Times.instantOf(cause.getNotBefore()), lock);
          case EXHAUSTED -> new WaitCause.Exhausted(lock);
          case STATUS -> new WaitCause.UnwantedStatus(cause.getStatus(), lock);
          case FAILED_OVER_UNTIL ->
              new WaitCause.FailedOver(Times.instantOf(cause.getFailedOverUntil()), lock);
          case ROWS -> rows(cause.getRows(), lock);
          case RATE -> rate(cause.getRate(), lock);
          case POOL -> pool(cause.getPool());
          case CAUSE_NOT_SET -> null;
        });
  }

  private static WaitCause held(rowlock.v1.HeldByOthers held, Optional<String> lock) {
    return new WaitCause.Held(
        held.getHoldersList().stream().map(ClaimView::of).toList(),
        held.getHolderCount(),
        held.hasFirstEndsAt()
            ? Optional.of(Times.instantOf(held.getFirstEndsAt()))
            : Optional.empty(),
        lock);
  }

  private static WaitCause limit(rowlock.v1.LimitInTheWay limit, Optional<String> lock) {
    return new WaitCause.InTheWay(
        LimitView.of(limit.getLimit()),
        limit.hasSetAt() ? Optional.of(Times.instantOf(limit.getSetAt())) : Optional.empty(),
        limit.getSetBy(),
        lock);
  }

  private static WaitCause rate(rowlock.v1.RateInTheWay rate, Optional<String> lock) {
    return new WaitCause.RateInTheWay(
        RateView.of(rate.getRate()),
        rate.hasUntil() ? Optional.of(Times.instantOf(rate.getUntil())) : Optional.empty(),
        lock);
  }

  private static WaitCause pool(rowlock.v1.PoolInTheWay pool) {
    return new WaitCause.PoolInTheWay(
        PoolView.of(pool),
        pool.getWaitsHere(),
        pool.getAhead(),
        pool.getPermitsAhead(),
        pool.hasRateUntil() ? Optional.of(Times.instantOf(pool.getRateUntil())) : Optional.empty());
  }

  private static WaitCause rows(rowlock.v1.RowsHeld rows, Optional<String> lock) {
    return new WaitCause.RowsHeld(
        rows.getConnectionId() == 0
            ? OptionalLong.empty()
            : OptionalLong.of(rows.getConnectionId()),
        rows.getUser(),
        rows.hasHeldFor() ? Optional.of(Times.durationOf(rows.getHeldFor())) : Optional.empty(),
        lock);
  }
}
