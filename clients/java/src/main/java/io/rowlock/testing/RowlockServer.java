package io.rowlock.testing;

import io.rowlock.ConnectOptions;
import io.rowlock.RowlockClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A server of its own for tests: the real one, which keeps all in memory and listens on a free port of this machine. It
 * never outlives this JVM.
 */
public final class RowlockServer implements AutoCloseable {
  private static final String COMMAND_VARIABLE = "ROWLOCK_BIN";
  private static final int STARTS_WITHIN_S = 60;
  private static final int STOPS_WITHIN_S = 10;
  private static final Pattern ADDRESS = Pattern.compile("\"grpc\"\\s*:\\s*\"([^\"]+)\"");

  private final Process process;
  private final String address;
  private final RowlockClient client;

  private RowlockServer(Process process, String address) {
    this.process = process;
    this.address = address;
    client = RowlockClient.connect(ConnectOptions.to(address).owner("test").build());
  }

  /**
   * Starts a server with the command in the environment variable {@code ROWLOCK_BIN}, or else with {@code rowlock}.
   *
   * @return the server, to be closed
   * @throws IllegalStateException if it does not start
   */
  public static RowlockServer start() {
    String set = System.getenv(COMMAND_VARIABLE);
    return start(set == null || set.isEmpty() ? "rowlock" : set);
  }

  /**
   * Starts a server with this command.
   *
   * @param command with its first arguments, such as {@code "npx", "rowlock"}
   * @return the server, to be closed
   * @throws IllegalStateException if it does not start
   */
  public static RowlockServer start(String... command) {
    List<String> line = new ArrayList<>(List.of(command));
    line.addAll(List.of("serve", "--ephemeral"));
    Process process = begun(line);
    try {
      String said = firstLineOf(process);
      Matcher found = ADDRESS.matcher(said);
      if (found.find()) return new RowlockServer(process, found.group(1));
      throw new IllegalStateException(
          "\"" + String.join(" ", line) + "\" has not started a server; it said: " + said);
    } catch (RuntimeException failure) {
      process.destroyForcibly();
      throw failure;
    }
  }

  private static Process begun(List<String> line) {
    try {
      return new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    } catch (IOException missing) {
      throw new IllegalStateException(
          "There is no command \""
              + line.get(0)
              + "\": install it (npm install --global rowlock), or set "
              + COMMAND_VARIABLE
              + " to its path",
          missing);
    }
  }

  private static String firstLineOf(Process process) {
    BufferedReader out =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    CompletableFuture<String> line =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return String.valueOf(out.readLine());
              } catch (IOException failure) {
                throw new UncheckedIOException(failure);
              }
            });
    try {
      return line.get(STARTS_WITHIN_S, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("The thread was interrupted while a server started.", interrupted);
    } catch (ExecutionException | TimeoutException failure) {
      throw new IllegalStateException("The server has not started in time.", failure);
    }
  }

  /**
   * Returns where it listens.
   *
   * @return {@code host:port}
   */
  public String address() {
    return address;
  }

  /**
   * Returns a client of this server, which is closed with it.
   *
   * @return the same client each time
   */
  public RowlockClient client() {
    return client;
  }

  /**
   * Ends all holders of a lock, as an operator would: each finds its lock lost.
   *
   * @param name the lock
   * @return how many there were
   */
  public int lose(String name) {
    return client.forceRelease(name, "lost on purpose by a test").ended().size();
  }

  /** Closes the client and stops the server. It can be called twice. */
  @Override
  public void close() {
    client.close();
    try {
      // The server ends with its standard input.
      process.getOutputStream().close();
      if (!process.waitFor(STOPS_WITHIN_S, TimeUnit.SECONDS)) process.destroyForcibly().waitFor();
    } catch (InterruptedException interrupted) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    } catch (IOException failure) {
      process.destroyForcibly();
      throw new UncheckedIOException(failure);
    }
  }
}
