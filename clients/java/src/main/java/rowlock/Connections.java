// Keeps one connection open while it is needed: through the first server that answers, and through another one when it is lost
// or its server stops. Where sessions are refused on the way there, calls of their own go the same way. Knows nothing of what is
// asked for. On the loop only.

package rowlock;

import io.grpc.Metadata;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import rowlock.v1.SessionResponse;

final class Connections implements Connection.Listener {
  interface Owner extends Connection.Listener {
    /** A connection begins; commands can be sent, but perhaps nothing was heard of the server yet. */
    void onBegun(Connection connection);

    /** The server stops: nothing is to be sent to it any more, but answers may still come. */
    void onLeaving(Connection connection);

    /** No server will have this client as it is. */
    void onHopeless(RowlockException error);
  }

  /** What any server takes, until one has said more: the least that can be configured. */
  private static final int BYTES_MAX_AT_FIRST = 1_024;

  /** A connection that does not last so long counts as a failure: its successor is not opened at once. */
  private static final long LASTED = Times.ofMillis(1_000);

  /** Another server would say the same. */
  private static final Set<Status.Code> HOPELESS =
      Set.of(
          Status.Code.INVALID_ARGUMENT,
          Status.Code.UNAUTHENTICATED,
          Status.Code.PERMISSION_DENIED);

  /** What becomes, in gRPC, of a proxy's refusal of a stream, or of an older server's. */
  private static final Set<Status.Code> REFUSES_STREAMS =
      Set.of(
          Status.Code.UNIMPLEMENTED,
          Status.Code.INTERNAL,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNKNOWN);

  private final Loop loop;
  private final Clock clock;
  private final Told told;
  private final Executor inTurn;
  private final ConnectOptions options;

  /** Whether anything is held or asked for. */
  private final BooleanSupplier isNeeded;

  private final Owner owner;

  /** All that have not ended: the current one, and those whose servers stop. */
  private final Set<Connection> all = new LinkedHashSet<>();

  private Connection current;
  private boolean isOpening;
  private Loop.Timer timer;
  private Loop.Timer openTimer;
  private int address;
  private int failures;
  private int bytesMax = BYTES_MAX_AT_FIRST;
  private long openedAt;
  private boolean isClosed;
  private RowlockException lastError;

  Connections(
      Loop loop,
      Clock clock,
      Told told,
      ConnectOptions options,
      BooleanSupplier isNeeded,
      Owner owner) {
    this.loop = loop;
    this.clock = clock;
    this.told = told;
    this.inTurn = told.inTurn();
    this.options = options;
    this.isNeeded = isNeeded;
    this.owner = owner;
  }

  /** Whether there is a connection whose server has answered. */
  boolean isOpen() {
    return current != null && current.bounds() != null;
  }

  /** Why the last connection has ended, or could not be had; null where all is well. */
  RowlockException lastError() {
    return lastError;
  }

  /** Opens a connection unless there is one. */
  void need() {
    if (current != null || timer != null || isOpening || isClosed) return;
    isOpening = true;
    // It may take its time: whoever makes tokens asks somebody.
    told.run(
        () -> {
          try {
            Metadata headers = Headers.metadataOf(options.headers.get());
            loop.run(() -> open(headers));
          } catch (RuntimeException | Error thrown) {
            loop.run(() -> headersFailed(thrown));
          }
        });
  }

  /** Tries another server, where there is one and this one had its time: it answers, but cannot do what is asked. */
  void leave(RowlockException error) {
    if (current == null || !hasLasted(current) || options.addresses.size() < 2) return;
    Connection left = current;
    left.destroy();
    onEnded(left, error);
  }

  /** Tries servers again at once, as there is little time left. */
  void hurry() {
    failures = 0;
    if (timer == null) return;
    timer.cancel();
    timer = null;
    if (isNeeded.getAsBoolean()) need();
  }

  /** Closes all in good order, within the time. */
  void close(long within, Runnable closed) {
    isClosed = true;
    Loop.cancel(timer);
    Loop.cancel(openTimer);
    List<Connection> closing = new ArrayList<>(all);
    all.clear();
    current = null;
    int[] left = {closing.size() + 1};
    Runnable one =
        () -> {
          if (--left[0] == 0) closed.run();
        };
    for (Connection connection : closing) {
      if (connection.bounds() != null) connection.close(within, one);
      else {
        connection.destroy();
        one.run();
      }
    }
    one.run();
  }

  private void headersFailed(Throwable thrown) {
    isOpening = false;
    if (isClosed) return;
    RowlockException error =
        new RowlockException(
            "The headers for a connection could not be had: " + thrown,
            ErrorDetails.of(Reason.UNKNOWN, Status.Code.UNAUTHENTICATED),
            thrown);
    next(error, false);
    owner.onHopeless(error);
  }

  private void open(Metadata headers) {
    isOpening = false;
    if (isClosed) return;
    Address at = options.addresses.get(address % options.addresses.size());
    Connection connection =
        new SessionConnection(
            loop,
            clock,
            at,
            Channels.open(at, options.tls, headers),
            options.owner,
            options.labels,
            bytesMax,
            new Listening(headers));
    all.add(connection);
    current = connection;
    openTimer = loop.after(options.connectTimeout, () -> tooLate(connection));
    owner.onBegun(connection);
  }

  private void tooLate(Connection connection) {
    connection.destroy();
    String message =
        connection.address() + " has not answered within " + options.connectTimeout / 1_000_000 + " ms.";
    onEnded(connection, new RowlockException(Reason.UNKNOWN, Status.Code.UNAVAILABLE, message));
  }

  @Override
  public void onResponse(Connection connection, SessionResponse response, long basis) {
    if (response.hasOpened() && connection == current) {
      Loop.cancel(openTimer);
      bytesMax = connection.bounds().bytesMax();
      openedAt = clock.now();
      tell(
          new ConnectionEvent.Connected(
              connection.address().toString(), connection.bounds().replica(), true));
    }
    if (response.getGoingAway() && connection == current) {
      current = null;
      Loop.cancel(openTimer);
      owner.onLeaving(connection);
      next(
          new RowlockException(
              Reason.SHUTTING_DOWN, Status.Code.UNAVAILABLE, connection.address() + " is stopping."),
          hasLasted(connection));
    }
    owner.onResponse(connection, response, basis);
  }

  @Override
  public void onEnded(Connection connection, RowlockException error) {
    if (!all.remove(connection)) return;
    boolean wasCurrent = connection == current;
    if (wasCurrent) {
      current = null;
      Loop.cancel(openTimer);
    }
    tell(new ConnectionEvent.Disconnected(connection.address().toString(), error));
    boolean isHopeless =
        HOPELESS.contains(error.code()) || error.reason() == Reason.MESSAGE_TOO_LARGE;
    // First of all, as whoever is told asks for a connection at once.
    if (wasCurrent) next(error, hasLasted(connection));
    owner.onEnded(connection, error);
    if (wasCurrent && isHopeless && connection.bounds() == null) owner.onHopeless(error);
  }

  /** At once, unless all servers have failed in turn. */
  private void next(RowlockException error, boolean hasLasted) {
    lastError = error;
    failures = hasLasted ? 0 : failures + 1;
    int count = options.addresses.size();
    address = (address + 1) % count;
    boolean isRound = failures > 0 && failures % count == 0;
    if (isClosed) return;
    timer =
        loop.after(
            isRound ? Backoff.nanos(failures / count, 0) : 0,
            () -> {
              timer = null;
              if (isNeeded.getAsBoolean()) need();
            });
  }

  private boolean hasLasted(Connection connection) {
    return connection.bounds() != null && clock.now() - openedAt >= LASTED;
  }

  private void tell(ConnectionEvent event) {
    inTurn.execute(() -> options.onConnection.accept(event));
  }

  /** Of a session. Where it is refused, calls of their own are tried through the same address. */
  private final class Listening implements Connection.Listener {
    private final Metadata headers;

    Listening(Metadata headers) {
      this.headers = headers;
    }

    @Override
    public void onResponse(Connection connection, SessionResponse response, long basis) {
      Connections.this.onResponse(connection, response, basis);
    }

    @Override
    public void onEnded(Connection connection, RowlockException error) {
      boolean isRefused =
          connection == current
              && connection.bounds() == null
              && !error.isOfServer()
              && REFUSES_STREAMS.contains(error.code());
      if (isRefused) goUnary(connection, error);
      else Connections.this.onEnded(connection, error);
    }

    private void goUnary(Connection refused, RowlockException error) {
      Loop.cancel(openTimer);
      all.remove(refused);
      lastError = error;
      Connection unary =
          new UnaryConnection(
              loop,
              clock,
              refused.address(),
              Channels.open(refused.address(), options.tls, headers),
              options.owner,
              options.labels,
              Connections.this);
      all.add(unary);
      current = unary;
      openedAt = clock.now();
      // What the session was asked for is asked for here.
      owner.onEnded(refused, error);
      tell(new ConnectionEvent.Connected(refused.address().toString(), "", false));
      owner.onBegun(unary);
    }
  }
}
