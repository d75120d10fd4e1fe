package rowlock;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/** What can be chosen for one lock, with what holds where nothing is said. */
public final class LockOptions extends LeaseOptions {
  private static final LockOptions DEFAULTS = builder().build();

  /** How long to wait; empty: as long as it takes; zero: not at all. */
  final Optional<Duration> waitAtMost;

  final int permits;
  final Mode mode;
  final Optional<Consumer<Place>> onPosition;
  final Duration positionInterval;

  private LockOptions(Builder builder) {
    super(builder);
    waitAtMost = builder.waitAtMost;
    permits = builder.permits;
    mode = builder.mode;
    onPosition = builder.onPosition;
    positionInterval = builder.positionInterval;
  }

  @Override
  Optional<String> sharedId() {
    return requestId.map(id -> "lock " + id);
  }

  boolean isTry() {
    return waitAtMost.isPresent() && waitAtMost.get().isZero();
  }

  /** The same, and not to wait. */
  LockOptions withoutWait() {
    return builder().like(this).noWait().permits(permits).mode(mode).build();
  }

  /**
   * What holds where nothing is said.
   *
   * @return options
   */
  public static LockOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Begins to choose.
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
    private Optional<Consumer<Place>> onPosition = Optional.empty();
    private Duration positionInterval = Duration.ofSeconds(1);

    private Builder() {}

    @Override
    Builder itself() {
      return this;
    }

    /**
     * Waits no longer; unset: as long as it takes. Then the lock is refused as {@link Reason#TIMED_OUT}.
     *
     * @param wait zero: not at all
     * @return this builder
     */
    public Builder waitAtMost(Duration wait) {
      waitAtMost = Optional.of(checkedWait(wait));
      return this;
    }

    /**
     * Does not wait: where the lock is not free it is refused as {@link Reason#BUSY}.
     *
     * @return this builder
     */
    public Builder noWait() {
      return waitAtMost(Duration.ZERO);
    }

    /**
     * A lease without end: it holds until it is released, also when this process is gone.
     *
     * @return this builder
     */
    public Builder noExpiry() {
      ttl = Optional.empty();
      return this;
    }

    /**
     * How many permits to take, all or none; 1 unless told otherwise.
     *
     * @param permits as many as the server's limit has room for
     * @return this builder
     */
    public Builder permits(int permits) {
      this.permits = permits;
      return this;
    }

    /**
     * How to hold it; {@link Mode#PERMIT} unless told otherwise.
     *
     * @param mode how
     * @return this builder
     */
    public Builder mode(Mode mode) {
      this.mode = mode;
      return this;
    }

    /**
     * Told each new place in the queue, on a thread of the client's that tells all of them: be quick. If it throws, the wait is
     * given up and fails with that.
     *
     * @param listener what to call
     * @return this builder
     */
    public Builder onPosition(Consumer<Place> listener) {
      onPosition = Optional.of(listener);
      return this;
    }

    /**
     * How often at the most places are told; 1 s unless told otherwise.
     *
     * @param interval zero to one hour
     * @return this builder
     */
    public Builder positionInterval(Duration interval) {
      positionInterval = interval;
      return this;
    }

    /**
     * The same id always means the same claim: whoever asks again under it comes back to its lease or place. Unset: an id for
     * each call.
     *
     * @param requestId such as a UUID
     * @return this builder
     */
    public Builder requestId(String requestId) {
      this.requestId = Optional.of(requestId);
      return this;
    }

    /**
     * What was chosen.
     *
     * @return options; to be used as often as you like, unless they have a request id
     * @throws IllegalArgumentException for what cannot work
     */
    public LockOptions build() {
      return new LockOptions(this);
    }
  }
}
