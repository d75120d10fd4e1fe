// All calls that are not answered yet. A call outlives its connection: if the connection ends before the answer, the
// call is sent again on the next one where that is safe. A call that fails for a transient reason is tried again, and a
// call without an answer in time fails. Runs on the loop only.

package io.rowlock;

import io.grpc.Status;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

final class Calls {
  private final EventLoop loop;
  private final Clock clock;
  private final List<Address> addresses;

  /** Opens a connection unless there is one. */
  private final Runnable need;

  /** Why the latest connection ended or could not be opened. */
  private final Supplier<RowlockException> lastError;

  private final Set<Call> open = new LinkedHashSet<>();
  private final Map<Long, Call> byNumber = new HashMap<>();
  private final Map<Ask.Kind, TreeMap<Long, Call>> queues = new EnumMap<>(Ask.Kind.class);
  private Call.Usage current;
  private long begun;
  private long numbers;
  private final List<Runnable> onIdle = new ArrayList<>();

  Calls(
      EventLoop loop,
      Clock clock,
      List<Address> addresses,
      Runnable need,
      Supplier<RowlockException> lastError) {
    this.loop = loop;
    this.clock = clock;
    this.addresses = addresses;
    this.need = need;
    this.lastError = lastError;
    for (Ask.Kind kind : Ask.Kind.values()) queues.put(kind, new TreeMap<>());
  }

  int size() {
    return open.size();
  }

  Call begin(Ask ask) {
    Call call = new Call(ask, ++begun);
    open.add(call);
    Optional<RowlockException> wrong = wrongText(ask);
    // In a later turn, because the callback may begin more calls.
    if (wrong.isPresent()) loop.run(() -> fail(call, wrong.get()));
    else queue(call);
    return call;
  }

  private static Optional<RowlockException> wrongText(Ask ask) {
    try {
      return ask.text().flatMap(Text::unsendableIn).map(Calls::unsendable);
    } catch (RuntimeException unmakeable) {
      // The same happens, and is reported, when the command is made to be sent.
      return Optional.empty();
    }
  }

  /**
   * Ends a call; its answers are ignored from now on. The server is notified, but what it has already done stays done.
   */
  void cancel(Call call) {
    if (call.isOver) return;
    forget(call);
    close(call);
  }

  private static void forget(Call call) {
    if (call.usage != null) call.usage.connection.cancel(call.number);
  }

  /**
   * Ends a call that nobody waits for any more, and notifies its server. An answer for what the server had done by then
   * is still taken; if no server can answer any more, the call fails.
   */
  void withdraw(Call call) {
    if (call.isOver) return;
    boolean isSent = call.usage != null && call.usage.connection.hasSent(call.number);
    if (isSent) call.usage.connection.cancel(call.number);
    // It was sent over a connection that is gone, so no server will answer.
    else if (call.wasSent) fail(call, lost());
    else cancel(call);
  }

  /** Runs something when no call is open any more that holds up closing. */
  void whenIdle(Runnable task) {
    if (isIdle()) task.run();
    else onIdle.add(task);
  }

  private boolean isIdle() {
    return open.stream().noneMatch(call -> call.ask.holdsUpClosing());
  }

  /** Fails the calls that no server can know of, except for those that renew and end leases. */
  void failUnsent(RowlockException error) {
    for (Call call : List.copyOf(open))
      if (call.ask.kind() != Ask.Kind.URGENT && !call.mayBeKnown()) fail(call, error);
  }

  /**
   * Fails all calls that somebody waits for.
   *
   * @param mayPass whether calls with a place stay, which the server keeps for a while
   */
  void failAsked(RowlockException error, boolean mayPass) {
    for (Call call : List.copyOf(open))
      if (!call.ask.givesBack() && !(mayPass && call.isPlaced)) fail(call, error);
  }

  void failAll(RowlockException error) {
    for (Call call : List.copyOf(open)) fail(call, error);
  }

  /** Sends calls over this connection from now on. */
  void begun(Connection connection) {
    current = new Call.Usage(connection);
    pump();
  }

  /** Sends no more calls over this connection. */
  void leaving(Connection connection) {
    if (current != null && current.connection == connection) current = null;
  }

  /** The server has answered, so more calls may be sent. */
  void opened() {
    pump();
  }

  void results(List<SessionResult> results, long basis) {
    for (SessionResult result : results) {
      Call call = byNumber.get(result.getCall());
      if (call == null) continue;
      switch (result.getResultCase()) {
        case ERROR -> failed(call, ErrorDetails.errorOf(result.getError()));
        case REJECTED -> failed(call, ErrorDetails.errorOf(result.getRejected()));
        case RESULT_NOT_SET -> {}
        default -> answered(call, result, basis);
      }
    }
    pump();
  }

  /**
   * The server may have heard later requests between its decision and this response. A decision about a call is
   * therefore dated back to the moment when the call was sent. A later result (a grant after a position) is dated by
   * its response alone.
   */
  private void answered(Call call, SessionResult result, long basis) {
    EventLoop.cancel(call.giveUpTimer);
    call.giveUpTimer = null;
    call.failures = 0;
    long at = Math.min(basis, call.asked);
    call.asked = Times.FOREVER;
    if (call.ask.answered(result, at)) close(call);
    else call.isPlaced = true;
  }

  /** Calls that were under way over this connection are sent again over another one, or fail. */
  void ended(Connection connection, RowlockException error) {
    leaving(connection);
    List<Call> lost =
        byNumber.values().stream().filter(call -> call.usage.connection == connection).toList();
    for (Call call : lost) {
      leave(call);
      switch (call.ask.repeat()) {
        case ALWAYS, ONCE_OPEN -> queue(call);
        case UNSENT -> {
          if (call.wasSent) fail(call, inDoubt(error));
          else queue(call);
        }
        case ON_THIS_CONNECTION -> fail(call, error);
      }
    }
  }

  private void failed(Call call, RowlockException error) {
    Ask.Repeat repeat = call.ask.repeat();
    boolean isSafe =
        repeat == Ask.Repeat.ALWAYS
            || repeat == Ask.Repeat.ONCE_OPEN
            || (repeat == Ask.Repeat.UNSENT && error.isUndone());
    if (!error.isTransient() || !isSafe) {
      fail(call, error);
      return;
    }
    boolean isMoving = call.usage != current;
    boolean wasSent = call.wasSent;
    leave(call);
    // The server has not looked at the call.
    if (error.isOfCredentials()) call.wasSent = wasSent;
    if (isMoving) {
      queue(call);
      return;
    }
    call.lastError = error;
    call.failures++;
    long atLeast = error.retryAfter().map(Times::ofDuration).orElse(0L);
    call.retryTimer =
        loop.after(
            Backoff.nanos(call.failures, atLeast),
            () -> {
              if (!call.isOver) queue(call);
            });
  }

  private void queue(Call call) {
    if (call.isOver) return;
    queues.get(call.ask.kind()).put(call.order, call);
    expectAnswer(call);
    need.run();
    pump();
  }

  /** Starts the timer of a call that awaits an answer. When it fires, the call fails. */
  private void expectAnswer(Call call) {
    long within = call.ask.giveUpAfter();
    if (call.giveUpTimer != null || within >= Times.FOREVER) return;
    call.giveUpTimer =
        loop.after(
            within,
            () -> {
              // The server may only be slow. Once the caller has the failure, it must not carry the command out.
              forget(call);
              fail(call, noAnswer(call, within));
            });
  }

  private void pump() {
    for (TreeMap<Long, Call> queue : queues.values())
      while (current != null && !queue.isEmpty()) {
        Call call = queue.firstEntry().getValue();
        if (!send(call, current)) break;
        queue.remove(call.order);
      }
  }

  /** Returns true if the call has left the queue: it was sent, or is about to fail. */
  private boolean send(Call call, Call.Usage usage) {
    Connection connection = usage.connection;
    boolean isOpen = connection.opened() != null;
    if (!usage.hasRoom(call.isWait())) return false;
    // A server that has not answered yet may not be there, and the call would end in doubt for nothing.
    Ask.Repeat repeat = call.ask.repeat();
    if (!isOpen && (repeat == Ask.Repeat.UNSENT || repeat == Ask.Repeat.ONCE_OPEN)) return false;
    SessionCommand command;
    try {
      command =
          call.ask
              .command(connection)
              .setCall(++numbers)
              .setTraceparent(call.ask.traceparent())
              .build();
    } catch (RuntimeException thrown) {
      // If it went up from here, the call would stay at the head of its queue, and nothing behind it would be sent.
      loop.run(() -> fail(call, unsendable(thrown.toString(), thrown)));
      return true;
    }
    Optional<Violation> unsendable = Text.unsendableIn(command);
    if (unsendable.isPresent()) {
      loop.run(() -> fail(call, unsendable(unsendable.get())));
      return true;
    }
    int bytes = command.getSerializedSize();
    int bytesMax = connection.commandBytesMax();
    if (bytes > bytesMax) {
      if (!isOpen) return false;
      // In a later turn, because the callback may begin more calls.
      loop.run(() -> fail(call, tooLarge(bytes, bytesMax)));
      return true;
    }
    call.number = numbers;
    call.usage = usage;
    call.timesSent++;
    call.asked = clock.now();
    byNumber.put(call.number, call);
    usage.count(call.isWait(), 1);
    connection.send(command);
    return true;
  }

  private void fail(Call call, RowlockException error) {
    if (call.isOver) return;
    end(call);
    call.ask.failed(error);
    lookIfIdle();
  }

  private void close(Call call) {
    if (call.isOver) return;
    end(call);
    lookIfIdle();
  }

  private void end(Call call) {
    call.isOver = true;
    EventLoop.cancel(call.retryTimer);
    EventLoop.cancel(call.giveUpTimer);
    leave(call);
    queues.get(call.ask.kind()).remove(call.order);
    open.remove(call);
  }

  /** In a later turn, because the callback may have begun another call, for example to give a late grant back. */
  private void lookIfIdle() {
    if (!onIdle.isEmpty() && isIdle()) loop.run(this::tellIdle);
  }

  private void tellIdle() {
    if (!isIdle()) return;
    List<Runnable> tasks = List.copyOf(onIdle);
    onIdle.clear();
    tasks.forEach(Runnable::run);
  }

  private void leave(Call call) {
    if (call.usage == null) return;
    call.wasSent = call.mayBeKnown();
    byNumber.remove(call.number);
    call.usage.count(call.isWait(), -1);
    call.usage = null;
  }

  private RowlockException noAnswer(Call call, long within) {
    if (call.lastError != null) return call.lastError;
    RowlockException why = lastError.get();
    if (why != null && why.isOfCredentials()) return why;
    String message = "No server has answered within " + Math.round(within / 1e6) + " ms";
    if (why != null && !why.diagnoses().isEmpty())
      return RowlockException.noServer(message, why.diagnoses());
    String servers = addresses.stream().map(Address::toString).collect(Collectors.joining(", "));
    return new RowlockException(
        message + " at " + servers + "." + (why == null ? "" : " Last error: " + why.getMessage()),
        ErrorDetails.of(Reason.NO_SERVER, Status.Code.UNAVAILABLE),
        why);
  }

  private static RowlockException lost() {
    return new RowlockException(
        Reason.CONNECTION_LOST,
        Status.Code.UNAVAILABLE,
        "The connection was lost before the answer came.");
  }

  private static RowlockException inDoubt(RowlockException error) {
    String message =
        "The connection was lost before the answer came, so the call may have taken effect or not. "
            + error.getMessage();
    return new RowlockException(
        message, ErrorDetails.of(Reason.CONNECTION_LOST, Status.Code.UNAVAILABLE), error);
  }

  private static RowlockException unsendable(String why, RuntimeException cause) {
    return new RowlockException(
        "The request cannot be encoded: " + why + ".",
        ErrorDetails.of(Reason.BAD_REQUEST, Status.Code.INVALID_ARGUMENT),
        cause);
  }

  private static RowlockException unsendable(Violation wrong) {
    String message = "The request cannot be sent: " + wrong.field() + ": " + wrong.description() + ".";
    return new RowlockException(message, ErrorDetails.badRequest(List.of(wrong)), null);
  }

  private static RowlockException tooLarge(int bytes, int bytesMax) {
    String message =
        "The command has " + bytes + " bytes, but the server accepts at most " + bytesMax + ".";
    return new RowlockException(
        message, ErrorDetails.tooLarge(bytesMax), null);
  }
}
