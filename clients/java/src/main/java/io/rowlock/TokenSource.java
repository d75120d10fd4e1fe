// Where a client's token comes from. It shows its token to nobody who prints it.

package io.rowlock;

import io.grpc.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.function.Supplier;

final class TokenSource {
  /** A file with more bytes is no token. Servers take headers of a few KiB. */
  private static final int TOKEN_BYTES_MAX = 65_536;

  private final Supplier<String> source;

  /** Whether the next answer will be the same. */
  final boolean isFixed;

  private TokenSource(Supplier<String> source, boolean isFixed) {
    this.source = source;
    this.isFixed = isFixed;
  }

  static TokenSource of(String token) {
    return new TokenSource(() -> token, true);
  }

  static TokenSource of(Supplier<String> source) {
    return new TokenSource(source, false);
  }

  static TokenSource ofFile(Path file) {
    return of(() -> read(file));
  }

  /** Returns a token that a header can carry. May block. Throws CREDENTIALS_MISSING if there is none. */
  String ask() {
    String token;
    try {
      token = source.get();
    } catch (RuntimeException | Error failure) {
      throw none(String.valueOf(failure), failure);
    }
    if (token == null) throw none("it is null", null);
    token = token.strip();
    if (token.isEmpty()) throw none("it is empty", null);
    // gRPC would replace or quote such a character.
    if (token.chars().anyMatch(c -> c <= ' ' || c > '~'))
      throw none("it has a character that is not visible ASCII", null);
    return token;
  }

  private static String read(Path file) {
    try {
      byte[] bytes = PlainFile.read(file, TOKEN_BYTES_MAX + 1);
      if (bytes.length > TOKEN_BYTES_MAX)
        throw new IllegalArgumentException(
            file + " has more than " + TOKEN_BYTES_MAX + " bytes, which is no token");
      return new String(bytes, StandardCharsets.UTF_8);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private static RowlockException none(String why, Throwable cause) {
    return new RowlockException(
        "The token of the ConnectOptions gives no token: " + why + ".",
        ErrorDetails.of(Reason.CREDENTIALS_MISSING, Status.Code.UNAUTHENTICATED),
        cause);
  }
}
