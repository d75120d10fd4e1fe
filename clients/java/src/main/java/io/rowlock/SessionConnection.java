// One session with one server. It gathers commands into requests, records when each request was sent, sends heartbeats,
// and notices a server that falls silent. It knows nothing of what the commands mean.

package io.rowlock;

import com.google.protobuf.CodedOutputStream;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionOpen;
import rowlock.v1.SessionOpened;
import rowlock.v1.SessionRequest;
import rowlock.v1.SessionResponse;

final class SessionConnection implements Connection {
  /** Bounds the size of a request without its commands. */
  private static final int FRAME_BYTES = 64;

  /** Silence is counted in ticks, because at most one tick passes while this process is frozen. */
  private static final int SILENT_TICKS_MAX = 4;

  /** The most leases of one command, and the most bytes of each. */
  private static final int RENEWALS_MAX = 500;

  private static final int RENEWAL_BYTES = 64;

  private final EventLoop loop;
  private final Clock clock;
  private final Address address;
  private final ManagedChannel channel;
  private final Listener listener;
  private final ClientCallStreamObserver<SessionRequest> requests;

  private Opened opened;
  private int bytesMax;
  private SessionOpen open;
  private final ArrayDeque<SessionCommand> commands = new ArrayDeque<>();

  /** The number of the last call in a request. Calls are numbered in the order of sending. */
  private long sentUpTo;

  /** Whether gRPC can send. Nothing is sent before that, so no server knows of it. */
  private boolean isReady;

  private boolean isScheduled;

  /** When each request was sent that the server has not reported as heard yet. The first has number heard + 1. */
  private final ArrayDeque<Long> sent = new ArrayDeque<>();

  private long heard;
  private long heardSent;
  private long received;
  private boolean sentSinceBeat;
  private boolean receivedSinceTick = true;
  private int silentTicks;
  private final List<EventLoop.Timer> timers = new ArrayList<>();
  private boolean isOver;
  private boolean isHalfClosed;
  private Runnable closed = () -> {};

  /** @param bytesMax the bound for a request until the server announces its own. */
  SessionConnection(
      EventLoop loop,
      Clock clock,
      Address address,
      ManagedChannel channel,
      String owner,
      Map<String, String> labels,
      int bytesMax,
      Listener listener) {
    this.loop = loop;
    this.clock = clock;
    this.address = address;
    this.channel = channel;
    this.bytesMax = bytesMax;
    this.listener = listener;
    open = SessionOpen.newBuilder().setOwner(owner).putAllLabels(labels).build();
    heardSent = clock.now();
    Responses responses = new Responses();
    LockServiceGrpc.newStub(channel).session(responses);
    requests = responses.requests;
    acknowledge();
  }

  @Override
  public Address address() {
    return address;
  }

  @Override
  public Opened opened() {
    return opened;
  }

  @Override
  public int commandBytesMax() {
    return bytesMax - FRAME_BYTES;
  }

  @Override
  public ConnectionEvent.Via via() {
    return ConnectionEvent.Via.SESSION;
  }

  /** Stays within the bytes of a command. */
  @Override
  public int renewalsMax() {
    return Math.max(1, Math.min(RENEWALS_MAX, commandBytesMax() / RENEWAL_BYTES));
  }

  @Override
  public void send(SessionCommand command) {
    commands.add(command);
    acknowledge();
  }

  @Override
  public boolean cancel(long call) {
    if (!hasSent(call)) {
      commands.removeIf(command -> command.getCall() == call);
      return false;
    }
    send(SessionCommand.newBuilder().setCancel(call).build());
    return true;
  }

  @Override
  public boolean hasSent(long call) {
    return call <= sentUpTo;
  }

  @Override
  public void acknowledge() {
    if (isScheduled || isOver || isHalfClosed) return;
    isScheduled = true;
    loop.run(
        () -> {
          isScheduled = false;
          flush();
        });
  }

  @Override
  public void close(long within, Runnable whenClosed) {
    if (isOver) {
      whenClosed.run();
      return;
    }
    flush();
    isHalfClosed = true;
    closed = whenClosed;
    requests.onCompleted();
    timers.add(loop.after(within, this::over));
  }

  @Override
  public void destroy() {
    over();
  }

  private void ready() {
    if (isReady) return;
    isReady = true;
    flush();
  }

  private void flush() {
    if (isOver || isHalfClosed || !isReady) return;
    do {
      SessionRequest.Builder request = SessionRequest.newBuilder();
      int bytes = FRAME_BYTES;
      if (open != null) {
        request.setOpen(open);
        bytes += open.getSerializedSize();
        open = null;
      }
      for (SessionCommand next; (next = commands.peek()) != null; commands.remove()) {
        bytes += CodedOutputStream.computeMessageSize(SessionRequest.COMMANDS_FIELD_NUMBER, next);
        if (bytes > bytesMax && request.getCommandsCount() > 0) break;
        request.addCommands(next);
        sentUpTo = Math.max(sentUpTo, next.getCall());
      }
      sent.add(clock.now());
      sentSinceBeat = true;
      requests.onNext(request.setReceived(received).build());
    } while (!commands.isEmpty());
  }

  private void take(SessionResponse response) {
    if (isOver) return;
    received++;
    receivedSinceTick = true;
    for (; heard < response.getHeard(); heard++) {
      Long at = sent.poll();
      if (at != null) heardSent = at;
    }
    if (response.hasOpened() && opened == null) begin(response.getOpened());
    listener.onResponded(this, response, heardSent);
  }

  private void begin(SessionOpened found) {
    bytesMax = found.getMessageBytesMax();
    opened = new Opened(found.getReplica(), found.getWaitsMax(), found.getCommandsMax(), bytesMax);
    if (found.hasHeartbeatInterval())
      timers.add(loop.every(Times.ofProto(found.getHeartbeatInterval()), this::beat));
    if (found.hasSilenceMax())
      timers.add(loop.every(Times.ofProto(found.getSilenceMax()) / SILENT_TICKS_MAX, this::listen));
  }

  private void beat() {
    if (!sentSinceBeat) acknowledge();
    sentSinceBeat = false;
  }

  /** The server answers every request, so one that is silent after a request is gone. */
  private void listen() {
    silentTicks = receivedSinceTick || sent.isEmpty() ? 0 : silentTicks + 1;
    receivedSinceTick = false;
    if (silentTicks >= SILENT_TICKS_MAX) end("The server has stopped answering.");
  }

  private void end(String message) {
    end(new RowlockException(Reason.UNKNOWN, Status.Code.UNAVAILABLE, message));
  }

  private void end(RowlockException error) {
    if (isOver) return;
    if (opened == null && error.refusesSession()) sentUpTo = 0;
    over();
    if (!isHalfClosed) listener.onEnded(this, error);
  }

  private void over() {
    if (isOver) return;
    isOver = true;
    timers.forEach(EventLoop.Timer::cancel);
    requests.cancel("The session is over.", null);
    channel.shutdownNow();
    closed.run();
  }

  /** Called on threads of gRPC. */
  private final class Responses
      implements ClientResponseObserver<SessionRequest, SessionResponse> {
    private ClientCallStreamObserver<SessionRequest> requests;

    @Override
    public void beforeStart(ClientCallStreamObserver<SessionRequest> stream) {
      requests = stream;
      stream.setOnReadyHandler(() -> loop.run(SessionConnection.this::ready));
    }

    @Override
    public void onNext(SessionResponse response) {
      loop.run(() -> take(response));
    }

    @Override
    public void onError(Throwable failure) {
      loop.run(() -> end(ErrorDetails.errorOf(failure)));
    }

    @Override
    public void onCompleted() {
      loop.run(() -> end("The session has ended."));
    }
  }
}
