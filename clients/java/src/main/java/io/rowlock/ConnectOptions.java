package io.rowlock;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The options of a connection, with their defaults. */
public final class ConnectOptions {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(3);
  private static final Duration GIVE_UP_AFTER = Duration.ofSeconds(30);
  private static final Duration EXPLAIN_AFTER = Duration.ofSeconds(10);
  private static final Duration CLOSE_WITHIN = Duration.ofSeconds(3);

  final List<Address> addresses;
  final String owner;
  final Map<String, String> labels;
  final Optional<TlsOptions> tls;
  final Optional<TokenSource> token;
  private final boolean mayTokenBeInPlaintext;
  final Supplier<Map<String, String>> headers;
  final boolean areHeadersFixed;
  final long connectTimeout;
  final long giveUpAfter;
  final long explainAfter;
  final long closeWithin;
  final boolean isReleasedOnExit;
  final Consumer<ConnectionEvent> onConnection;

  private ConnectOptions(Builder builder) {
    if (builder.addresses.isEmpty())
      throw new IllegalArgumentException("addresses: name at least one server, as host:port");
    addresses = builder.addresses.stream().map(Address::of).toList();
    owner = builder.owner.orElseGet(Owner::ofThisProcess);
    labels = Map.copyOf(builder.labels);
    checkText("owner", owner);
    labels.forEach(
        (key, value) -> {
          checkText("labels", key);
          checkText("labels", value);
        });
    tls = builder.tls;
    token = builder.token;
    mayTokenBeInPlaintext = builder.mayTokenBeInPlaintext;
    if (token.isPresent() && tls.isEmpty() && !mayTokenBeInPlaintext) checkLoopback();
    headers = builder.headers;
    areHeadersFixed = builder.areHeadersFixed;
    connectTimeout = positive("connectTimeout", builder.connectTimeout);
    giveUpAfter = positive("giveUpAfter", builder.giveUpAfter);
    explainAfter = positive("explainAfter", builder.explainAfter);
    closeWithin = positive("closeWithin", builder.closeWithin);
    isReleasedOnExit = builder.isReleasedOnExit;
    onConnection = builder.onConnection;
  }

  /** The same options for a client that only gives back what another has left: without a listener for connections. */
  ConnectOptions ofHeir() {
    Builder builder = new Builder(addresses.stream().map(Address::toString).toList());
    builder.owner(owner).headers(headers).connectTimeout(Duration.ofNanos(connectTimeout));
    builder.giveUpAfter(Duration.ofNanos(giveUpAfter)).tls = tls;
    builder.areHeadersFixed = areHeadersFixed;
    builder.token = token;
    builder.mayTokenBeInPlaintext = mayTokenBeInPlaintext;
    builder.labels.putAll(labels);
    builder.isReleasedOnExit = false;
    return builder.build();
  }

  private void checkLoopback() {
    for (Address address : addresses)
      if (!address.isLoopback())
        throw new IllegalArgumentException(
            "token: the connection to "
                + address
                + " is not encrypted, so others could read the token; set tls, or allowTokenInPlaintext if nobody"
                + " listens on the way");
  }

  private static void checkText(String name, String text) {
    if (!Text.isValid(text))
      throw new IllegalArgumentException(name + ": " + Text.fault(text));
  }

  private static long positive(String name, Duration duration) {
    if (duration.isNegative() || duration.isZero())
      throw new IllegalArgumentException(name + ": " + duration + " must be above 0");
    return Times.ofDuration(duration);
  }

  /**
   * Begins to choose options.
   *
   * @param addresses {@code host:port} of each server, in the order in which they are tried
   * @return a builder
   */
  public static Builder to(String... addresses) {
    return new Builder(List.of(addresses));
  }

  /** Chooses options for a client. */
  public static final class Builder {
    private final List<String> addresses;
    private Optional<String> owner = Optional.empty();
    private final Map<String, String> labels = new LinkedHashMap<>();
    private Optional<TlsOptions> tls = Optional.empty();
    private Optional<TokenSource> token = Optional.empty();
    private boolean mayTokenBeInPlaintext;
    private Supplier<Map<String, String>> headers = Map::of;
    private boolean areHeadersFixed = true;
    private Duration connectTimeout = CONNECT_TIMEOUT;
    private Duration giveUpAfter = GIVE_UP_AFTER;
    private Duration explainAfter = EXPLAIN_AFTER;
    private Duration closeWithin = CLOSE_WITHIN;
    private boolean isReleasedOnExit = true;
    private Consumer<ConnectionEvent> onConnection = event -> {};

    private Builder(List<String> addresses) {
      this.addresses = addresses;
    }

    /**
     * Sets who asks, for people who look at a lock. Default: host name and process id.
     *
     * @param owner a name, at most 255 bytes
     * @return this builder
     */
    public Builder owner(String owner) {
      this.owner = Optional.of(owner);
      return this;
    }

    /**
     * Adds a label for people who look at a lock. At most 16 labels for each claim, including its own.
     *
     * @param key 1 to 63 bytes
     * @param value at most 255 bytes
     * @return this builder
     */
    public Builder label(String key, String value) {
      labels.put(key, value);
      return this;
    }

    /**
     * Turns on TLS. Default: plain text.
     *
     * @param tls whom to trust
     * @return this builder
     */
    public Builder tls(TlsOptions tls) {
      this.tls = Optional.of(tls);
      return this;
    }

    /**
     * Sets the token by which the servers know who calls. Without TLS it is only sent to this machine.
     *
     * @param token which stays the same: when it expires, calls fail with {@link Reason#CREDENTIALS_EXPIRED}
     * @return this builder
     */
    public Builder token(String token) {
      this.token = Optional.of(TokenSource.of(token));
      return this;
    }

    /**
     * Sets a function that gives the token, when the client opens a connection, and about once a second while it makes
     * unary calls. It should return the same token until a little before that expires.
     *
     * @param source called on a thread of the client, and may block; while three calls have not returned, there is no other
     * @return this builder
     */
    public Builder token(Supplier<String> source) {
      token = Optional.of(TokenSource.of(source));
      return this;
    }

    /**
     * Sets a file with the token. The client reads it when it opens a connection, and about once a second while it makes
     * unary calls, so a renewed token needs no restart. Space around the token does not count.
     *
     * @param file which is replaced when the token is renewed
     * @return this builder
     */
    public Builder tokenFile(Path file) {
      token = Optional.of(TokenSource.ofFile(file));
      return this;
    }

    /**
     * Sends the token without TLS to other machines, too, where everybody on the way can read it.
     *
     * @param isAllowed false by default
     * @return this builder
     */
    public Builder allowTokenInPlaintext(boolean isAllowed) {
      mayTokenBeInPlaintext = isAllowed;
      return this;
    }

    /**
     * Sets headers that are sent to each server, for example for a proxy that checks them.
     *
     * @param headers by name
     * @return this builder
     */
    public Builder headers(Map<String, String> headers) {
      Map<String, String> copy = Map.copyOf(headers);
      Channels.metadataOf(copy);
      headers(() -> copy);
      areHeadersFixed = true;
      return this;
    }

    /**
     * Sets a function that makes the headers for each connection.
     *
     * @param headers called on a thread of the client, and may block; while three calls have not returned, there is no
     * other; if it fails, the calls that wait at that moment fail
     * @return this builder
     */
    public Builder headers(Supplier<Map<String, String>> headers) {
      this.headers = headers;
      areHeadersFixed = false;
      return this;
    }

    /**
     * Sets how long a server may take to answer a new session before the next one is tried. Default: 3 s.
     *
     * @param timeout above 0
     * @return this builder
     */
    public Builder connectTimeout(Duration timeout) {
      connectTimeout = timeout;
      return this;
    }

    /**
     * Sets how long a call is tried before it fails, if no server answers it. Default: 30 s.
     *
     * @param timeout above 0
     * @return this builder
     */
    public Builder giveUpAfter(Duration timeout) {
      giveUpAfter = timeout;
      return this;
    }

    /**
     * Sets how long a request for a lock waits before the log and {@link LockOptions.Builder#onWaiting} say why.
     * Default: 10 s.
     *
     * @param after above 0
     * @return this builder
     */
    public Builder explainAfter(Duration after) {
      explainAfter = after;
      return this;
    }

    /**
     * Sets how long {@link RowlockClient#close} may take, while no server answers. Default: 3 s.
     *
     * @param within above 0
     * @return this builder
     */
    public Builder closeWithin(Duration within) {
      closeWithin = within;
      return this;
    }

    /**
     * Sets whether a shutdown hook gives back what the client holds when the JVM exits: see {@link RowlockClient}.
     * Default: true.
     *
     * @param isReleased false if the program closes the client itself after its work has ended
     * @return this builder
     */
    public Builder releaseOnExit(boolean isReleased) {
      isReleasedOnExit = isReleased;
      return this;
    }

    /**
     * Sets a listener for each connection that opens or ends, called on a thread of the client.
     *
     * @param listener what to call
     * @return this builder
     */
    public Builder onConnection(Consumer<ConnectionEvent> listener) {
      onConnection = listener;
      return this;
    }

    /**
     * Builds the options.
     *
     * @return options
     * @throws IllegalArgumentException for options that cannot work
     */
    public ConnectOptions build() {
      return new ConnectOptions(this);
    }
  }
}
