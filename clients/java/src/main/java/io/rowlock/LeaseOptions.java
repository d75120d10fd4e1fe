// The options of any lease, of a lock that is named or of one that is captured.

package io.rowlock;

import com.google.protobuf.Empty;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import rowlock.v1.LeaseTerms;

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
  final Terms terms;

  /** The key in {@link Requests}, if the caller has chosen a request id. */
  abstract Optional<String> sharedId();

  LeaseOptions(Builder<?> builder) {
    ttl = builder.ttl;
    owner = builder.owner;
    labels = Map.copyOf(builder.labels);
    requestId = builder.requestId;
    terms =
        new Terms(
            builder.minInterval,
            builder.lockDelay,
            builder.statusIfLost,
            List.copyOf(builder.ifStatus),
            builder.backoff);
    margin = marginOf(builder);
  }

  /** All that a request asks of its lease. */
  LeaseTerms leaseTerms() {
    LeaseTerms.Builder lease = LeaseTerms.newBuilder().setOwner(owner).putAllLabels(labels);
    ttl.ifPresentOrElse(
        time -> lease.setTtl(Times.protoOf(time)),
        () -> lease.setNoExpiry(Empty.getDefaultInstance()));
    terms.addTo(lease);
    return lease.build();
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
   * Chooses options of a lease.
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
    private Optional<rowlock.v1.Backoff> backoff = Optional.empty();

    Builder() {}

    abstract B itself();

    /** Copies all of {@code options}. */
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
      backoff = options.terms.backoff();
      return itself();
    }

    /**
     * Sets the time to live of the lease, which the client renews at every third of it. Default: 30 s.
     *
     * @param ttl 1 s to 24 days
     * @return this builder
     */
    public B ttl(Duration ttl) {
      this.ttl = Optional.of(ttl);
      return itself();
    }

    /**
     * Sets how long before the end of the lease the client gives the lock up for lost: the time that the work has to
     * stop. Default: a tenth of the ttl, at most 2 s. A lease without end has no margin.
     *
     * @param margin at least 0 and less than half of the ttl
     * @return this builder
     */
    public B margin(Duration margin) {
      this.margin = Optional.of(margin);
      return itself();
    }

    /**
     * Sets who asks, for people who look at the lock. Default: the owner of the client.
     *
     * @param owner for this claim alone; at most 255 bytes
     * @return this builder
     */
    public B owner(String owner) {
      this.owner = Objects.requireNonNull(owner, "owner: it is null");
      return itself();
    }

    /**
     * Adds a label for people who look at the lock, in addition to those of the client. At most 16 in total.
     *
     * @param key 1 to 63 bytes
     * @param value at most 255 bytes
     * @return this builder
     */
    public B label(String key, String value) {
      labels.put(key, value);
      return itself();
    }

    /**
     * Adds several labels.
     *
     * @param labels added to those of earlier calls
     * @return this builder
     */
    public B labels(Map<String, String> labels) {
      this.labels.putAll(labels);
      return itself();
    }

    /**
     * After a release of the lease, forbids grants until this long after it was granted. A lost lease does not set
     * this, so that another holder may take over at once.
     *
     * @param interval 0 to 10 years
     * @return this builder
     */
    public B minInterval(Duration interval) {
      minInterval = Optional.of(interval);
      return itself();
    }

    /**
     * After a loss of the lease, forbids grants for this long, for the sake of work that is still under way.
     *
     * @param delay 0 to 10 years
     * @return this builder
     */
    public B lockDelay(Duration delay) {
      lockDelay = Optional.of(delay);
      return itself();
    }

    /**
     * Sets the lock's status after a loss of the lease, so that a crash does not leave it "in progress". Default: the
     * status stays as it is.
     *
     * @param status at most 63 bytes
     * @return this builder
     */
    public B statusIfLost(String status) {
      statusIfLost = Optional.of(status);
      return itself();
    }

    /**
     * Grants the lock only if it has one of these statuses at the moment of the grant. {@code ""} also matches a lock
     * without a record.
     *
     * @param statuses added to those of earlier calls; at most 16, of at most 63 bytes each
     * @return this builder
     */
    public B ifStatus(String... statuses) {
      ifStatus.addAll(List.of(statuses));
      return itself();
    }

    /**
     * After a run that has failed (see {@link ReleaseOptions.Builder#failed}) or was lost, forbids grants for this long,
     * so that what fails is not tried again at once, whoever tries it.
     *
     * @param time after each failure, 1 microsecond to 10 years
     * @return this builder
     */
    public B backoff(Duration time) {
      backoff = Optional.of(rowlock.v1.Backoff.newBuilder().setFirst(Times.protoOf(time)).build());
      return itself();
    }

    /**
     * The same, for a time that doubles with each further failure in a row. After a failure it comes instead of {@link
     * #minInterval}, and a cool-down of the release replaces it. Of {@link #lockDelay} and it, the later time counts.
     *
     * @param first after the first failure, 1 microsecond to 10 years
     * @param max the longest time, not less than {@code first}
     * @return this builder
     */
    public B backoff(Duration first, Duration max) {
      rowlock.v1.Backoff.Builder asked = rowlock.v1.Backoff.newBuilder();
      backoff = Optional.of(asked.setFirst(Times.protoOf(first)).setMax(Times.protoOf(max)).build());
      return itself();
    }
  }
}
