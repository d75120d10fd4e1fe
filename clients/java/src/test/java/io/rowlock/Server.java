// A Rowlock server of this repository, in a process of its own on an SQLite file.

package io.rowlock;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class Server implements AutoCloseable {
  private static final Path HOUSE = Path.of("../..").toAbsolutePath().normalize();
  private static final Pattern ADDRESS = Pattern.compile("gRPC +(\\S+)");

  private final Process process;
  final String address;

  private Server(Process process, String address) {
    this.process = process;
    this.address = address;
  }

  static Server start(Path folder, String... flags) throws IOException {
    List<String> command = new ArrayList<>();
    command.addAll(
        List.of(
            HOUSE.resolve("node_modules/.bin/node").toString(),
            "server/main.ts",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--metrics-listen",
            "127.0.0.1:0",
            "--database-url",
            "sqlite:" + folder.resolve("rowlock.db")));
    command.addAll(List.of(flags));
    ProcessBuilder builder = new ProcessBuilder(command).directory(HOUSE.toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("ROWLOCK_"));
    builder.redirectError(ProcessBuilder.Redirect.DISCARD);
    Process process = builder.start();
    BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    List<String> said = new ArrayList<>();
    String address = null;
    for (String line; (line = out.readLine()) != null; said.add(line)) {
      Matcher found = ADDRESS.matcher(line);
      if (found.find()) address = found.group(1);
      // This is the last line of the server's start message.
      if (line.contains("LockService/Acquire")) return new Server(process, address);
    }
    throw new IOException("The server has not begun:\n" + String.join("\n", said));
  }

  @Override
  public void close() throws InterruptedException {
    process.destroy();
    if (!process.waitFor(10, TimeUnit.SECONDS)) process.destroyForcibly().waitFor();
  }
}
