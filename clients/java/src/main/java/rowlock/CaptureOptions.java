package rowlock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Which of many locks to capture, and how: for {@link Rowlock#capture(CaptureOptions)}. */
public final class CaptureOptions extends LeaseOptions {
  final Optional<String> prefix;
  final List<String> names;
  final int count;

  /** Empty: as long as it takes; zero: not at all. */
  final Optional<Duration> waitAtMost;

  private CaptureOptions(Builder builder) {
    super(builder);
    prefix = builder.prefix;
    names = List.copyOf(builder.names);
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
   * Begins to choose.
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

  /** Chooses options for a capture: either a prefix or names, and what else there is to say. */
  public static final class Builder extends LeaseOptions.Builder<Builder> {
    private Optional<String> prefix = Optional.empty();
    private final List<String> names = new ArrayList<>();
    private int count = 1;
    private Optional<Duration> waitAtMost = Optional.of(Duration.ZERO);

    private Builder() {}

    @Override
    Builder itself() {
      return this;
    }

    /**
     * Of the locks whose names begin so and that remember something: one that nobody has named cannot be found.
     *
     * @param prefix empty: all
     * @return this builder
     */
    public Builder prefix(String prefix) {
      this.prefix = Optional.of(prefix);
      return this;
    }

    /**
     * Of these locks, also those that nobody has named before.
     *
     * @param names added to those that were named before; 1,000 at the most
     * @return this builder
     */
    public Builder names(String... names) {
      return names(List.of(names));
    }

    /**
     * Of these locks, also those that nobody has named before.
     *
     * @param names added to those that were named before; 1,000 at the most
     * @return this builder
     */
    public Builder names(Collection<String> names) {
      this.names.addAll(names);
      return this;
    }

    /**
     * How many at the most; 1 unless told otherwise.
     *
     * @param count 1 to 100
     * @return this builder
     */
    public Builder count(int count) {
      this.count = count;
      return this;
    }

    /**
     * Where there is none to take, waits for the first one; not at all unless told otherwise. Such a wait has no place in a
     * queue: who comes later may be served before.
     *
     * @param wait zero: not at all
     * @return this builder
     */
    public Builder waitAtMost(Duration wait) {
      waitAtMost = Optional.of(checkedWait(wait));
      return this;
    }

    /**
     * Waits for the first one, for as long as it takes.
     *
     * @return this builder
     */
    public Builder waitForever() {
      waitAtMost = Optional.empty();
      return this;
    }

    /**
     * The same id always means the same leases, as long as they are held. Unset: an id for each call.
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
    public CaptureOptions build() {
      return new CaptureOptions(this);
    }
  }
}
