package io.rowlock;

import java.util.Optional;

/**
 * What was set, a limit, a rate, queue rules or several of them, for one name, for a pattern or for a pool.
 *
 * @param target the name, or the pattern of the pattern or the pool
 * @param isPattern whether target is a pattern
 * @param limit permits that may be held at once; 0, and without a meaning, if {@code isRateOnly}
 * @param version of this setting
 * @param reason the reason that came with the last change
 * @param rate how fast the locks may be granted; empty: this setting has no rate
 * @param isRateOnly whether this setting has no limit
 * @param isPool whether target is a pool
 * @param use what is used of a pool; empty for names and patterns
 * @param queueRules who may wait; empty: this setting has no queue rules
 */
public record LimitSetting(
    String target,
    boolean isPattern,
    int limit,
    long version,
    String reason,
    Optional<Rate> rate,
    boolean isRateOnly,
    boolean isPool,
    Optional<PoolUse> use,
    Optional<QueueRules> queueRules) {
  static LimitSetting of(rowlock.v1.LimitSetting setting) {
    return new LimitSetting(
        setting.hasPool()
            ? setting.getPool()
            : setting.hasPattern() ? setting.getPattern() : setting.getName(),
        setting.hasPattern(),
        setting.getLimit(),
        setting.getVersion(),
        setting.getReason(),
        setting.hasRate() ? Optional.of(Rate.of(setting.getRate())) : Optional.empty(),
        setting.getRateOnly(),
        setting.hasPool(),
        setting.hasUse() ? Optional.of(PoolUse.of(setting.getUse())) : Optional.empty(),
        setting.hasQueueRules()
            ? Optional.of(QueueRules.of(setting.getQueueRules()))
            : Optional.empty());
  }
}
