package rowlock;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.TlsChannelCredentials;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Whom this client trusts, and its own certificate. All files are PEM. */
public final class TlsOptions {
  final ChannelCredentials credentials;
  final Optional<String> serverName;

  private TlsOptions(Builder builder) {
    TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
    try {
      builder.ca.ifPresent(pem -> tls.trustManager(Trust.of(pem)));
      if (builder.certificate.isPresent())
        tls.keyManager(
            new ByteArrayInputStream(builder.certificate.get()),
            new ByteArrayInputStream(builder.key.orElseThrow()));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    credentials = tls.build();
    // Reads the files, so that what cannot work fails here.
    Grpc.newChannelBuilder("localhost:1", credentials);
    serverName = builder.serverName;
  }

  /**
   * Trusts the authorities that Java trusts.
   *
   * @return options
   */
  public static TlsOptions ofSystem() {
    return builder().build();
  }

  /**
   * Begins to choose options.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Chooses options for TLS. */
  public static final class Builder {
    private Optional<byte[]> ca = Optional.empty();
    private Optional<byte[]> certificate = Optional.empty();
    private Optional<byte[]> key = Optional.empty();
    private Optional<String> serverName = Optional.empty();

    private Builder() {}

    /**
     * Sets the certificates of the authorities to trust. Default: those that Java trusts.
     *
     * @param file read at once
     * @return this builder
     */
    public Builder ca(Path file) {
      ca = Optional.of(read(file));
      return this;
    }

    /**
     * Sets the client's own certificate, for a server that asks for one.
     *
     * @param certificate with its chain; read at once
     * @param key in PKCS #8; read at once
     * @return this builder
     */
    public Builder certificate(Path certificate, Path key) {
      this.certificate = Optional.of(read(certificate));
      this.key = Optional.of(read(key));
      return this;
    }

    /**
     * Sets the name in the server's certificate, if it differs from the address.
     *
     * @param name of the server
     * @return this builder
     */
    public Builder serverName(String name) {
      serverName = Optional.of(name);
      return this;
    }

    /**
     * Builds the options.
     *
     * @return options
     * @throws IllegalArgumentException for files that hold something else
     */
    public TlsOptions build() {
      return new TlsOptions(this);
    }

    private static byte[] read(Path file) {
      try {
        return Files.readAllBytes(file);
      } catch (IOException unreadable) {
        throw new UncheckedIOException(unreadable);
      }
    }
  }
}
