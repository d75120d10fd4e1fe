package io.rowlock;

import com.google.protobuf.Descriptors.FieldDescriptor;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import rowlock.v1.ReleaseRequest;

/** Changes to a lock's record when a lease is released. Values that are not named stay as they are. */
public final class ReleaseOptions {
  private static final ReleaseOptions DEFAULTS = builder().build();

  /** For a lease that nobody has used: the lock may be granted again at once. */
  static final ReleaseOptions UNUSED = builder().coolDown(Duration.ZERO).build();

  private final ReleaseRequest said;

  private ReleaseOptions(ReleaseRequest said) {
    this.said = said;
  }

  ReleaseRequest request(String leaseId) {
    return said.toBuilder().setLeaseId(leaseId).build();
  }

  boolean isNothing() {
    return said.equals(ReleaseRequest.getDefaultInstance());
  }

  /** These options without what the server refuses; if it does not say what that is, only whether the work has failed. */
  ReleaseOptions without(List<Violation> violations) {
    ReleaseRequest.Builder rest = said.toBuilder();
    for (Violation violation : violations)
      for (FieldDescriptor field : said.getAllFields().keySet())
        if (violation.field().equals(field.getName())) rest.clearField(field);
    ReleaseRequest left = rest.build();
    return left.equals(said) ? builder().failed(said.getFailed()).build() : new ReleaseOptions(left);
  }

  ReleaseOptions withCoolDown(Duration coolDown) {
    return new ReleaseOptions(said.toBuilder().setCoolDown(Times.protoOf(coolDown)).build());
  }

  /**
   * Returns options that change nothing.
   *
   * @return options
   */
  public static ReleaseOptions defaults() {
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

  static ReleaseOptions of(Consumer<Builder> choice) {
    Builder builder = builder();
    choice.accept(builder);
    return builder.build();
  }

  /** Chooses changes to the lock's record. */
  public static final class Builder {
    private final ReleaseRequest.Builder said = ReleaseRequest.newBuilder();

    private Builder() {}

    /**
     * Sets the lock's status.
     *
     * @param status a word of your own, at most 63 bytes
     * @return this builder
     */
    public Builder status(String status) {
      said.setStatus(status);
      return this;
    }

    /**
     * Forbids grants for this long from the release on, instead of what {@code minInterval} or {@code backoff} say.
     *
     * @param coolDown 0 to 10 years; zero: the lock may be granted at once
     * @return this builder
     */
    public Builder coolDown(Duration coolDown) {
      said.setCoolDown(Times.protoOf(coolDown));
      return this;
    }

    /**
     * Sets how many more times the lock may be granted, for example after a success.
     *
     * @param attempts 0 to 1,000,000
     * @return this builder
     */
    public Builder attemptsLeft(int attempts) {
      said.setAttemptsLeft(attempts);
      return this;
    }

    /**
     * Says that the work has failed: the lease ends as {@link Reason#FAILED}, and its {@code backoff} applies. Alone it
     * makes no record; a record counts the failures, and keeps the last run that was a success.
     *
     * @return this builder
     */
    public Builder failed() {
      return failed(true);
    }

    /**
     * The same, for a result that is in a variable.
     *
     * @param failed whether the work has failed
     * @return this builder
     */
    public Builder failed(boolean failed) {
      said.setFailed(failed);
      return this;
    }

    /**
     * Builds the options.
     *
     * @return options, reusable for any number of releases
     */
    public ReleaseOptions build() {
      return new ReleaseOptions(said.build());
    }
  }
}
