package io.rowlock.shedlock;

import io.rowlock.HandedOver;
import io.rowlock.HeldLock;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * Keeps ShedLock's locks in a Rowlock server.
 *
 * <p>{@code lockAtMostFor} is the time to live of the lease. Nobody renews it unless it is extended, so the lock of a
 * process that is gone is free after that time, and so is the lock of a task that hangs. The shortest time to live is 1
 * s, the longest 24 days. {@code lockAtLeastFor} is a time after the unlock in which the server grants the lock to nobody.
 * Both are measured by the clock of the server's database, so clocks of machines need not agree.
 */
public final class RowlockLockProvider implements ExtensibleLockProvider {
  /** The shortest time to live that a server takes. A lock that is held for longer than asked does no harm. */
  private static final Duration TTL_MIN = Duration.ofSeconds(1);

  private final RowlockClient client;
  private final String prefix;

  /**
   * Makes a provider.
   *
   * @param client its caller closes it
   */
  public RowlockLockProvider(RowlockClient client) {
    this(client, "");
  }

  /**
   * The same with a prefix for the names of all locks, for listings and for the rules of who may use them.
   *
   * @param client its caller closes it
   * @param prefix such as {@code shedlock/}
   */
  public RowlockLockProvider(RowlockClient client, String prefix) {
    this.client = client;
    this.prefix = prefix;
  }

  /**
   * Takes the lock if it is free.
   *
   * @param configuration its name, and for how long
   * @return empty if somebody holds it, or if its last holder has asked for it to stay locked
   * @throws RowlockException if no server answers, or the request is wrong
   * @throws LockException if the thread is interrupted, which it stays
   */
  @Override
  public Optional<SimpleLock> lock(LockConfiguration configuration) {
    long began = System.nanoTime();
    Duration ttl = ttlOf(configuration);
    try {
      return client
          .tryLock(prefix + configuration.getName(), with -> with.ttl(ttl))
          .map(lock -> new ShedLease(client, configuration, leftAlone(lock, ttl).leaseId(), began));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new LockException(
          "interrupted while asking for the lock \"" + configuration.getName() + "\"", interrupted);
    }
  }

  /** From now on the client does not renew it. */
  private static HandedOver leftAlone(HeldLock lock, Duration ttl) {
    try {
      return lock.handOver(ttl);
    } catch (RuntimeException failed) {
      lock.close();
      throw failed;
    }
  }

  static Duration ttlOf(LockConfiguration configuration) {
    Duration atMost = configuration.getLockAtMostFor();
    return atMost.compareTo(TTL_MIN) < 0 ? TTL_MIN : atMost;
  }
}
