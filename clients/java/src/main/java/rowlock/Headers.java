// The headers of each call of a connection.

package rowlock;

import io.grpc.Metadata;
import java.util.Map;

final class Headers {
  private Headers() {}

  /** Throws an IllegalArgumentException for a name that no header can have. */
  static Metadata metadataOf(Map<String, String> headers) {
    Metadata metadata = new Metadata();
    headers.forEach(
        (name, value) ->
            metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value));
    return metadata;
  }
}
