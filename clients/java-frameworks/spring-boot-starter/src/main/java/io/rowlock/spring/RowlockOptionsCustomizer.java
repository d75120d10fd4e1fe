package io.rowlock.spring;

import io.rowlock.ConnectOptions;

/** A bean that changes the options of the client, for what has no property: a token from a function, headers, a listener. */
@FunctionalInterface
public interface RowlockOptionsCustomizer {
  /**
   * Changes options that have been set from the properties.
   *
   * @param options of the client
   */
  void customize(ConnectOptions.Builder options);
}
