package rowlock;

import java.time.Duration;
import java.util.Optional;

/**
 * A lease that was renewed by its id.
 *
 * @param leaseId secret: whoever knows it can renew and release it
 * @param name the lock
 * @param token the fencing token
 * @param ttl time left when the answer was made; empty: without end
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
