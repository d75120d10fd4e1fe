// Sends each command as a unary call, for a way to the server on which streams are refused. Such a server reports
// nothing by itself: a wait asks again, mostly every second (PolledWait), and the loss of a lease shows at its next renewal.

package io.rowlock;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import rowlock.v1.AcquireRequest;
import rowlock.v1.CaptureRequest;
import rowlock.v1.GetLockRequest;
import rowlock.v1.LeaseTerms;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.QueueRequest;
import rowlock.v1.RenewRequest;
import rowlock.v1.RenewedLease;
import rowlock.v1.RenewedLeases;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionOpened;
import rowlock.v1.SessionResponse;
import rowlock.v1.SessionResult;
import rowlock.v1.WatchLocksRequest;
import rowlock.v1.WatchLocksResponse;

final class UnaryConnection implements Connection {
  /** A call without an answer in this time means that the server is gone. */
  private static final long ANSWER_WITHIN = Times.ofMillis(10_000);

  /** A read of this lock finds out whether a server is there. It creates no lock. */
  private static final String PROBED_NAME = "rowlock/client";

  /** Proxies let through some hundred calls at a time. Polls must leave room for renewals. */
  static final int POLLS_AT_ONCE = 50;

  /** Of a call that no command asks for. */
  private static final long NO_NUMBER = 0;

  /** Without bounds: the server itself reports what is too much. */
  private static final Opened OPENED =
      new Opened("", Integer.MAX_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE);

  private static final Metadata.Key<String> TRACEPARENT =
      Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);

  final EventLoop loop;
  final Clock clock;
  private final Address address;
  private final ManagedChannel channel;
  private final String owner;
  private final Map<String, String> labels;
  private final Listener listener;
  private final Map<Long, PolledWait> waits = new HashMap<>();

  /** The waits that poll as soon as fewer others do, in order. */
  private final Queue<PolledWait> due = new ArrayDeque<>();

  /** How many polls have no answer yet. */
  private int polls;

  /** Captures and watches, which may last for a long time. */
  private final Map<Long, ClientCall<?, ?>> lasting = new HashMap<>();

  /** Numbers of the calls whose results are still wanted, each with the trace context of its caller. */
  private final Map<Long, String> open = new HashMap<>();

  /** Null until a server has answered without refusing the credentials. */
  private Opened opened;

  private boolean isRefused;
  private boolean isOver;

  UnaryConnection(
      EventLoop loop,
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
    long basis = clock.now();
    call(
        NO_NUMBER,
        LockServiceGrpc.getGetLockMethod(),
        GetLockRequest.newBuilder().setName(PROBED_NAME).build(),
        answer -> begin(basis),
        error -> {
          if (!ErrorDetails.errorOf(error).isOfCredentials()) begin(basis);
        });
  }

  private void begin(long basis) {
    opened = OPENED;
    SessionResponse response =
        SessionResponse.newBuilder().setOpened(SessionOpened.getDefaultInstance()).build();
    listener.onResponded(this, response, basis);
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
    return OPENED.bytesMax();
  }

  @Override
  public ConnectionEvent.Via via() {
    return ConnectionEvent.Via.UNARY;
  }

  /** One lease per call, so that no renewal delays another. */
  @Override
  public int renewalsMax() {
    return 1;
  }

  @Override
  public void send(SessionCommand command) {
    if (isOver) return;
    long number = command.getCall();
    open.put(number, command.getTraceparent());
    switch (command.getCommandCase()) {
      case ACQUIRE ->
          ask(number, LockServiceGrpc.getAcquireMethod(), signed(command.getAcquire()), SessionResult.Builder::setAcquire);
      case WAIT_IN_QUEUE -> {
        PolledWait wait = new PolledWait(
                this,
                number,
                signed(command.getWaitInQueue().getRequest()),
                Times.ofProto(command.getWaitInQueue().getMinUpdateInterval()));
        waits.put(number, wait);
        poll(wait);
      }
      case CAPTURE -> {
        CaptureRequest request = signed(command.getCapture());
        lasting.put(
            number,
            ask(number, LockServiceGrpc.getCaptureMethod(), request, within(request), SessionResult.Builder::setCapture));
      }
      case WATCH_LOCKS -> watch(number, command.getWatchLocks());
      case RENEW ->
          ask(number, LockServiceGrpc.getRenewMethod(), command.getRenew(), SessionResult.Builder::setRenew);
      // One lease: see renewalsMax.
      case RENEW_LEASES -> renew(number, command.getRenewLeases().getLeases(0));
      case RELEASE ->
          ask(number, LockServiceGrpc.getReleaseMethod(), command.getRelease(), SessionResult.Builder::setRelease);
      case SET_LIMIT ->
          ask(number, LockServiceGrpc.getSetLimitMethod(), command.getSetLimit(), SessionResult.Builder::setSetLimit);
      case UPDATE_RECORD ->
          ask(
              number,
              LockServiceGrpc.getUpdateRecordMethod(),
              command.getUpdateRecord(),
              SessionResult.Builder::setUpdateRecord);
      case DELETE_RECORD ->
          ask(
              number,
              LockServiceGrpc.getDeleteRecordMethod(),
              command.getDeleteRecord(),
              SessionResult.Builder::setDeleteRecord);
      case GET_LOCK ->
          ask(number, LockServiceGrpc.getGetLockMethod(), command.getGetLock(), SessionResult.Builder::setGetLock);
      case LIST_LOCKS ->
          ask(number, LockServiceGrpc.getListLocksMethod(), command.getListLocks(), SessionResult.Builder::setListLocks);
      case LIST_LIMITS ->
          ask(number, LockServiceGrpc.getListLimitsMethod(), command.getListLimits(), SessionResult.Builder::setListLimits);
      case LIST_CLAIMS ->
          ask(number, LockServiceGrpc.getListClaimsMethod(), command.getListClaims(), SessionResult.Builder::setListClaims);
      case LIST_CHANGES ->
          ask(number, LockServiceGrpc.getListChangesMethod(), command.getListChanges(), SessionResult.Builder::setListChanges);
      case EXPLAIN_WAIT ->
          ask(number, LockServiceGrpc.getExplainWaitMethod(), command.getExplainWait(), SessionResult.Builder::setExplainWait);
      case FORCE_RELEASE ->
          ask(number, LockServiceGrpc.getForceReleaseMethod(), command.getForceRelease(), SessionResult.Builder::setForceRelease);
      default -> throw new IllegalArgumentException("No command: " + command.getCommandCase());
    }
  }

  /** Lets a wait poll as soon as there is room. */
  void poll(PolledWait wait) {
    due.add(wait);
    pollDue();
  }

  /** A poll has its answer, so there is room for another. */
  void polled() {
    polls--;
    pollDue();
  }

  private void pollDue() {
    while (polls < POLLS_AT_ONCE && !due.isEmpty()) if (due.remove().ask()) polls++;
  }

  @Override
  public boolean cancel(long number) {
    PolledWait wait = waits.remove(number);
    if (wait != null) wait.stop();
    ClientCall<?, ?> lasted = lasting.remove(number);
    if (lasted != null) lasted.cancel("The caller has given up.", null);
    return true;
  }

  @Override
  public boolean hasSent(long number) {
    return !isRefused;
  }

  @Override
  public void acknowledge() {
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
  private LeaseTerms signed(LeaseTerms terms) {
    LeaseTerms.Builder signed = terms.toBuilder();
    if (terms.getOwner().isEmpty()) signed.setOwner(owner);
    return signed.putAllLabels(labels).putAllLabels(terms.getLabelsMap()).build();
  }

  private AcquireRequest signed(AcquireRequest request) {
    return request.toBuilder().setTerms(signed(request.getTerms())).build();
  }

  private QueueRequest signed(QueueRequest request) {
    return request.toBuilder().setTerms(signed(request.getTerms())).build();
  }

  private CaptureRequest signed(CaptureRequest request) {
    return request.toBuilder().setTerms(signed(request.getTerms())).build();
  }

  private static long within(CaptureRequest request) {
    return Times.ofProto(request.getMaxWait()) + ANSWER_WITHIN;
  }

  private <Q, A> void ask(
      long number,
      MethodDescriptor<Q, A> method,
      Q request,
      BiFunction<SessionResult.Builder, A, SessionResult.Builder> into) {
    ask(number, method, request, ANSWER_WITHIN, into);
  }

  private <Q, A> ClientCall<Q, A> ask(
      long number,
      MethodDescriptor<Q, A> method,
      Q request,
      long within,
      BiFunction<SessionResult.Builder, A, SessionResult.Builder> into) {
    long basis = clock.now();
    return call(
        number,
        method,
        request,
        within,
        answer -> tell(into.apply(SessionResult.newBuilder(), answer), number, basis),
        error -> tell(SessionResult.newBuilder().setError(error), number, basis));
  }

  private void watch(long number, WatchLocksRequest request) {
    MethodDescriptor<WatchLocksRequest, WatchLocksResponse> method =
        LockServiceGrpc.getWatchLocksMethod();
    ClientCall<WatchLocksRequest, WatchLocksResponse> call =
        traced(open.getOrDefault(number, "")).newCall(method, CallOptions.DEFAULT);
    lasting.put(number, call);
    ClientCalls.asyncServerStreamingCall(
        call,
        request,
        new StreamObserver<WatchLocksResponse>() {
          @Override
          public void onNext(WatchLocksResponse update) {
            loop.run(
                () -> tell(SessionResult.newBuilder().setWatchLocks(update), number, clock.now()));
          }

          @Override
          public void onError(Throwable failure) {
            loop.run(
                () -> {
                  if (lasting.get(number) != call) return;
                  failed(
                      failure,
                      error -> tell(SessionResult.newBuilder().setError(error), number, clock.now()));
                });
          }

          @Override
          public void onCompleted() {
            onError(Status.UNAVAILABLE.withDescription("The watch has ended.").asRuntimeException());
          }
        });
  }

  private void renew(long number, RenewRequest asked) {
    long basis = clock.now();
    call(
        number,
        LockServiceGrpc.getRenewMethod(),
        asked,
        answer -> renewed(number, basis, RenewedLease.newBuilder().setLease(answer.getLease())),
        error -> renewed(number, basis, RenewedLease.newBuilder().setError(error)));
  }

  private void renewed(long number, long basis, RenewedLease.Builder renewed) {
    RenewedLeases one = RenewedLeases.newBuilder().addLeases(renewed).build();
    tell(SessionResult.newBuilder().setRenewLeases(one), number, basis);
  }

  <Q, A> void call(
      long number,
      MethodDescriptor<Q, A> method,
      Q request,
      Consumer<A> answered,
      Consumer<com.google.rpc.Status> failed) {
    if (!isOver) call(number, method, request, ANSWER_WITHIN, answered, failed);
  }

  /** Makes one call. A failure that is not a Rowlock server's answer to this very call ends the connection. */
  private <Q, A> ClientCall<Q, A> call(
      long number,
      MethodDescriptor<Q, A> method,
      Q request,
      long within,
      Consumer<A> answered,
      Consumer<com.google.rpc.Status> failed) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(within, TimeUnit.NANOSECONDS);
    ClientCall<Q, A> call = traced(open.getOrDefault(number, "")).newCall(method, options);
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

  private Channel traced(String traceparent) {
    if (traceparent.isEmpty()) return channel;
    Metadata headers = new Metadata();
    headers.put(TRACEPARENT, traceparent);
    return ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(headers));
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
      if (!error.isOfCredentials() || isOver) return;
      // As a session would end.
      isRefused = opened == null;
      over();
      listener.onEnded(this, error);
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
    if (isOver || !open.containsKey(number)) return;
    boolean isPosition = result.hasWaitInQueue() && result.getWaitInQueue().hasPosition();
    if (!isPosition && !result.hasWatchLocks()) {
      open.remove(number);
      waits.remove(number);
      lasting.remove(number);
    }
    SessionResponse response =
        SessionResponse.newBuilder().addResults(result.setCall(number)).build();
    listener.onResponded(this, response, basis);
  }

  private void over() {
    if (isOver) return;
    isOver = true;
    waits.values().forEach(PolledWait::stop);
    waits.clear();
    due.clear();
    lasting.clear();
    open.clear();
    channel.shutdownNow();
  }
}
