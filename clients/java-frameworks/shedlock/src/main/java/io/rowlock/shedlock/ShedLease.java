// A lease that nobody renews: it ends with the unlock, or when its time is over.

package io.rowlock.shedlock;

import io.rowlock.Reason;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

final class ShedLease extends AbstractSimpleLock {
  private final RowlockClient client;
  private final String leaseId;

  /** By System.nanoTime, when the lock was asked for: lockAtLeastFor counts from then. */
  private final long began;

  ShedLease(RowlockClient client, LockConfiguration configuration, String leaseId, long began) {
    super(configuration);
    this.client = client;
    this.leaseId = leaseId;
    this.began = began;
  }

  /** A lease that has ended in the meantime is no error: its time was over. */
  @Override
  protected void doUnlock() {
    Duration held = Duration.ofNanos(System.nanoTime() - began);
    Duration rest = lockConfiguration.getLockAtLeastFor().minus(held);
    try {
      client.release(leaseId, with -> with.coolDown(rest.isNegative() ? Duration.ZERO : rest));
    } catch (RowlockException error) {
      if (error.reason() != Reason.UNKNOWN_CLAIM) throw error;
    }
  }

  @Override
  protected Optional<SimpleLock> doExtend(LockConfiguration extended) {
    long asked = System.nanoTime();
    try {
      client.renew(leaseId, RowlockLockProvider.ttlOf(extended));
    } catch (RowlockException error) {
      if (error.reason() == Reason.LEASE_LOST || error.reason() == Reason.UNKNOWN_CLAIM)
        return Optional.empty();
      throw error;
    }
    return Optional.of(new ShedLease(client, extended, leaseId, asked));
  }
}
