package io.rowlock;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * A lease that was renewed by its id.
 *
 * @param leaseId secret: anyone who knows it can renew and release the lease
 * @param name the lock
 * @param token the fencing token
 * @param ttl the time left when the lease was renewed; empty: without end
 * @param tokens the fencing token of each lock of its claim, by its name
 */
public record RenewedLease(
    String leaseId, String name, long token, Optional<Duration> ttl, Map<String, Long> tokens) {
  static RenewedLease of(rowlock.v1.Lease lease) {
    return new RenewedLease(
        lease.getLeaseId(),
        lease.getLockName(),
        lease.getFencingToken(),
        lease.hasTtl() ? Optional.of(Times.durationOf(lease.getTtl())) : Optional.empty(),
        LeasedLocks.of(lease).tokens());
  }
}
