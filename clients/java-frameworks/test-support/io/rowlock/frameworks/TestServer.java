// A server of this repository for the tests of a class, in a process of its own that keeps all in memory.

package io.rowlock.frameworks;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Start it with {@code @RegisterExtension static final TestServer server}. */
public final class TestServer implements BeforeAllCallback, AfterAllCallback {
  private static final Path HOUSE = Path.of("../../..").toAbsolutePath().normalize();
  private static final Pattern ADDRESS = Pattern.compile("\"grpc\":\"([^\"]+)\"");

  private Process process;

  /** Set before the first test. */
  public String address;

  @Override
  public void beforeAll(ExtensionContext context) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(
                HOUSE.resolve("node_modules/.bin/node").toString(),
                "server/main.ts",
                "serve",
                "--ephemeral")
            .directory(HOUSE.toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("ROWLOCK_"));
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    process = builder.start();
    BufferedReader out = process.inputReader();
    String line = out.readLine();
    Matcher found = ADDRESS.matcher(line == null ? "" : line);
    if (!found.find()) throw new IOException("The server has not begun: " + line);
    address = found.group(1);
  }

  /**
   * Ends the server without a farewell, as a crash does.
   *
   * @throws InterruptedException if the thread is interrupted
   */
  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void afterAll(ExtensionContext context) throws InterruptedException {
    if (process == null) return;
    process.destroy();
    if (!process.waitFor(10, TimeUnit.SECONDS)) kill();
  }
}
