// A Java process that runs an example, as another machine would.

package io.rowlock.frameworks;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Close it, if it does not end by itself. */
public final class Machine implements AutoCloseable {
  private final Process process;
  private final BufferedReader out;

  private Machine(Process process) {
    this.process = process;
    out = process.inputReader();
  }

  /**
   * Starts a main class of the tests.
   *
   * @param main the class
   * @param arguments of the program
   * @return a process
   * @throws IOException if there is no Java
   */
  public static Machine start(Class<?> main, String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    // These options make it start fast, because it runs briefly.
    command.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path"),
            main.getName()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    return new Machine(builder.start());
  }

  /**
   * Reads the output until a line, or to its end.
   *
   * @param last the line
   * @return all lines before it
   * @throws IOException if it cannot be read
   */
  public List<String> readUntil(String last) throws IOException {
    List<String> lines = new ArrayList<>();
    for (String line; (line = out.readLine()) != null && !line.equals(last); ) lines.add(line);
    return lines;
  }

  /** Asks the process to end, by SIGTERM. The rest of its output can be read. */
  public void stop() {
    process.toHandle().destroy();
  }

  @Override
  public void close() throws InterruptedException {
    process.destroy();
    if (!process.waitFor(10, TimeUnit.SECONDS)) process.destroyForcibly().waitFor();
  }
}
