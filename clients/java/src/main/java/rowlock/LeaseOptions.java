// What can be chosen for any lease, of a lock that is named or of one that is captured.

package rowlock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

abstract class LeaseOptions {
  static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration MARGIN_MAX = Duration.ofSeconds(2);
  private static final long MARGIN_SHARE = 10;

  /** Empty: without end. */
  final Optional<Duration> ttl;

  final Duration margin;
  final String owner;
  final Map<String, String> labels;
  final Optional<String> requestId;
  final RecordTerms terms;

  /** The request id among {@link Requests}, where the caller has chosen one. */
  abstract Optional<String> sharedId();

  LeaseOptions(Builder<?> builder) {
    ttl = builder.ttl;
    owner = builder.owner;
    labels = Map.copyOf(builder.labels);
    requestId = builder.requestId;
    terms =
        new RecordTerms(
            builder.minInterval,
            builder.lockDelay,
            builder.statusIfLost,
            List.copyOf(builder.ifStatus));
    margin = marginOf(builder);
  }

  private static Duration marginOf(Builder<?> builder) {
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

  static Duration checkedWait(Duration wait) {
    if (wait.isNegative()) throw new IllegalArgumentException("waitAtMost: " + wait + " is negative");
    return wait;
  }

  /**
   * Chooses them.
   *
   * @param <B> the builder that chooses more
   */
  public abstract static class Builder<B extends Builder<B>> {
    Optional<Duration> ttl = Optional.of(TTL);
    private Optional<Duration> margin = Optional.empty();
    private String owner = "";
    private final Map<String, String> labels = new LinkedHashMap<>();
    Optional<String> requestId = Optional.empty();
    private Optional<Duration> minInterval = Optional.empty();
    private Optional<Duration> lockDelay = Optional.empty();
    private Optional<String> statusIfLost = Optional.empty();
    private final List<String> ifStatus = new ArrayList<>();

    Builder() {}

    abstract B itself();

    /** All that there is of {@code options}. */
    B like(LeaseOptions options) {
      ttl = options.ttl;
      margin = options.ttl.map(any -> options.margin);
      owner = options.owner;
      labels.putAll(options.labels);
      requestId = options.requestId;
      minInterval = options.terms.minInterval();
      lockDelay = options.terms.lockDelay();
      statusIfLost = options.terms.statusIfLost();
      ifStatus.addAll(options.terms.ifStatus());
      return itself();
    }

    /**
     * Time to live of the lease, which is renewed at every third of it; 30 s unless told otherwise.
     *
     * @param ttl 1 s to 24 days
     * @return this builder
     */
    public B ttl(Duration ttl) {
      this.ttl = Optional.of(ttl);
      return itself();
    }

    /**
     * How long before the lease may end it is given up for lost: the time that the work has to stop. Unless told otherwise a
     * tenth of the ttl, and 2 s at the most.
     *
     * @param margin less than half of the ttl
     * @return this builder
     */
    public B margin(Duration margin) {
      this.margin = Optional.of(margin);
      return itself();
    }

    /**
     * Who asks, for people who look at the lock; unset: that of the client.
     *
     * @param owner for this claim alone
     * @return this builder
     */
    public B owner(String owner) {
      this.owner = owner;
      return itself();
    }

    /**
     * What else they should see, beside the labels of the client.
     *
     * @param key which
     * @param value what
     * @return this builder
     */
    public B label(String key, String value) {
      labels.put(key, value);
      return itself();
    }

    /**
     * Several of them.
     *
     * @param labels added to those that were named before
     * @return this builder
     */
    public B labels(Map<String, String> labels) {
      this.labels.putAll(labels);
      return itself();
    }

    /**
     * When the lease is released, nothing is granted until so long after its grant. One that is lost does not set it: another
     * may take over at once.
     *
     * @param interval up to 10 years
     * @return this builder
     */
    public B minInterval(Duration interval) {
      minInterval = Optional.of(interval);
      return itself();
    }

    /**
     * When the lease is lost, nothing is granted for so long, for the sake of work that is still under way.
     *
     * @param delay up to 10 years
     * @return this builder
     */
    public B lockDelay(Duration delay) {
      lockDelay = Optional.of(delay);
      return itself();
    }

    /**
     * The lock's status when the lease is lost, so that a crash does not leave it "in progress".
     *
     * @param status up to 63 bytes
     * @return this builder
     */
    public B statusIfLost(String status) {
      statusIfLost = Optional.of(status);
      return itself();
    }

    /**
     * Granted only where the lock has one of these statuses; {@code ""} is that of a lock which remembers none.
     *
     * @param statuses added to those that were named before; 16 at the most
     * @return this builder
     */
    public B ifStatus(String... statuses) {
      ifStatus.addAll(List.of(statuses));
      return itself();
    }
  }
}
