// How long this machine has been up, its sleep included.

package rowlock;

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
   * On Linux what the kernel counts. Elsewhere Java cannot ask, and the time of day stands for it: set ahead by hand, it makes
   * locks seem lost that are not, which is the safe side.
   */
  static OptionalLong nanos() {
    if (!IS_LINUX) return OptionalLong.of(Times.ofMillis(System.currentTimeMillis()));
    // Not by a channel: that would be closed under a thread that is interrupted.
    try (FileInputStream file = new FileInputStream(FILE)) {
      String text = new String(file.readNBytes(64), StandardCharsets.US_ASCII);
      return OptionalLong.of((long) (Double.parseDouble(text.substring(0, text.indexOf(' '))) * 1e9));
    } catch (IOException tooManyFiles) {
      return OptionalLong.empty();
    }
  }
}
