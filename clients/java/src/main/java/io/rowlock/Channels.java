// The gRPC channel to one server, and the headers of its calls.

package io.rowlock;

import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import java.util.List;
import java.util.Map;
import java.util.Optional;

final class Channels {
  /** Large, because one message may hold several listings. */
  private static final int RECEIVE_BYTES_MAX = 67_108_864;

  private Channels() {}

  /** Makes a channel that connects at first use. Errors come from the calls. */
  static ManagedChannel open(
      Address address, Optional<TlsOptions> tls, List<ClientInterceptor> interceptors) {
    ManagedChannelBuilder<?> builder =
        Grpc.newChannelBuilderForAddress(
            address.host(),
            address.port(),
            tls.map(options -> options.credentials).orElseGet(InsecureChannelCredentials::create));
    tls.flatMap(options -> options.serverName).ifPresent(builder::overrideAuthority);
    return builder
        .maxInboundMessageSize(RECEIVE_BYTES_MAX)
        .intercept(interceptors)
        // The owner of the connection decides whether and when to try again.
        .disableRetry()
        // Safe, because all callbacks only pass things on to the loop.
        .directExecutor()
        .proxyDetector(
            target -> {
              Optional<HttpProxy> proxy = HttpProxy.to(address, tls.isPresent(), System::getenv);
              return proxy.isPresent() ? proxy.get().between(address) : null;
            })
        .build();
  }

  /** The headers of each call of a connection. Throws an IllegalArgumentException for what no header can have or carry. */
  static Metadata metadataOf(Map<String, String> headers) {
    Metadata metadata = new Metadata();
    headers.forEach(
        (name, value) -> {
          // gRPC would send another character for it.
          if (value.chars().anyMatch(c -> c < ' ' || c > '~'))
            throw new IllegalArgumentException(
                "headers: the value of \"" + name + "\" is not visible ASCII, so it cannot be sent as it is: encode it, for"
                    + " example as base64");
          metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value);
        });
    return metadata;
  }
}
