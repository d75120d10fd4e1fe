package rowlock;

import java.util.Optional;

/**
 * How many permits may be held at once, and why that many.
 *
 * @param limit how many; 0 pauses the lock
 * @param source where it comes from
 * @param pattern the pattern, where it comes from one
 * @param version for the {@link LimitChange#ifVersion(long)} of the next change
 * @param reason why, as was said when it was set
 */
public record LimitView(
    int limit, Source source, Optional<String> pattern, long version, String reason) {
  /** Where a limit comes from. */
  public enum Source {
    /** Nothing was set: it is 1. */
    DEFAULT,
    /** From the longest pattern that matches the name. */
    PATTERN,
    /** Set for this very name. */
    NAME
  }

  static LimitView of(rowlock.v1.Limit limit) {
    Source source =
        switch (limit.getSource()) {
          case LIMIT_SOURCE_PATTERN -> Source.PATTERN;
          case LIMIT_SOURCE_NAME -> Source.NAME;
          default -> Source.DEFAULT;
        };
    return new LimitView(
        limit.getLimit(),
        source,
        source == Source.PATTERN ? Optional.of(limit.getPattern()) : Optional.empty(),
        limit.getVersion(),
        limit.getReason());
  }
}
