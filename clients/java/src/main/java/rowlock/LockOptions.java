package rowlock;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** What can be chosen for one lock, with what holds where nothing is said. */
public final class LockOptions {
  static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration MARGIN_MAX = Duration.ofSeconds(2);
  private static final long MARGIN_SHARE = 10;
  private static final LockOptions DEFAULTS = builder().build();

  /** How long to wait; empty: as long as it takes; zero: not at all. */
  final Optional<Duration> waitAtMost;

  /** Empty: without end. */
  final Optional<Duration> ttl;

  final Duration margin;
  final int permits;
  final Mode mode;
  final Optional<Consumer<Place>> onPosition;
  final Duration positionInterval;
  final String owner;
  final Map<String, String> labels;
  final Optional<String> requestId;

  private LockOptions(Builder builder) {
    waitAtMost = builder.waitAtMost;
    ttl = builder.ttl;
    permits = builder.permits;
    mode = builder.mode;
    onPosition = builder.onPosition;
    positionInterval = builder.positionInterval;
    owner = builder.owner;
    labels = Map.copyOf(builder.labels);
    requestId = builder.requestId;
    margin = marginOf(builder);
  }

  private static Duration marginOf(Builder builder) {
    if (builder.ttl.isEmpty()) return Duration.ZERO;
    Duration ttl = builder.ttl.get();
    if (builder.margin.isEmpty()) {
      Duration share = ttl.dividedBy(MARGIN_SHARE);
      return share.compareTo(MARGIN_MAX) < 0 ? share : MARGIN_MAX;
    }
    Duration margin = builder.margin.get();
    if (margin.isNegative() || margin.multipliedBy(2).compareTo(ttl) >= 0)
      throw new IllegalArgumentException(
          "margin: " + margin + " must be less than half of the ttl of " + ttl);
    return margin;
  }

  boolean isTry() {
    return waitAtMost.isPresent() && waitAtMost.get().isZero();
  }

  /** The same, and not to wait. */
  LockOptions withoutWait() {
    Builder builder = builder().noWait().permits(permits).mode(mode).owner(owner).labels(labels);
    builder.ttl = ttl;
    builder.requestId = requestId;
    if (ttl.isPresent()) builder.margin(margin);
    return builder.build();
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
  public static final class Builder {
    private Optional<Duration> waitAtMost = Optional.empty();
    private Optional<Duration> ttl = Optional.of(TTL);
    private Optional<Duration> margin = Optional.empty();
    private int permits;
    private Mode mode = Mode.PERMIT;
    private Optional<Consumer<Place>> onPosition = Optional.empty();
    private Duration positionInterval = Duration.ofSeconds(1);
    private String owner = "";
    private final Map<String, String> labels = new LinkedHashMap<>();
    private Optional<String> requestId = Optional.empty();

    private Builder() {}

    /**
     * Waits no longer; unset: as long as it takes. Then the lock is refused as {@link Reason#TIMED_OUT}.
     *
     * @param wait zero: not at all
     * @return this builder
     */
    public Builder waitAtMost(Duration wait) {
      if (wait.isNegative()) throw new IllegalArgumentException("waitAtMost: " + wait + " is negative");
      waitAtMost = Optional.of(wait);
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
     * Time to live of the lease, which is renewed at every third of it; 30 s unless told otherwise.
     *
     * @param ttl 1 s to 24 days
     * @return this builder
     */
    public Builder ttl(Duration ttl) {
      this.ttl = Optional.of(ttl);
      return this;
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
     * How long before the lease may end it is given up for lost: the time that the work has to stop. Unless told otherwise a
     * tenth of the ttl, and 2 s at the most.
     *
     * @param margin less than half of the ttl
     * @return this builder
     */
    public Builder margin(Duration margin) {
      this.margin = Optional.of(margin);
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
     * Who asks, for people who look at the lock; unset: that of the client.
     *
     * @param owner for this claim alone
     * @return this builder
     */
    public Builder owner(String owner) {
      this.owner = owner;
      return this;
    }

    /**
     * What else they should see, beside the labels of the client.
     *
     * @param key which
     * @param value what
     * @return this builder
     */
    public Builder label(String key, String value) {
      labels.put(key, value);
      return this;
    }

    /**
     * Several of them.
     *
     * @param labels added to those that were named before
     * @return this builder
     */
    public Builder labels(Map<String, String> labels) {
      this.labels.putAll(labels);
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
