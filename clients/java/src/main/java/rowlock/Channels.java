// The connection to one server.

package rowlock;

import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.util.Optional;

final class Channels {
  /** Answers of several listings may come in one message. */
  private static final int RECEIVE_BYTES_MAX = 67_108_864;

  private Channels() {}

  /** Begins to connect when it is used; what goes wrong is told by the calls. */
  static ManagedChannel open(Address address, Optional<TlsOptions> tls, Metadata headers) {
    ManagedChannelBuilder<?> builder =
        Grpc.newChannelBuilderForAddress(
            address.host(),
            address.port(),
            tls.map(options -> options.credentials).orElseGet(InsecureChannelCredentials::create));
    tls.flatMap(options -> options.serverName).ifPresent(builder::overrideAuthority);
    return builder
        .maxInboundMessageSize(RECEIVE_BYTES_MAX)
        .intercept(MetadataUtils.newAttachHeadersInterceptor(headers))
        // Whether and when to try again is for the owner of the connection to say.
        .disableRetry()
        // All that is called does no more than to pass things on to the loop.
        .directExecutor()
        .build();
  }
}
