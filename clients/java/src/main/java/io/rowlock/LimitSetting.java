package io.rowlock;

/**
 * A limit that was set, for one name or for a pattern.
 *
 * @param target the name or the pattern
 * @param isPattern whether target is a pattern
 * @param limit permits that may be held at once
 * @param version of this setting
 * @param reason the reason that came with the change
 */
public record LimitSetting(
    String target, boolean isPattern, int limit, long version, String reason) {
  static LimitSetting of(rowlock.v1.LimitSetting setting) {
    return new LimitSetting(
        setting.hasPattern() ? setting.getPattern() : setting.getName(),
        setting.hasPattern(),
        setting.getLimit(),
        setting.getVersion(),
        setting.getReason());
  }
}
