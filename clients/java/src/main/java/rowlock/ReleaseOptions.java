package rowlock;

import java.time.Duration;
import java.util.function.Consumer;
import rowlock.v1.ReleaseRequest;

/** What a lock shall remember when a lease is given back, beside how that went. What is not named stays as it is. */
public final class ReleaseOptions {
  private static final ReleaseOptions DEFAULTS = builder().build();

  /** Of a lease that nobody has used: it may be granted at once. */
  static final ReleaseOptions UNUSED = builder().coolDown(Duration.ZERO).build();

  private final ReleaseRequest said;

  private ReleaseOptions(ReleaseRequest said) {
    this.said = said;
  }

  ReleaseRequest request(String leaseId) {
    return said.toBuilder().setLeaseId(leaseId).build();
  }

  /**
   * Nothing beside how it went.
   *
   * @return options
   */
  public static ReleaseOptions defaults() {
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

  static ReleaseOptions of(Consumer<Builder> choice) {
    Builder builder = builder();
    choice.accept(builder);
    return builder.build();
  }

  /** Chooses what is remembered. */
  public static final class Builder {
    private final ReleaseRequest.Builder said = ReleaseRequest.newBuilder();

    private Builder() {}

    /**
     * The lock's status from now on.
     *
     * @param status up to 63 bytes; a word of your own
     * @return this builder
     */
    public Builder status(String status) {
      said.setStatus(status);
      return this;
    }

    /**
     * Nothing is granted for so long from now on, instead of until {@code minInterval} is over.
     *
     * @param coolDown up to 10 years; zero: it may be granted at once
     * @return this builder
     */
    public Builder coolDown(Duration coolDown) {
      said.setCoolDown(Times.protoOf(coolDown));
      return this;
    }

    /**
     * How many more times the lock may be granted: set anew after a success.
     *
     * @param attempts 0 to 1,000,000
     * @return this builder
     */
    public Builder attemptsLeft(int attempts) {
      said.setAttemptsLeft(attempts);
      return this;
    }

    /**
     * What was chosen.
     *
     * @return options, to be used as often as you like
     */
    public ReleaseOptions build() {
      return new ReleaseOptions(said.build());
    }
  }
}
