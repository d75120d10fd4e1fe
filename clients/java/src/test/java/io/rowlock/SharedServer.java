package io.rowlock;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** One server for all tests of a class. The server and its database are removed after the tests. */
final class SharedServer implements BeforeAllCallback, AfterAllCallback {
  private final String[] flags;
  private Path folder;
  private Server server;

  /** Set before the first test. */
  String address;

  SharedServer(String... flags) {
    this.flags = flags;
  }

  @Override
  public void beforeAll(ExtensionContext context) throws IOException {
    folder = Files.createTempDirectory("rowlock-java-");
    server = Server.start(folder, flags);
    address = server.address;
  }

  @Override
  public void afterAll(ExtensionContext context) throws IOException, InterruptedException {
    if (server != null) server.close();
    List<Path> all;
    try (Stream<Path> found = Files.walk(folder)) {
      all = found.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path path : all) Files.delete(path);
  }
}
