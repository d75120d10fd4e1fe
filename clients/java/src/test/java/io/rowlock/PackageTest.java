// The version of the package is that of the server.

package io.rowlock;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class PackageTest {
  @Test
  void hasTheVersionOfTheServer() throws IOException {
    String manifest = Files.readString(Path.of("../../package.json"));
    String version = System.getProperty("rowlock.version");
    assertTrue(manifest.contains("\"version\": \"" + version + "\""), version);
  }
}
