// Sends each command as a unary call, for a way to the server on which streams are refused. Such a server reports
// nothing by itself: a wait asks again every second (UnaryWait), and the loss of a lease shows at its next renewal.

package rowlock;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import rowlock.v1.AcquireRequest;
import rowlock.v1.CaptureRequest;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.RenewLeases;
import rowlock.v1.RenewedLease;
import rowlock.v1.RenewedLeases;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResponse;
import rowlock.v1.SessionResult;

final class UnaryConnection implements Connection {
  /** A call without an answer in this time means that the server is gone. */
  private static final long ANSWERED_WITHIN = Times.ofMillis(10_000);

  /** Without bounds: the server itself reports what is too much. */
  private static final Bounds BOUNDS =
      new Bounds("", Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE);

  final Loop loop;
  final Clock clock;
  private final Address address;
  private final ManagedChannel channel;
  private final String owner;
  private final Map<String, String> labels;
  private final Listener listener;
  private final Map<Long, UnaryWait> waits = new HashMap<>();

  /** Captures, which the server may take a long time to answer. */
  private final Map<Long, ClientCall<?, ?>> captures = new HashMap<>();

  /** Numbers of the calls whose results are still wanted. */
  private final Set<Long> open = new HashSet<>();

  private boolean isOver;

  UnaryConnection(
      Loop loop,
      Clock clock,
      Address address,
      ManagedChannel channel,
      String owner,
      Map<String, String> labels,
      Listener listener) {
    this.loop = loop;
    this.clock = clock;
    this.address = address;
    this.channel = channel;
    this.owner = owner;
    this.labels = labels;
    this.listener = listener;
  }

  @Override
  public Address address() {
    return address;
  }

  @Override
  public Bounds bounds() {
    return BOUNDS;
  }

  @Override
  public int commandBytesMax() {
    return BOUNDS.bytesMax();
  }

  @Override
  public boolean knowsTickets() {
    return false;
  }

  @Override
  public void send(SessionCommand command) {
    if (isOver) return;
    long number = command.getCall();
    open.add(number);
    switch (command.getCommandCase()) {
      case ACQUIRE ->
          ask(number, LockServiceGrpc.getAcquireMethod(), signed(command.getAcquire()), SessionResult.Builder::setAcquire);
      case WAIT_IN_QUEUE -> {
        UnaryWait wait = new UnaryWait(
                this,
                number,
                signed(command.getWaitInQueue().getAcquire()),
                Times.ofProto(command.getWaitInQueue().getMinUpdateInterval()));
        waits.put(number, wait);
        wait.ask();
      }
      case CAPTURE -> {
        CaptureRequest request = signed(command.getCapture());
        captures.put(
            number,
            ask(number, LockServiceGrpc.getCaptureMethod(), request, within(request), SessionResult.Builder::setCapture));
      }
      case RENEW ->
          ask(number, LockServiceGrpc.getRenewMethod(), command.getRenew(), SessionResult.Builder::setRenew);
      case RENEW_LEASES -> renewEach(number, command.getRenewLeases());
      case RELEASE ->
          ask(number, LockServiceGrpc.getReleaseMethod(), command.getRelease(), SessionResult.Builder::setRelease);
      case SET_LIMIT ->
          ask(number, LockServiceGrpc.getSetLimitMethod(), command.getSetLimit(), SessionResult.Builder::setSetLimit);
      case UPDATE_LOCK ->
          ask(number, LockServiceGrpc.getUpdateLockMethod(), command.getUpdateLock(), SessionResult.Builder::setUpdateLock);
      case DELETE_LOCK ->
          ask(number, LockServiceGrpc.getDeleteLockMethod(), command.getDeleteLock(), SessionResult.Builder::setDeleteLock);
      case GET_LOCK ->
          ask(number, LockServiceGrpc.getGetLockMethod(), command.getGetLock(), SessionResult.Builder::setGetLock);
      case LIST_LOCKS ->
          ask(number, LockServiceGrpc.getListLocksMethod(), command.getListLocks(), SessionResult.Builder::setListLocks);
      case LIST_LIMITS ->
          ask(number, LockServiceGrpc.getListLimitsMethod(), command.getListLimits(), SessionResult.Builder::setListLimits);
      case FORCE_RELEASE ->
          ask(number, LockServiceGrpc.getForceReleaseMethod(), command.getForceRelease(), SessionResult.Builder::setForceRelease);
      default -> throw new IllegalArgumentException("No command: " + command.getCommandCase());
    }
  }

  @Override
  public boolean cancel(long number) {
    UnaryWait wait = waits.remove(number);
    if (wait != null) wait.stop();
    ClientCall<?, ?> capture = captures.remove(number);
    if (capture != null) capture.cancel("Nobody waits for it any more.", null);
    return true;
  }

  @Override
  public boolean hasSent(long number) {
    return true;
  }

  @Override
  public void touch() {
    // Each call is a sign of life.
  }

  @Override
  public void close(long within, Runnable closed) {
    over();
    closed.run();
  }

  @Override
  public void destroy() {
    over();
  }

  /** Adds the owner and labels that a session sends once for all claims. */
  private AcquireRequest signed(AcquireRequest request) {
    AcquireRequest.Builder builder = request.toBuilder();
    if (request.getOwner().isEmpty()) builder.setOwner(owner);
    return builder.putAllLabels(labels).putAllLabels(request.getLabelsMap()).build();
  }

  private CaptureRequest signed(CaptureRequest request) {
    CaptureRequest.Builder builder = request.toBuilder();
    if (request.getOwner().isEmpty()) builder.setOwner(owner);
    return builder.putAllLabels(labels).putAllLabels(request.getLabelsMap()).build();
  }

  private static long within(CaptureRequest request) {
    return Times.ofProto(request.getMaxWait()) + ANSWERED_WITHIN;
  }

  private <Q, A> void ask(
      long number,
      MethodDescriptor<Q, A> method,
      Q request,
      BiFunction<SessionResult.Builder, A, SessionResult.Builder> into) {
    ask(number, method, request, ANSWERED_WITHIN, into);
  }

  private <Q, A> ClientCall<Q, A> ask(
      long number,
      MethodDescriptor<Q, A> method,
      Q request,
      long within,
      BiFunction<SessionResult.Builder, A, SessionResult.Builder> into) {
    long basis = clock.now();
    return call(
        method,
        request,
        within,
        answer -> tell(into.apply(SessionResult.newBuilder(), answer), number, basis),
        error -> tell(SessionResult.newBuilder().setError(error), number, basis));
  }

  private void renewEach(long number, RenewLeases asked) {
    long basis = clock.now();
    int count = asked.getLeasesCount();
    RenewedLease[] renewed = new RenewedLease[count];
    int[] answered = {0};
    BiConsumer<Integer, RenewedLease.Builder> done =
        (at, lease) -> {
          renewed[at] = lease.build();
          if (++answered[0] < count) return;
          RenewedLeases all = RenewedLeases.newBuilder().addAllLeases(List.of(renewed)).build();
          tell(SessionResult.newBuilder().setRenewLeases(all), number, basis);
        };
    for (int index = 0; index < count; index++) {
      int at = index;
      call(
          LockServiceGrpc.getRenewMethod(),
          asked.getLeases(index),
          answer -> done.accept(at, RenewedLease.newBuilder().setLease(answer.getLease())),
          error -> done.accept(at, RenewedLease.newBuilder().setError(error)));
    }
  }

  <Q, A> void call(
      MethodDescriptor<Q, A> method,
      Q request,
      Consumer<A> answered,
      Consumer<com.google.rpc.Status> failed) {
    if (!isOver) call(method, request, ANSWERED_WITHIN, answered, failed);
  }

  /** Makes one call. A failure that is not a Rowlock server's answer to this very call ends the connection. */
  private <Q, A> ClientCall<Q, A> call(
      MethodDescriptor<Q, A> method,
      Q request,
      long within,
      Consumer<A> answered,
      Consumer<com.google.rpc.Status> failed) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(within, TimeUnit.NANOSECONDS);
    ClientCall<Q, A> call = channel.newCall(method, options);
    ClientCalls.asyncUnaryCall(
        call,
        request,
        new StreamObserver<A>() {
          @Override
          public void onNext(A answer) {
            loop.run(
                () -> {
                  if (!isOver) answered.accept(answer);
                });
          }

          @Override
          public void onError(Throwable failure) {
            loop.run(() -> failed(failure, failed));
          }

          @Override
          public void onCompleted() {}
        });
    return call;
  }

  private void failed(
      Throwable failure, Consumer<com.google.rpc.Status> failed) {
    if (isOver) return;
    RowlockException error = ErrorDetails.errorOf(failure);
    boolean isGone =
        error.reason() == Reason.SHUTTING_DOWN
            || (!error.isOfServer()
                && (error.code() == Status.Code.UNAVAILABLE
                    || error.code() == Status.Code.DEADLINE_EXCEEDED));
    if (!isGone) {
      failed.accept(StatusProto.fromThrowable(failure));
      return;
    }
    over();
    listener.onEnded(this, unavailable(error));
  }

  /** The error as UNAVAILABLE, because another server may answer. */
  private static RowlockException unavailable(RowlockException error) {
    if (error.code() == Status.Code.UNAVAILABLE) return error;
    return new RowlockException(Reason.UNKNOWN, Status.Code.UNAVAILABLE, error.getMessage());
  }

  void tell(SessionResult.Builder result, long number, long basis) {
    if (isOver || !open.contains(number)) return;
    boolean isPosition = result.hasWaitInQueue() && result.getWaitInQueue().hasPosition();
    if (!isPosition) {
      open.remove(number);
      waits.remove(number);
      captures.remove(number);
    }
    SessionResponse response =
        SessionResponse.newBuilder().addResults(result.setCall(number)).build();
    listener.onResponse(this, response, basis);
  }

  private void over() {
    if (isOver) return;
    isOver = true;
    waits.values().forEach(UnaryWait::stop);
    waits.clear();
    captures.clear();
    open.clear();
    channel.shutdownNow();
  }
}
