package io.rowlock;

import java.time.Duration;
import java.util.Map;
import java.util.function.Consumer;

/** The options of {@link RowlockClient#spend(String, SpendOptions)}, with their defaults: those of a lock that is not held. */
public final class SpendOptions {
  private static final SpendOptions DEFAULTS = builder().build();

  final LockOptions asked;

  private SpendOptions(LockOptions asked) {
    this.asked = asked;
  }

  /**
   * Returns the defaults.
   *
   * @return options
   */
  public static SpendOptions defaults() {
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

  static SpendOptions of(Consumer<Builder> choice) {
    Builder builder = builder();
    choice.accept(builder);
    return builder.build();
  }

  /** Chooses options for a spend. */
  public static final class Builder {
    private final LockOptions.Builder asked = LockOptions.builder().spend(true);

    private Builder() {}

    /**
     * Sets how long to wait at most. Then the spend is refused as {@link Reason#TIMED_OUT}. Default: as long as it takes.
     *
     * @param wait zero: do not wait
     * @return this builder
     */
    public Builder waitAtMost(Duration wait) {
      asked.waitAtMost(wait);
      return this;
    }

    /**
     * Does not wait: if it is too early, the spend is refused as {@link Reason#RATE}, and the refusal says when it is not.
     *
     * @return this builder
     */
    public Builder noWait() {
      asked.noWait();
      return this;
    }

    /**
     * Sets how many permits to take of the rate, all or none. Default: 1.
     *
     * @param permits at most the burst of the rate, and 1,000,000; it may be more than the limit
     * @return this builder
     */
    public Builder permits(int permits) {
      asked.permits(permits);
      return this;
    }

    /**
     * Queues the spend as if it had come so much earlier: see {@link LockOptions.Builder#headStart(Duration)}. Default: zero.
     *
     * @param by how much earlier
     * @return this builder
     */
    public Builder headStart(Duration by) {
      asked.headStart(by);
      return this;
    }

    /**
     * Sets who asks, for people who look at the lock. Default: the owner of the client.
     *
     * @param owner for this spend alone; at most 255 bytes
     * @return this builder
     */
    public Builder owner(String owner) {
      asked.owner(owner);
      return this;
    }

    /**
     * Adds a label for people who look at the lock, in addition to those of the client. At most 16 in total.
     *
     * @param key 1 to 63 bytes
     * @param value at most 255 bytes
     * @return this builder
     */
    public Builder label(String key, String value) {
      asked.label(key, value);
      return this;
    }

    /**
     * Adds several labels.
     *
     * @param labels added to those of earlier calls
     * @return this builder
     */
    public Builder labels(Map<String, String> labels) {
      asked.labels(labels);
      return this;
    }

    /**
     * Spends only if the lock has one of these statuses at the moment of the grant. {@code ""} also matches a lock
     * without a record.
     *
     * @param statuses added to those of earlier calls; at most 16, of at most 63 bytes each
     * @return this builder
     */
    public Builder ifStatus(String... statuses) {
      asked.ifStatus(statuses);
      return this;
    }

    /**
     * Sets the request id. A call that asks again under it gets the same {@link Spent}, so that nobody pays twice.
     * Default: an id for each call.
     *
     * @param requestId such as a UUID; at most 100 bytes
     * @return this builder
     */
    public Builder requestId(String requestId) {
      asked.requestId(requestId);
      return this;
    }

    /**
     * Sets a listener for each new place in the queue: see {@link LockOptions.Builder#onPosition(Consumer)}.
     *
     * @param listener what to call
     * @return this builder
     */
    public Builder onPosition(Consumer<Place> listener) {
      asked.onPosition(listener);
      return this;
    }

    /**
     * Sets the minimum time between two places. Default: 1 s.
     *
     * @param interval zero to one hour
     * @return this builder
     */
    public Builder positionInterval(Duration interval) {
      asked.positionInterval(interval);
      return this;
    }

    /**
     * Sets a listener that is told why a long wait lasts: see {@link LockOptions.Builder#onWaiting(Consumer)}.
     *
     * @param listener what to call
     * @return this builder
     */
    public Builder onWaiting(Consumer<WaitNotice> listener) {
      asked.onWaiting(listener);
      return this;
    }

    /**
     * Builds the options.
     *
     * @return options; reusable for any number of calls, unless they have a request id
     */
    public SpendOptions build() {
      return new SpendOptions(asked.build());
    }
  }
}
