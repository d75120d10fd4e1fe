package io.rowlock;

import java.time.Duration;
import java.util.Optional;

/**
 * A lease that was renewed by its id.
 *
 * @param leaseId secret: anyone who knows it can renew and release the lease
 * @param name the lock
 * @param token the fencing token
 * @param ttl the time left when the lease was renewed; empty: without end
 */
public record RenewedLease(String leaseId, String name, long token, Optional<Duration> ttl) {
  static RenewedLease of(rowlock.v1.Lease lease) {
    return new RenewedLease(
        lease.getLeaseId(),
        lease.getLockName(),
        lease.getFencingToken(),
        lease.hasTtl() ? Optional.of(Times.durationOf(lease.getTtl())) : Optional.empty());
  }
}
