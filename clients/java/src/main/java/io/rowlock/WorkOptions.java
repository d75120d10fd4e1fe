package io.rowlock;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/** The options of {@link RowlockClient#work(String, WorkOptions, LockedAction)}: which locks to take, and how many. */
public final class WorkOptions extends LeaseOptions {
  /** The most locks of one capture. */
  private static final int CONCURRENCY_MAX = 100;

  /** A lock whose handler has failed, or whose worker has died, rests: twice as long each time, if nothing else is asked. */
  static final Duration REST = Duration.ofSeconds(1);

  static final Duration REST_MAX = Duration.ofMinutes(1);

  final int concurrency;
  final ReleaseOptions whenDone;
  final ReleaseOptions whenFailed;

  /** A lock rests whose release was refused, so that it is not taken again at once, unless a minInterval keeps it. */
  final boolean rests;

  private WorkOptions(Builder builder) {
    super(builder);
    concurrency = builder.concurrency;
    whenDone = release(false, builder.statusWhenDone);
    whenFailed = release(true, terms.statusIfLost());
    rests = terms.minInterval().isEmpty();
  }

  private static ReleaseOptions release(boolean failed, Optional<String> status) {
    ReleaseOptions.Builder release = ReleaseOptions.builder().failed(failed);
    status.ifPresent(release::status);
    return release.build();
  }

  /** Each capture has a request id of its own. */
  @Override
  Optional<String> sharedId() {
    return Optional.empty();
  }

  CaptureOptions capture(String prefix, int count) {
    CaptureOptions.Builder capture = CaptureOptions.builder().like(this);
    // With a minInterval, a lock rests in any case.
    if (rests && terms.backoff().isEmpty()) capture.backoff(REST, REST_MAX);
    return capture.prefix(prefix).count(count).waitForever().build();
  }

  /**
   * Begins to choose options.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  static WorkOptions of(Consumer<Builder> choice) {
    Builder builder = builder();
    choice.accept(builder);
    return builder.build();
  }

  /** Chooses options for a worker. */
  public static final class Builder extends LeaseOptions.Builder<Builder> {
    private int concurrency = 1;
    private Optional<String> statusWhenDone = Optional.empty();

    private Builder() {}

    @Override
    Builder itself() {
      return this;
    }

    /**
     * Sets how many handlers run at once at most. Default: 1.
     *
     * @param concurrency 1 to 100
     * @return this builder
     */
    public Builder concurrency(int concurrency) {
      if (concurrency < 1 || concurrency > CONCURRENCY_MAX)
        throw new IllegalArgumentException(
            "concurrency: " + concurrency + " must be 1 to " + CONCURRENCY_MAX);
      this.concurrency = concurrency;
      return this;
    }

    /**
     * Sets the lock's status when its handler has returned. When the handler throws, or the lock is lost, the status is
     * {@link #statusIfLost}, and the lock rests with the {@link #backoff(Duration, Duration) backoff}, by default from one
     * second up to a minute, or for the {@code minInterval}. Default: the status stays as it is, so that without a {@code minInterval} the worker takes
     * the same lock again at once.
     *
     * @param status at most 63 bytes
     * @return this builder
     */
    public Builder statusWhenDone(String status) {
      statusWhenDone = Optional.of(status);
      return this;
    }

    /**
     * Builds the options.
     *
     * @return options, reusable for any number of workers
     * @throws IllegalArgumentException for options that cannot work
     */
    public WorkOptions build() {
      return new WorkOptions(this);
    }
  }
}
