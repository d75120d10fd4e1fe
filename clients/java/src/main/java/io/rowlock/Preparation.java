// What a connection needs before it opens: headers, a token, and the files of TLS. All may be renewed while a client
// lives.

package io.rowlock;

import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

final class Preparation {
  private final ConnectOptions options;
  private final Callbacks callbacks;

  Preparation(ConnectOptions options, Callbacks callbacks) {
    this.options = options;
    this.callbacks = callbacks;
  }

  /** What one connection is opened with. */
  record Prepared(List<ClientInterceptor> interceptors, Optional<TlsOptions> tls) {
    ManagedChannel open(Address address) {
      return Channels.open(address, tls, interceptors);
    }
  }

  /** Whether the next connection may have other credentials than the last one. */
  boolean mayChange() {
    return !options.areHeadersFixed
        || options.token.filter(source -> !source.isFixed).isPresent()
        || options.tls.filter(tls -> tls.hasCertificate).isPresent();
  }

  /** Returns what the next connection needs. May block. Throws RowlockException if a part is not to be had. */
  Prepared prepare() {
    List<ClientInterceptor> interceptors = new ArrayList<>();
    // The last interceptor is the first to run, so the token replaces a header of the same name.
    options.token.ifPresent(source -> interceptors.add(new TokenInUse(source, callbacks)));
    interceptors.add(MetadataUtils.newAttachHeadersInterceptor(headers()));
    return new Prepared(interceptors, options.tls.map(Preparation::renewed));
  }

  private Metadata headers() {
    try {
      return Channels.metadataOf(options.headers.get());
    } catch (RuntimeException | Error thrown) {
      throw new RowlockException(
          "The headers function failed: " + thrown,
          ErrorDetails.of(Reason.UNKNOWN, Status.Code.UNAUTHENTICATED),
          thrown);
    }
  }

  private static TlsOptions renewed(TlsOptions tls) {
    try {
      return tls.renewed();
    } catch (RuntimeException unreadable) {
      throw new RowlockException(
          "A file of the TlsOptions is of no use: " + unreadable.getMessage() + ".",
          ErrorDetails.of(Reason.CREDENTIALS_MISSING, Status.Code.UNAUTHENTICATED),
          unreadable);
    }
  }
}
