package io.rowlock.spring;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The options of the client. A property that does not exist ends the start.
 *
 * @param addresses Servers, as host:port, in the order in which they are tried.
 * @param owner Who asks, for people who look at a lock. By default, host name and process id.
 * @param labels What else they should see. At most 16 labels.
 * @param token Token by which the servers know who calls.
 * @param tokenFile File with the token, which is read again for each connection.
 * @param allowTokenInPlaintext Whether to send the token to other machines without TLS.
 * @param connectTimeout How long a server may take to answer before the next one is tried. By default 3 s.
 * @param giveUpAfter How long a call is tried before it fails, if no server answers. By default 30 s.
 * @param explainAfter How long a request for a lock waits before the log says why. By default 10 s.
 * @param closeWithin How long the client may take to close while no server answers. By default 3 s.
 * @param tls Encryption of the connection.
 */
@ConfigurationProperties(prefix = "rowlock", ignoreUnknownFields = false)
public record RowlockProperties(
    @DefaultValue("127.0.0.1:50051") List<String> addresses,
    String owner,
    @DefaultValue Map<String, String> labels,
    String token,
    String tokenFile,
    @DefaultValue("false") boolean allowTokenInPlaintext,
    Duration connectTimeout,
    Duration giveUpAfter,
    Duration explainAfter,
    Duration closeWithin,
    @DefaultValue Tls tls) {
  /**
   * Encryption of the connection. All files are PEM.
   *
   * @param enabled Whether to use TLS. By default, if another property of TLS is set.
   * @param ca Certificates of the authorities to trust. By default, those that Java trusts.
   * @param certificate The client's own certificate, for a server that asks for one.
   * @param key Its key, in PKCS #8.
   * @param serverName The name in the server's certificate, if it differs from the address.
   */
  public record Tls(Boolean enabled, String ca, String certificate, String key, String serverName) {
    boolean isAnySet() {
      return ca != null || certificate != null || key != null || serverName != null;
    }

    boolean isOn() {
      return enabled == null ? isAnySet() : enabled;
    }
  }

  /** {@return the properties without the token} */
  @Override
  public String toString() {
    return "RowlockProperties[addresses=" + addresses + ", owner=" + owner + ", tls=" + tls + "]";
  }
}
