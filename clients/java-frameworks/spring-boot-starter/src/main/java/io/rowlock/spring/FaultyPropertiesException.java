// All that is wrong with the properties.

package io.rowlock.spring;

import java.util.List;

final class FaultyPropertiesException extends RuntimeException {
  final transient List<String> faults;

  FaultyPropertiesException(List<String> faults) {
    super(String.join("; ", faults));
    this.faults = faults;
  }
}
