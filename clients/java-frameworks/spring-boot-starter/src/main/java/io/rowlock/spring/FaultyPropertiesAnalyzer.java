// What Spring Boot prints in place of a stack trace when properties are wrong.

package io.rowlock.spring;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

final class FaultyPropertiesAnalyzer extends AbstractFailureAnalyzer<FaultyPropertiesException> {
  @Override
  protected FailureAnalysis analyze(Throwable root, FaultyPropertiesException cause) {
    return new FailureAnalysis(
        "The properties of Rowlock cannot work:\n\n    " + String.join("\n    ", cause.faults),
        "Correct these properties.",
        cause);
  }
}
