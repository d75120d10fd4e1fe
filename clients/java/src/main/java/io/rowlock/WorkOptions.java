package io.rowlock;

import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/** The options of {@link RowlockClient#work(String, WorkOptions, LockedAction)}: which locks to take, and how many. */
public final class WorkOptions extends LeaseOptions {
  /** The most locks of one capture. */
  private static final int CONCURRENCY_MAX = 100;

  /** For how long a lock rests whose handler has failed. */
  static final Duration FAILED_REST = Duration.ofSeconds(1);

  final int concurrency;
  final ReleaseOptions whenDone;
  final ReleaseOptions whenFailed;

  /** A lock rests after a failure, so that it is not taken again at once, unless a minInterval keeps it. */
  final boolean rests;

  private WorkOptions(Builder builder) {
    super(builder);
    concurrency = builder.concurrency;
    whenDone = releaseWith(builder.statusWhenDone);
    rests = terms.minInterval().isEmpty();
    ReleaseOptions failed = releaseWith(terms.statusIfLost());
    whenFailed = rests ? failed.withCoolDown(FAILED_REST) : failed;
  }

  private static ReleaseOptions releaseWith(Optional<String> status) {
    return status
        .map(word -> ReleaseOptions.builder().status(word).build())
        .orElse(ReleaseOptions.defaults());
  }

  /** Each capture has a request id of its own. */
  @Override
  Optional<String> sharedId() {
    return Optional.empty();
  }

  CaptureOptions capture(String prefix, int count) {
    return CaptureOptions.builder().like(this).prefix(prefix).count(count).waitForever().build();
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
     * {@link #statusIfLost}. Default: the status stays as it is, so that without a {@code minInterval} the worker takes
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
