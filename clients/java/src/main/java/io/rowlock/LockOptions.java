package io.rowlock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import rowlock.v1.LeaseTerms;

/** The options of one lock, with their defaults. */
public final class LockOptions extends LeaseOptions {
  private static final LockOptions DEFAULTS = builder().build();

  /** How long to wait; empty: as long as it takes; zero: do not wait. */
  final Optional<Duration> waitAtMost;

  final int permits;
  final Mode mode;

  /** The further locks of the same claim. */
  final List<WantedLock> also;

  /** Empty: none. */
  final Optional<Duration> headStart;

  final Optional<Consumer<Place>> onPosition;
  final Duration positionInterval;
  final Optional<Consumer<WaitNotice>> onWaiting;
  final boolean isReentrant;

  /** Whether it only takes of the rate, and gets no lease: see {@link SpendOptions}. */
  final boolean isSpend;

  private LockOptions(Builder builder) {
    super(builder);
    waitAtMost = builder.waitAtMost;
    permits = builder.permits;
    mode = builder.mode;
    also = List.copyOf(builder.also);
    headStart = builder.headStart.filter(by -> !by.isZero());
    onPosition = builder.onPosition;
    positionInterval = builder.positionInterval;
    onWaiting = builder.onWaiting;
    isReentrant = builder.isReentrant;
    isSpend = builder.isSpend;
  }

  @Override
  Optional<String> sharedId() {
    return requestId.map(id -> "lock " + id);
  }

  /** A spend has no lease that could last. */
  @Override
  LeaseTerms leaseTerms() {
    LeaseTerms terms = super.leaseTerms();
    return isSpend ? terms.toBuilder().clearLasting().build() : terms;
  }

  boolean isTry() {
    return waitAtMost.isPresent() && waitAtMost.get().isZero();
  }

  /** The same options without a wait. */
  LockOptions withoutWait() {
    Builder builder = builder().like(this).noWait().permits(permits).mode(mode);
    builder.also.addAll(also);
    return builder.reentrant(isReentrant).spend(isSpend).build();
  }

  /** All that a request for the lock of this name asks for: this lock, and then the further ones. */
  List<WantedLock> locks(String name) {
    List<WantedLock> locks = new ArrayList<>();
    locks.add(new WantedLock(name, mode, Math.max(1, permits)));
    locks.addAll(also);
    return locks;
  }

  /** The names of these. */
  List<String> names(String name) {
    return locks(name).stream().map(WantedLock::name).toList();
  }

  /** The further locks, for a request. */
  List<rowlock.v1.WantedLock> furtherLocks() {
    return also.stream().map(WantedLock::proto).toList();
  }

  /**
   * Returns the defaults.
   *
   * @return options
   */
  public static LockOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Begins to choose options.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  static LockOptions of(Consumer<Builder> choice) {
    Builder builder = builder();
    choice.accept(builder);
    return builder.build();
  }

  /** Chooses options for a lock. */
  public static final class Builder extends LeaseOptions.Builder<Builder> {
    private Optional<Duration> waitAtMost = Optional.empty();
    private int permits;
    private Mode mode = Mode.PERMIT;
    private final List<WantedLock> also = new ArrayList<>();
    private Optional<Duration> headStart = Optional.empty();
    private Optional<Consumer<Place>> onPosition = Optional.empty();
    private Duration positionInterval = Duration.ofSeconds(1);
    private Optional<Consumer<WaitNotice>> onWaiting = Optional.empty();
    private boolean isReentrant;
    private boolean isSpend;

    private Builder() {}

    @Override
    Builder itself() {
      return this;
    }

    /**
     * Sets how long to wait at most. Then the lock is refused as {@link Reason#TIMED_OUT}. Default: as long as it
     * takes.
     *
     * @param wait zero: do not wait
     * @return this builder
     */
    public Builder waitAtMost(Duration wait) {
      waitAtMost = Optional.of(checkedWait(wait));
      return this;
    }

    /**
     * Does not wait: if the lock is not free, it is refused, for example as {@link Reason#BUSY}.
     *
     * @return this builder
     */
    public Builder noWait() {
      return waitAtMost(Duration.ZERO);
    }

    /**
     * Asks for a lease without end: it holds until it is released or force-released, even after this process is gone.
     *
     * @return this builder
     */
    public Builder noExpiry() {
      ttl = Optional.empty();
      return this;
    }

    /**
     * Sets how many permits to take, all or none. Default: 1.
     *
     * @param permits at most the server's limit for the lock, and 1,000,000
     * @return this builder
     */
    public Builder permits(int permits) {
      this.permits = permits;
      return this;
    }

    /**
     * Sets how to hold the lock. Default: {@link Mode#PERMIT}.
     *
     * @param mode how
     * @return this builder
     */
    public Builder mode(Mode mode) {
      this.mode = Objects.requireNonNull(mode, "mode: it is null");
      return this;
    }

    /**
     * Asks for one permit of a further lock in the same claim, with at most seven of them. The claim gets all of its locks or
     * none, with one lease, which one release ends, and a fencing token for each: see {@link HeldLock#tokenOf(String)}. All
     * other options are those of the whole claim.
     *
     * <p>Claims for several locks never wait for each other in a circle, in whatever order they name them. While a claim waits
     * for one of its locks it holds none, but where it is first nobody passes it, and that lock stays free: bound that by {@link
     * #waitAtMost(Duration)}. Calls under the same request id must name the same locks in the same order.
     *
     * @param name the further lock
     * @return this builder
     */
    public Builder also(String name) {
      return also(name, Mode.PERMIT, 1);
    }

    /**
     * Asks for a further lock in the same claim, in a mode and with permits of its own. See {@link #also(String)}.
     *
     * @param name the further lock
     * @param mode how to hold it
     * @param permits how many permits to take of it; 1 for readers and writers
     * @return this builder
     */
    public Builder also(String name, Mode mode, int permits) {
      also.add(
          new WantedLock(
              Objects.requireNonNull(name, "also: the name of a lock is null"),
              Objects.requireNonNull(mode, "also: the mode is null"),
              permits));
      return this;
    }

    /**
     * Queues the request as if it had come so much earlier, as far as the lock's queue rules allow: see {@link
     * QueueRules#headStartMax()}. It takes the right {@code head_start}, and does not go with {@link #also(String)}. Default: zero.
     *
     * @param by how much earlier
     * @return this builder
     */
    public Builder headStart(Duration by) {
      headStart = Optional.of(by);
      return this;
    }

    /**
     * Sets a listener for each new place in the queue. All such listeners share one thread of the client, so be quick;
     * a slow listener gets only the latest place. If it throws, the client gives up the wait, which fails with that
     * exception.
     *
     * @param listener what to call
     * @return this builder
     */
    public Builder onPosition(Consumer<Place> listener) {
      onPosition = Optional.of(listener);
      return this;
    }

    /**
     * Sets the minimum time between two places. Default: 1 s.
     *
     * @param interval zero to one hour
     * @return this builder
     */
    public Builder positionInterval(Duration interval) {
      positionInterval = Objects.requireNonNull(interval, "positionInterval: it is null");
      return this;
    }

    /**
     * Sets a listener that is told why the lock is not granted yet: after {@link ConnectOptions.Builder#explainAfter},
     * by default 10 s, and then once a minute; at once if the asking thread itself holds the lock. The log has the same.
     * All such listeners share one thread of the client, so be quick.
     *
     * @param listener what to call
     * @return this builder
     */
    public Builder onWaiting(Consumer<WaitNotice> listener) {
      onWaiting = Optional.of(listener);
      return this;
    }

    /**
     * Lets a thread that holds the lock have it again, as it could have a {@code ReentrantLock}. The second lock is the
     * same lease, so it has the same token. The last release ends the lease, and its options alone count. Default:
     * false, so that a thread which asks for a lock that it holds waits for itself.
     *
     * <p>The thread is the one that asks, also with {@code lockAsync}. Where it asks for another mode or number of
     * permits than it holds, or for other locks with it, that is another request.
     *
     * @param isReentrant whether the thread that asks may hold the lock already
     * @return this builder
     */
    public Builder reentrant(boolean isReentrant) {
      this.isReentrant = isReentrant;
      return this;
    }

    Builder spend(boolean isSpend) {
      this.isSpend = isSpend;
      return this;
    }

    /**
     * Sets the request id. The same id always means the same claim: a call that asks again under it gets the same lease
     * or place. Default: an id for each call.
     *
     * @param requestId such as a UUID; at most 100 bytes
     * @return this builder
     */
    public Builder requestId(String requestId) {
      this.requestId = Optional.of(requestId);
      return this;
    }

    /**
     * Builds the options.
     *
     * @return options; reusable for any number of calls, unless they have a request id
     * @throws IllegalArgumentException for options that cannot work
     */
    public LockOptions build() {
      return new LockOptions(this);
    }
  }
}
