package rowlock;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** What can be chosen when connecting, with what holds where nothing is said. */
public final class ConnectOptions {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(3);
  private static final Duration GIVE_UP_AFTER = Duration.ofSeconds(30);

  final List<Address> addresses;
  final String owner;
  final Map<String, String> labels;
  final Optional<TlsOptions> tls;
  final Supplier<Map<String, String>> headers;
  final long connectTimeout;
  final long giveUpAfter;
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
    headers = builder.headers;
    connectTimeout = positive("connectTimeout", builder.connectTimeout);
    giveUpAfter = positive("giveUpAfter", builder.giveUpAfter);
    onConnection = builder.onConnection;
  }

  /** The same, and nobody is told of connections. */
  ConnectOptions withoutListener() {
    Builder builder = new Builder(addresses.stream().map(Address::toString).toList());
    builder.owner(owner).headers(headers).connectTimeout(Duration.ofNanos(connectTimeout));
    builder.giveUpAfter(Duration.ofNanos(giveUpAfter)).tls = tls;
    builder.labels.putAll(labels);
    return builder.build();
  }

  private static void checkText(String name, String text) {
    if (!Text.isValid(text))
      throw new IllegalArgumentException(name + ": the text has half of a surrogate pair");
  }

  private static long positive(String name, Duration duration) {
    if (duration.isNegative() || duration.isZero())
      throw new IllegalArgumentException(name + ": " + duration + " must be above 0");
    return Times.ofDuration(duration);
  }

  /**
   * Begins to choose.
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
    private Supplier<Map<String, String>> headers = Map::of;
    private Duration connectTimeout = CONNECT_TIMEOUT;
    private Duration giveUpAfter = GIVE_UP_AFTER;
    private Consumer<ConnectionEvent> onConnection = event -> {};

    private Builder(List<String> addresses) {
      this.addresses = addresses;
    }

    /**
     * Who asks, for people who look at a lock; unset: this machine and process.
     *
     * @param owner a name
     * @return this builder
     */
    public Builder owner(String owner) {
      this.owner = Optional.of(owner);
      return this;
    }

    /**
     * What else they should see.
     *
     * @param key which
     * @param value what
     * @return this builder
     */
    public Builder label(String key, String value) {
      labels.put(key, value);
      return this;
    }

    /**
     * Encrypts; unset: plain text.
     *
     * @param tls whom to trust
     * @return this builder
     */
    public Builder tls(TlsOptions tls) {
      this.tls = Optional.of(tls);
      return this;
    }

    /**
     * Sent along, for a proxy or an authority between.
     *
     * @param headers by their names
     * @return this builder
     */
    public Builder headers(Map<String, String> headers) {
      Map<String, String> copy = Map.copyOf(headers);
      Headers.metadataOf(copy);
      return headers(() -> copy);
    }

    /**
     * The same, made for each connection.
     *
     * @param headers is asked on a thread of the client's, and may take its time; if it fails, so does what is asked for
     * @return this builder
     */
    public Builder headers(Supplier<Map<String, String>> headers) {
      this.headers = headers;
      return this;
    }

    /**
     * How long a server may take to answer a new session before the next one is tried; 3 s unless told otherwise.
     *
     * @param timeout above 0
     * @return this builder
     */
    public Builder connectTimeout(Duration timeout) {
      connectTimeout = timeout;
      return this;
    }

    /**
     * How long a call is tried before it fails, where no server answers it; 30 s unless told otherwise.
     *
     * @param timeout above 0
     * @return this builder
     */
    public Builder giveUpAfter(Duration timeout) {
      giveUpAfter = timeout;
      return this;
    }

    /**
     * Told each connection that comes and goes, on a thread of the client's.
     *
     * @param listener what to call
     * @return this builder
     */
    public Builder onConnection(Consumer<ConnectionEvent> listener) {
      onConnection = listener;
      return this;
    }

    /**
     * What was chosen.
     *
     * @return options
     * @throws IllegalArgumentException for what cannot work
     */
    public ConnectOptions build() {
      return new ConnectOptions(this);
    }
  }
}
