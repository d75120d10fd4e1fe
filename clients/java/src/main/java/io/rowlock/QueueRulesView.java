package io.rowlock;

import java.util.Optional;

/**
 * The queue rules of a lock, and where they come from.
 *
 * @param rules who may wait
 * @param source where they come from: a name or a pattern
 * @param pattern the pattern, if that is the source; empty text if the caller may not see it
 * @param version for the {@link LimitChange#ifVersion(long)} of the next change; a limit, a rate and queue rules share it
 * @param reason the reason that came with the change
 */
public record QueueRulesView(
    QueueRules rules,
    LimitView.Source source,
    Optional<String> pattern,
    long version,
    String reason) {
  static QueueRulesView of(rowlock.v1.QueueRulesInForce inForce) {
    LimitView.Source source = LimitView.Source.of(inForce.getSource());
    return new QueueRulesView(
        QueueRules.of(inForce.getRules()),
        source,
        source.hasPattern() ? Optional.of(inForce.getPattern()) : Optional.empty(),
        inForce.getVersion(),
        inForce.getReason());
  }
}
