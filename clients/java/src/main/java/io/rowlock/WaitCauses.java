// Makes the causes of a wait from messages.

package io.rowlock;

import java.util.Optional;
import java.util.OptionalLong;

final class WaitCauses {
  private WaitCauses() {}

  /** Empty for a cause that a newer server knows and this client does not: the summary has it. */
  static Optional<WaitCause> of(rowlock.v1.WaitCause cause) {
    return Optional.ofNullable(
        switch (cause.getCauseCase()) {
          case HELD -> held(cause.getHeld());
          case QUEUED ->
              new WaitCause.Queued(
                  cause.getQueued().getAhead(),
                  cause.getQueued().getPermitsAhead(),
                  cause.getQueued().getFirstList().stream().map(ClaimView::of).toList());
          case LIMIT -> limit(cause.getLimit());
          case NOT_BEFORE -> new WaitCause.NotBefore(Times.instantOf(cause.getNotBefore()));
          case EXHAUSTED -> new WaitCause.Exhausted();
          case STATUS -> new WaitCause.UnwantedStatus(cause.getStatus());
          case FAILED_OVER_UNTIL -> new WaitCause.FailedOver(Times.instantOf(cause.getFailedOverUntil()));
          case ROWS -> rows(cause.getRows());
          case RATE -> rate(cause.getRate());
          case POOL -> pool(cause.getPool());
          case CAUSE_NOT_SET -> null;
        });
  }

  private static WaitCause held(rowlock.v1.HeldByOthers held) {
    return new WaitCause.Held(
        held.getHoldersList().stream().map(ClaimView::of).toList(),
        held.getHolderCount(),
        held.hasFirstEndsAt()
            ? Optional.of(Times.instantOf(held.getFirstEndsAt()))
            : Optional.empty());
  }

  private static WaitCause limit(rowlock.v1.LimitInTheWay limit) {
    return new WaitCause.InTheWay(
        LimitView.of(limit.getLimit()),
        limit.hasSetAt() ? Optional.of(Times.instantOf(limit.getSetAt())) : Optional.empty(),
        limit.getSetBy());
  }

  private static WaitCause rate(rowlock.v1.RateInTheWay rate) {
    return new WaitCause.RateInTheWay(
        RateView.of(rate.getRate()),
        rate.hasUntil() ? Optional.of(Times.instantOf(rate.getUntil())) : Optional.empty());
  }

  private static WaitCause pool(rowlock.v1.PoolInTheWay pool) {
    return new WaitCause.PoolInTheWay(
        PoolView.of(pool),
        pool.getWaitsHere(),
        pool.getAhead(),
        pool.getPermitsAhead(),
        pool.hasRateUntil() ? Optional.of(Times.instantOf(pool.getRateUntil())) : Optional.empty());
  }

  private static WaitCause rows(rowlock.v1.RowsHeld rows) {
    return new WaitCause.RowsHeld(
        rows.getConnectionId() == 0
            ? OptionalLong.empty()
            : OptionalLong.of(rows.getConnectionId()),
        rows.getUser(),
        rows.hasHeldFor() ? Optional.of(Times.durationOf(rows.getHeldFor())) : Optional.empty());
  }
}
