// How long this machine has been up, including its sleep.

package io.rowlock;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

final class Uptime {
  private static final String FILE = "/proc/uptime";
  private static final boolean IS_LINUX = Files.isReadable(Path.of(FILE));

  private Uptime() {}

  /**
   * On Linux, the kernel's count. Elsewhere Java cannot ask for it, so this uses the time of day. If that is set ahead
   * by hand, locks seem lost that are not, which is the safe side.
   */
  static OptionalLong nanos() {
    if (!IS_LINUX) return OptionalLong.of(Times.ofMillis(System.currentTimeMillis()));
    // Not with a channel: an interrupt of the thread would close it.
    try (FileInputStream file = new FileInputStream(FILE)) {
      String text = new String(file.readNBytes(64), StandardCharsets.US_ASCII);
      return OptionalLong.of((long) (Double.parseDouble(text.substring(0, text.indexOf(' '))) * 1e9));
    } catch (IOException tooManyFiles) {
      return OptionalLong.empty();
    }
  }
}
