package io.rowlock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** The options of {@link RowlockClient#capture(CaptureOptions)}: which locks to capture, and how. */
public final class CaptureOptions extends LeaseOptions {
  final Optional<String> prefix;
  final Optional<List<String>> names;
  final int count;

  /** Empty: as long as it takes; zero: do not wait. */
  final Optional<Duration> waitAtMost;

  private CaptureOptions(Builder builder) {
    super(builder);
    prefix = builder.prefix;
    names = builder.names.map(List::copyOf);
    // A request has room for one of them, and would silently lose the other.
    if (prefix.isPresent() && names.isPresent())
      throw new IllegalArgumentException("prefix and names: set one of them");
    count = builder.count;
    waitAtMost = builder.waitAtMost;
  }

  @Override
  Optional<String> sharedId() {
    return requestId.map(id -> "capture " + id);
  }

  boolean isWait() {
    return waitAtMost.isEmpty() || !waitAtMost.get().isZero();
  }

  /**
   * Begins to choose options.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  static CaptureOptions of(Consumer<Builder> choice) {
    Builder builder = builder();
    choice.accept(builder);
    return builder.build();
  }

  /** Chooses options for a capture. Either a prefix or names are required; both cannot work. */
  public static final class Builder extends LeaseOptions.Builder<Builder> {
    private Optional<String> prefix = Optional.empty();
    private Optional<List<String>> names = Optional.empty();
    private int count = 1;
    private Optional<Duration> waitAtMost = Optional.of(Duration.ZERO);

    private Builder() {}

    @Override
    Builder itself() {
      return this;
    }

    /**
     * Captures locks whose names begin with this prefix and that have a record. A lock that nobody has named cannot be
     * found.
     *
     * @param prefix at most 255 bytes; empty: all locks with a record
     * @return this builder
     */
    public Builder prefix(String prefix) {
      this.prefix = Optional.of(prefix);
      return this;
    }

    /**
     * Captures some of these locks. A lock that nobody has named before can be captured, too.
     *
     * @param names added to those of earlier calls; at most 1,000 in total
     * @return this builder
     */
    public Builder names(String... names) {
      return names(List.of(names));
    }

    /**
     * Captures some of these locks. A lock that nobody has named before can be captured, too.
     *
     * @param names added to those of earlier calls; at most 1,000 in total
     * @return this builder
     */
    public Builder names(Collection<String> names) {
      if (this.names.isEmpty()) this.names = Optional.of(new ArrayList<>());
      this.names.get().addAll(names);
      return this;
    }

    /**
     * Sets how many locks to capture at most. Default: 1.
     *
     * @param count 1 to 100
     * @return this builder
     */
    public Builder count(int count) {
      this.count = count;
      return this;
    }

    /**
     * Sets how long to wait for the first lock if there is none to take. Default: do not wait. Such a wait has no place
     * in a queue: a later caller may be served earlier.
     *
     * @param wait zero: do not wait
     * @return this builder
     */
    public Builder waitAtMost(Duration wait) {
      waitAtMost = Optional.of(checkedWait(wait));
      return this;
    }

    /**
     * Waits for the first lock for as long as it takes.
     *
     * @return this builder
     */
    public Builder waitForever() {
      waitAtMost = Optional.empty();
      return this;
    }

    /**
     * Sets the request id. The same id always means the same leases, as long as they are held. Default: an id for each
     * call.
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
    public CaptureOptions build() {
      return new CaptureOptions(this);
    }
  }
}
