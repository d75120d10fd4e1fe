package io.rowlock;

import java.util.Optional;

/**
 * How many permits may be held at once, and where that limit comes from.
 *
 * @param permits how many; 0 pauses the lock
 * @param source where it comes from
 * @param pattern the pattern, if that or a pool is the source; empty text if the caller may not see it
 * @param version for the {@link LimitChange#ifVersion(long)} of the next change
 * @param reason the reason that came with the change
 */
public record LimitView(
    int permits, Source source, Optional<String> pattern, long version, String reason) {
  /** Where a limit or a rate comes from. */
  public enum Source {
    /** Nothing was set, and the limit is 1. */
    DEFAULT,
    /** From the longest pattern that matches the name and has one. */
    PATTERN,
    /** From a pool over the name, which counts all names under it together. */
    POOL,
    /** Set for this very name. */
    NAME;

    boolean hasPattern() {
      return this == PATTERN || this == POOL;
    }

    static Source of(rowlock.v1.LimitSource source) {
      return switch (source) {
        case LIMIT_SOURCE_PATTERN -> PATTERN;
        case LIMIT_SOURCE_POOL -> POOL;
        case LIMIT_SOURCE_NAME -> NAME;
        default -> DEFAULT;
      };
    }
  }

  static LimitView of(rowlock.v1.Limit limit) {
    Source source = Source.of(limit.getSource());
    return new LimitView(
        limit.getPermits(),
        source,
        source.hasPattern() ? Optional.of(limit.getPattern()) : Optional.empty(),
        limit.getVersion(),
        limit.getReason());
  }
}
