// Reads files of plain text that people write, such as tokens and PEM. A byte order mark, which some editors write, is no
// part of the text.

package io.rowlock;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

final class PlainFile {
  private static final byte[] UTF_8 = {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF};
  private static final byte[][] UTF_16 = {{(byte) 0xFF, (byte) 0xFE}, {(byte) 0xFE, (byte) 0xFF}};

  private PlainFile() {}

  /** Returns at most so many bytes, without a mark. Throws an IllegalArgumentException for a file in UTF-16. */
  static byte[] read(Path file, int bytesMax) throws IOException {
    byte[] bytes;
    try (InputStream stream = Files.newInputStream(file)) {
      bytes = stream.readNBytes(bytesMax);
    }
    for (byte[] mark : UTF_16)
      if (begins(bytes, mark))
        throw new IllegalArgumentException(file + " begins with the byte order mark of UTF-16: save it as UTF-8");
    return begins(bytes, UTF_8) ? Arrays.copyOfRange(bytes, UTF_8.length, bytes.length) : bytes;
  }

  private static boolean begins(byte[] bytes, byte[] mark) {
    return bytes.length >= mark.length && Arrays.equals(bytes, 0, mark.length, mark, 0, mark.length);
  }
}
