// Keeps one connection open while it is needed. It tries servers until one answers, and replaces the connection when it
// is lost or its server stops. If a session is refused on the way to a server, it uses unary calls at the same address.
// It knows nothing of the commands. Runs on the loop only.

package io.rowlock;

import io.grpc.Status;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import rowlock.v1.SessionResponse;

final class Connections implements Connection.Listener {
  interface Listener extends Connection.Listener {
    /** Commands can be sent on this connection, whose server may not have answered yet. */
    void onBegun(Connection connection);

    /** The server stops: send nothing more to it; answers may still come. */
    void onLeaving(Connection connection);

    /** No server will accept this client as it is configured. */
    void onHopeless(RowlockException error);
  }

  /** What any server accepts before it has announced its bound: the least that can be configured. */
  private static final int BYTES_MAX_AT_FIRST = 1_024;

  /** A connection that ends sooner counts as a failure, which may delay the next one. */
  private static final long LASTED = Times.ofMillis(1_000);

  /** Each function of the user that hangs holds a thread. While so many preparations run, no other is begun. */
  static final int PREPARATIONS_MAX = 3;

  /** Another server would answer the same. */
  private static final Set<Status.Code> HOPELESS_CODES =
      Set.of(
          Status.Code.INVALID_ARGUMENT,
          Status.Code.UNAUTHENTICATED,
          Status.Code.PERMISSION_DENIED);

  /** The codes that gRPC reports when a proxy or an older server refuses a stream. */
  private static final Set<Status.Code> SESSION_REFUSED_CODES =
      Set.of(
          Status.Code.UNIMPLEMENTED,
          Status.Code.INTERNAL,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNKNOWN);

  private final EventLoop loop;
  private final Clock clock;
  private final Callbacks callbacks;
  private final Executor inTurn;
  private final ConnectOptions options;
  private final Preparation preparation;

  /** Whether anything is held or asked for. */
  private final BooleanSupplier isNeeded;

  private final Listener listener;
  private final Telemetry telemetry;

  /** All connections that have not ended: the current one, and those whose servers stop. */
  private final Set<Connection> all = new LinkedHashSet<>();

  private Connection current;

  /** The number of the current try to open a connection; 0: none. */
  private long opening;

  private long tries;

  /** How many preparations run, also those of tries that are over. */
  private int preparing;

  /** Takes up a preparation that has ended between two tries, for the next one; null: there is none. */
  private Runnable late;

  private EventLoop.Timer timer;
  private EventLoop.Timer openTimer;
  private int address;
  private int failures;
  private int bytesMax = BYTES_MAX_AT_FIRST;
  private long openedAt;
  private boolean isClosed;

  /**
   * Since a server has last answered, a connection was opened at once because the credentials of the one before were
   * refused.
   */
  private boolean isAskedAgain;

  private RowlockException lastError;
  private final Diagnosing diagnosing;

  Connections(
      EventLoop loop,
      Clock clock,
      Callbacks callbacks,
      ConnectOptions options,
      Preparation preparation,
      BooleanSupplier isNeeded,
      Listener listener,
      Telemetry telemetry) {
    this.loop = loop;
    this.clock = clock;
    this.callbacks = callbacks;
    this.inTurn = callbacks.inTurn();
    this.options = options;
    this.preparation = preparation;
    this.isNeeded = isNeeded;
    this.listener = listener;
    this.telemetry = telemetry;
    diagnosing = new Diagnosing(loop, clock, callbacks, options, telemetry, listener::onHopeless);
  }

  /** The current connection, if its server has answered. */
  Optional<Connection> open() {
    return Optional.ofNullable(current).filter(connection -> connection.opened() != null);
  }

  /** Why the last connection ended or could not be opened, with what was found out about it; null if none has. */
  RowlockException lastError() {
    return lastError == null ? null : lastError.diagnosed(diagnosing.latest());
  }

  /** Opens a connection unless there is one. */
  void need() {
    if (current != null || timer != null || opening != 0 || isClosed) return;
    long attempt = opening = ++tries;
    openTimer = loop.after(options.connectTimeout, () -> tooLate(attempt));
    Runnable ready = late;
    late = null;
    if (ready != null) loop.run(() -> prepared(ready));
    else if (preparing < PREPARATIONS_MAX) prepare();
  }

  /** On another thread, because the user's functions may block, for example to fetch a token. */
  private void prepare() {
    preparing++;
    callbacks.run(
        () -> {
          try {
            Preparation.Prepared prepared = preparation.prepare();
            loop.run(() -> prepared(() -> open(prepared)));
          } catch (RowlockException failure) {
            loop.run(() -> prepared(() -> unprepared(failure)));
          } finally {
            loop.run(() -> preparing--);
          }
        });
  }

  /** A preparation that outlasts its try is for the next one, as otherwise a slow function would never be of use. */
  private void prepared(Runnable taken) {
    if (opening != 0 && current == null) taken.run();
    else if (timer != null) late = taken;
  }

  /**
   * Moves to another server, because this one answers but cannot do what is asked. Does nothing if there is only one
   * address or if the connection is new.
   */
  void leave(RowlockException error) {
    if (current == null || !hasLasted(current) || options.addresses.size() < 2) return;
    Connection left = current;
    left.destroy();
    onEnded(left, error);
  }

  /** Tries the servers again at once, because little time is left. */
  void hurry() {
    failures = 0;
    if (timer == null) return;
    timer.cancel();
    timer = null;
    if (isNeeded.getAsBoolean()) need();
  }

  /** Closes all connections in good order, within this time. */
  void close(long within, Runnable closed) {
    isClosed = true;
    diagnosing.stop();
    EventLoop.cancel(timer);
    stopOpening();
    List<Connection> closing = new ArrayList<>(all);
    all.clear();
    current = null;
    int[] left = {closing.size() + 1};
    Runnable one =
        () -> {
          if (--left[0] == 0) closed.run();
        };
    for (Connection connection : closing) {
      if (connection.opened() != null) connection.close(within, one);
      else {
        connection.destroy();
        one.run();
      }
    }
    one.run();
  }

  private void unprepared(RowlockException error) {
    stopOpening();
    tell(new ConnectionEvent.Disconnected(addressNow().toString(), error));
    boolean isAskingAgain = asksAgain(error);
    next(error, false, isAskingAgain);
    if (!isAskingAgain) listener.onHopeless(error);
  }

  /** Whether a connection was refused for credentials for the first time, and the next one may have others. */
  private boolean asksAgain(RowlockException error) {
    boolean isFirst = error.isOfCredentials() && !isAskedAgain && preparation.mayChange();
    isAskedAgain = isAskedAgain || isFirst;
    return isFirst;
  }

  private Address addressNow() {
    return options.addresses.get(address % options.addresses.size());
  }

  private void open(Preparation.Prepared prepared) {
    Address at = addressNow();
    Connection connection =
        new SessionConnection(
            loop,
            clock,
            at,
            prepared.open(at),
            options.owner,
            options.labels,
            bytesMax,
            new Listening(prepared));
    all.add(connection);
    current = connection;
    listener.onBegun(connection);
  }

  /** A function of the user, or the first answer of the server, did not come in time. */
  private void tooLate(long attempt) {
    if (attempt != opening) return;
    String message =
        addressNow() + " did not answer within " + options.connectTimeout / 1_000_000 + " ms.";
    RowlockException error =
        new RowlockException(Reason.UNKNOWN, Status.Code.UNAVAILABLE, message);
    if (current == null) {
      stopOpening();
      next(error, false, false);
      return;
    }
    Connection silent = current;
    silent.destroy();
    onEnded(silent, error);
  }

  private void stopOpening() {
    opening = 0;
    EventLoop.cancel(openTimer);
  }

  @Override
  public void onResponded(Connection connection, SessionResponse response, long basis) {
    if (response.hasOpened() && connection == current) {
      stopOpening();
      isAskedAgain = false;
      diagnosing.answered();
      // The bound of a session. A connection of unary calls has none.
      if (connection.via() == ConnectionEvent.Via.SESSION) bytesMax = connection.opened().bytesMax();
      openedAt = clock.now();
      tell(
          new ConnectionEvent.Connected(
              connection.address().toString(), connection.opened().replica(), connection.via()));
    }
    if (response.getGoingAway() && connection == current) {
      current = null;
      stopOpening();
      listener.onLeaving(connection);
      next(
          new RowlockException(
              Reason.SHUTTING_DOWN, Status.Code.UNAVAILABLE, connection.address() + " is stopping."),
          hasLasted(connection),
          false);
    }
    listener.onResponded(connection, response, basis);
  }

  @Override
  public void onEnded(Connection connection, RowlockException error) {
    if (!all.remove(connection)) return;
    boolean wasCurrent = connection == current;
    if (wasCurrent) {
      current = null;
      stopOpening();
    }
    tell(new ConnectionEvent.Disconnected(connection.address().toString(), error));
    boolean isHopeless =
        HOPELESS_CODES.contains(error.code()) || error.reason() == Reason.MESSAGE_TOO_LARGE;
    boolean isRefused = wasCurrent && connection.opened() == null;
    boolean isAskingAgain = isRefused && asksAgain(error);
    // Before the listener is notified, since it then asks for a connection at once.
    if (wasCurrent) next(error, hasLasted(connection), isAskingAgain);
    listener.onEnded(connection, error);
    if (isRefused && isHopeless && !isAskingAgain) listener.onHopeless(error);
    else if (isRefused && !error.isOfServer() && !isClosed) diagnosing.failed();
  }

  /** Opens the next connection: at once, or after a pause if all servers have failed in turn. */
  private void next(RowlockException error, boolean hasLasted, boolean isAtOnce) {
    lastError = error;
    failures = hasLasted ? 0 : failures + 1;
    int count = options.addresses.size();
    address = (address + 1) % count;
    boolean isRound = failures > 0 && failures % count == 0;
    if (isClosed) return;
    timer =
        loop.after(
            isRound && !isAtOnce ? Backoff.nanos(failures / count, 0) : 0,
            () -> {
              timer = null;
              if (isNeeded.getAsBoolean()) need();
              else late = null;
            });
  }

  private boolean hasLasted(Connection connection) {
    return connection.opened() != null && clock.now() - openedAt >= LASTED;
  }

  private void tell(ConnectionEvent event) {
    telemetry.connection(event);
    inTurn.execute(() -> options.onConnection.accept(event));
  }

  /** The listener of a session. If the session is refused, it switches to unary calls at the same address. */
  private final class Listening implements Connection.Listener {
    private final Preparation.Prepared prepared;

    Listening(Preparation.Prepared prepared) {
      this.prepared = prepared;
    }

    @Override
    public void onResponded(Connection connection, SessionResponse response, long basis) {
      Connections.this.onResponded(connection, response, basis);
    }

    @Override
    public void onEnded(Connection connection, RowlockException error) {
      boolean isRefused =
          connection == current
              && connection.opened() == null
              && !error.isOfServer()
              && SESSION_REFUSED_CODES.contains(error.code());
      if (isRefused) goUnary(connection, error);
      else Connections.this.onEnded(connection, error);
    }

    private void goUnary(Connection refused, RowlockException error) {
      all.remove(refused);
      lastError = error;
      Connection unary =
          new UnaryConnection(
              loop,
              clock,
              refused.address(),
              prepared.open(refused.address()),
              options.owner,
              options.labels,
              Connections.this);
      all.add(unary);
      current = unary;
      // The listener then sends the calls of the session over the new connection.
      listener.onEnded(refused, error);
      listener.onBegun(unary);
    }
  }
}
