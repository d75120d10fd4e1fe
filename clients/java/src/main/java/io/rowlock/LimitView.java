package io.rowlock;

import java.util.Optional;

/**
 * How many permits may be held at once, and where that limit comes from.
 *
 * @param permits how many; 0 pauses the lock
 * @param source where it comes from
 * @param pattern the pattern, if that is the source
 * @param version for the {@link LimitChange#ifVersion(long)} of the next change
 * @param reason the reason that came with the change
 */
public record LimitView(
    int permits, Source source, Optional<String> pattern, long version, String reason) {
  /** Where a limit comes from. */
  public enum Source {
    /** Nothing was set, and the limit is 1. */
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
        limit.getPermits(),
        source,
        source == Source.PATTERN ? Optional.of(limit.getPattern()) : Optional.empty(),
        limit.getVersion(),
        limit.getReason());
  }
}
