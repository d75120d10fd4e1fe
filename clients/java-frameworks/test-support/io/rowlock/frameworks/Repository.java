// Servers of this repository, for tests.

package io.rowlock.frameworks;

import io.rowlock.testing.RowlockExtension;
import io.rowlock.testing.RowlockServer;

/** The tests run in the folder of their module. */
public final class Repository {
  private static final String[] COMMAND = {
    "../../../node_modules/.bin/node", "../../../server/main.ts"
  };

  private Repository() {}

  /**
   * Returns a server for all tests of a class, or for each one.
   *
   * @return an extension, for a field with {@code @RegisterExtension}
   */
  public static RowlockExtension server() {
    return new RowlockExtension(COMMAND);
  }

  /**
   * Starts a server for a test that ends it itself.
   *
   * @return a server
   */
  public static RowlockServer start() {
    return RowlockServer.start(COMMAND);
  }
}
