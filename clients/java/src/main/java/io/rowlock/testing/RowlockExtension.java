package io.rowlock.testing;

import io.rowlock.RowlockClient;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives the tests of a class a Rowlock server. Tests and their constructors may have parameters of the types {@link
 * RowlockServer} and {@link RowlockClient}.
 *
 * <pre>{@code
 * @ExtendWith(RowlockExtension.class)
 * class LoadTest {
 *   @Test
 *   void stopsWhenItsLockIsLost(RowlockServer server) throws Exception {
 *     Load load = Load.begin(server.client());
 *     server.lose("etl/load");
 *     assertTrue(load.isStopped());
 *   }
 * }
 * }</pre>
 *
 * <p>In a static field with {@code @RegisterExtension}, one server serves all tests of the class, as here; in a field of
 * the instance, each test has a server of its own.
 */
public final class RowlockExtension
    implements BeforeAllCallback,
        AfterAllCallback,
        BeforeEachCallback,
        AfterEachCallback,
        ParameterResolver {
  private final String[] command;
  private RowlockServer server;
  private boolean isForAll;

  /** Starts the server as {@link RowlockServer#start()} does. */
  public RowlockExtension() {
    command = new String[0];
  }

  /**
   * Starts the server with this command.
   *
   * @param command with its first arguments
   */
  public RowlockExtension(String... command) {
    this.command = command.clone();
  }

  /**
   * Returns the server of the test that runs.
   *
   * @return the server
   */
  public RowlockServer server() {
    if (server == null) throw new IllegalStateException("The server starts before the first test.");
    return server;
  }

  /**
   * Returns where the server listens.
   *
   * @return {@code host:port}
   */
  public String address() {
    return server().address();
  }

  /**
   * Returns a client of the server.
   *
   * @return the same client for each server
   */
  public RowlockClient client() {
    return server().client();
  }

  /**
   * Ends all holders of a lock: see {@link RowlockServer#lose}.
   *
   * @param name the lock
   * @return how many there were
   */
  public int lose(String name) {
    return server().lose(name);
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    isForAll = true;
    start();
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    if (server == null) start();
  }

  @Override
  public void afterEach(ExtensionContext context) {
    if (!isForAll) stop();
  }

  @Override
  public void afterAll(ExtensionContext context) {
    stop();
  }

  private void start() {
    server = command.length == 0 ? RowlockServer.start() : RowlockServer.start(command);
  }

  private void stop() {
    if (server != null) server.close();
    server = null;
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    Class<?> type = parameter.getParameter().getType();
    return type == RowlockServer.class || type == RowlockClient.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == RowlockServer.class ? server() : client();
  }
}
