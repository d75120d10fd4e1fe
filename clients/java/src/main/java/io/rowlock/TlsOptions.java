package io.rowlock;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.TlsChannelCredentials;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.grpc.util.CertificateUtils;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.util.Optional;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/** Whom this client trusts, and its own certificate. All files are PEM. */
public final class TlsOptions {
  final ChannelCredentials credentials;
  final Optional<String> serverName;
  final boolean hasCertificate;
  private final Builder files;

  private TlsOptions(Builder builder) {
    files = new Builder(builder);
    TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
    try {
      builder.ca.ifPresent(file -> tls.trustManager(Trust.of(read(file))));
      if (builder.certificate.isPresent())
        tls.keyManager(
            new ByteArrayInputStream(read(builder.certificate.get())),
            new ByteArrayInputStream(read(builder.key.orElseThrow())));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    credentials = tls.build();
    // Reads the files, so that what cannot work fails here.
    Grpc.newChannelBuilder("localhost:1", credentials);
    serverName = builder.serverName;
    hasCertificate = builder.certificate.isPresent();
  }

  /** The same options with what the files hold now. Throws an exception if they are of no use. */
  TlsOptions renewed() {
    return files.build();
  }

  /** For a probe that only finds out whether a server speaks TLS. */
  static TlsOptions any() {
    return ofSystem();
  }

  /** Judges the certificates of servers. */
  X509ExtendedTrustManager trust() {
    try {
      return files.ca.isPresent() ? Trust.of(read(files.ca.get())) : Trust.ofSystem();
    } catch (GeneralSecurityException none) {
      throw new IllegalStateException(none);
    }
  }

  /** A context with the client's own certificate and these judges. */
  SSLContext context(TrustManager judge) throws GeneralSecurityException {
    KeyManager[] own = {};
    if (files.certificate.isPresent()) {
      AdvancedTlsX509KeyManager keys = new AdvancedTlsX509KeyManager();
      keys.updateIdentityCredentials(
          CertificateUtils.getX509Certificates(
              new ByteArrayInputStream(read(files.certificate.get()))),
          privateKey(files.key.orElseThrow()));
      own = new KeyManager[] {keys};
    }
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own, new TrustManager[] {judge}, null);
    return context;
  }

  private static PrivateKey privateKey(Path file) throws GeneralSecurityException {
    try {
      return CertificateUtils.getPrivateKey(new ByteArrayInputStream(read(file)));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private static byte[] read(Path file) {
    try {
      return PlainFile.read(file, Integer.MAX_VALUE);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
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
    private Optional<Path> ca = Optional.empty();
    private Optional<Path> certificate = Optional.empty();
    private Optional<Path> key = Optional.empty();
    private Optional<String> serverName = Optional.empty();

    private Builder() {}

    private Builder(Builder other) {
      ca = other.ca;
      certificate = other.certificate;
      key = other.key;
      serverName = other.serverName;
    }

    /**
     * Sets the certificates of the authorities to trust. Default: those that Java trusts.
     *
     * @param file read by {@link #build}, and again for each new connection
     * @return this builder
     */
    public Builder ca(Path file) {
      ca = Optional.of(file);
      return this;
    }

    /**
     * Sets the client's own certificate, for a server that asks for one.
     *
     * @param certificate with its chain; read by {@link #build}, and again for each new connection, so a renewed
     * certificate needs no restart
     * @param key in PKCS #8; read at the same times
     * @return this builder
     */
    public Builder certificate(Path certificate, Path key) {
      this.certificate = Optional.of(certificate);
      this.key = Optional.of(key);
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
     * @throws UncheckedIOException for files that cannot be read
     */
    public TlsOptions build() {
      return new TlsOptions(this);
    }
  }
}
