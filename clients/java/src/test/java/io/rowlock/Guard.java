// A server that demands a token. It passes calls with a good one on to a real server.

package io.rowlock;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.SessionRequest;
import rowlock.v1.SessionResponse;

final class Guard implements AutoCloseable {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final Context.Key<String> TOKEN = Context.key("token");

  /** The tokens of all calls that are not refused as sessions without a server that has them. */
  final BlockingQueue<String> tries = new LinkedBlockingQueue<>();

  /** The reasons for which tokens are refused; empty for a good one. Other tokens are wrong. */
  private final Map<String, String> refusals = new ConcurrentHashMap<>();

  private final Map<Relay, String> sessions = new ConcurrentHashMap<>();
  private final boolean hasSessions;
  private final ManagedChannel channel;
  private final Server server;

  Guard(String target, boolean hasSessions, String good) throws IOException {
    this.hasSessions = hasSessions;
    refusals.put(good, "");
    channel = ManagedChannelBuilder.forTarget(target).usePlaintext().build();
    ServerServiceDefinition.Builder service =
        ServerServiceDefinition.builder(LockServiceGrpc.getServiceDescriptor());
    for (MethodDescriptor<?, ?> method : LockServiceGrpc.getServiceDescriptor().getMethods())
      if (method.getType() == MethodDescriptor.MethodType.UNARY) pass(service, method);
      else if (method.getType() == MethodDescriptor.MethodType.SERVER_STREAMING)
        refuse(service, method);
    service.addMethod(
        LockServiceGrpc.getSessionMethod(), ServerCalls.asyncBidiStreamingCall(Relay::new));
    server =
        ServerBuilder.forPort(0)
            .addService(ServerInterceptors.intercept(service.build(), new Door()))
            .build()
            .start();
  }

  String address() {
    return "127.0.0.1:" + server.getPort();
  }

  void accept(String token) {
    refusals.put(token, "");
  }

  /** Refuses the token from now on, and ends its sessions. */
  void refuse(String token, String reason) {
    refusals.put(token, reason);
    sessions.forEach(
        (session, its) -> {
          if (its.equals(token)) session.end(refusal(reason));
        });
  }

  void untilTried(String token) throws InterruptedException {
    for (String tried = ""; !tried.equals(token); ) {
      tried = tries.poll(60, TimeUnit.SECONDS);
      if (tried == null) throw new AssertionError("waited too long: the token");
    }
  }

  static StatusRuntimeException refusal(String reason) {
    Status.Code code =
        reason.equals("RIGHT_MISSING") ? Status.Code.PERMISSION_DENIED : Status.Code.UNAUTHENTICATED;
    ErrorInfo info = ErrorInfo.newBuilder().setDomain("rowlock").setReason(reason).build();
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(code.value())
            .setMessage("No.")
            .addDetails(Any.pack(info))
            .build());
  }

  private <Q, A> void pass(ServerServiceDefinition.Builder service, MethodDescriptor<Q, A> method) {
    service.addMethod(
        method,
        ServerCalls.asyncUnaryCall(
            (request, answers) ->
                ClientCalls.asyncUnaryCall(
                    channel.newCall(method, CallOptions.DEFAULT), request, answers)));
  }

  private static <Q, A> void refuse(
      ServerServiceDefinition.Builder service, MethodDescriptor<Q, A> method) {
    service.addMethod(
        method,
        ServerCalls.asyncServerStreamingCall(
            (request, answers) -> answers.onError(Status.UNIMPLEMENTED.asRuntimeException())));
  }

  @Override
  public void close() {
    server.shutdownNow();
    channel.shutdownNow();
  }

  /** Looks at the token of each call. */
  private final class Door implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      boolean isSession = call.getMethodDescriptor().getBareMethodName().equals("Session");
      if (isSession && !hasSessions) {
        call.close(Status.UNIMPLEMENTED.withDescription("no sessions"), new Metadata());
        return new ServerCall.Listener<>() {};
      }
      String header = headers.get(AUTHORIZATION);
      String token = header == null ? "" : header.replaceFirst("^Bearer ", "");
      tries.add(token);
      String unknown = token.isEmpty() ? "CREDENTIALS_MISSING" : "CREDENTIALS_WRONG";
      String reason = refusals.getOrDefault(token, unknown);
      if (!reason.isEmpty()) {
        StatusRuntimeException refusal = refusal(reason);
        call.close(refusal.getStatus(), refusal.getTrailers());
        return new ServerCall.Listener<>() {};
      }
      return Contexts.interceptCall(
          Context.current().withValue(TOKEN, token), call, headers, next);
    }
  }

  /** A session that is passed on, until its token is refused. */
  private final class Relay implements StreamObserver<SessionRequest> {
    private final StreamObserver<SessionResponse> answers;
    private final StreamObserver<SessionRequest> requests;
    private boolean isOver;

    Relay(StreamObserver<SessionResponse> answers) {
      this.answers = answers;
      sessions.put(this, TOKEN.get());
      requests = LockServiceGrpc.newStub(channel).session(new Back());
    }

    @Override
    public void onNext(SessionRequest request) {
      requests.onNext(request);
    }

    @Override
    public void onError(Throwable failure) {
      end(Status.CANCELLED.asRuntimeException());
    }

    @Override
    public void onCompleted() {
      requests.onCompleted();
    }

    synchronized void end(Throwable failure) {
      if (isOver) return;
      isOver = true;
      sessions.remove(this);
      answers.onError(failure);
      requests.onError(Status.CANCELLED.asRuntimeException());
    }

    private final class Back implements StreamObserver<SessionResponse> {
      @Override
      public void onNext(SessionResponse response) {
        synchronized (Relay.this) {
          if (!isOver) answers.onNext(response);
        }
      }

      @Override
      public void onError(Throwable failure) {
        end(failure);
      }

      @Override
      public void onCompleted() {
        synchronized (Relay.this) {
          if (isOver) return;
          isOver = true;
          sessions.remove(Relay.this);
          answers.onCompleted();
        }
      }
    }
  }
}
