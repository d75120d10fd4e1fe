// A proxy that passes unary calls on and refuses streams, as an older server or some proxies do.

package io.rowlock;

import io.grpc.Context;
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
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import io.grpc.CallOptions;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.StreamObserver;
import rowlock.v1.LockServiceGrpc;
import rowlock.v1.SessionRequest;

final class StreamlessProxy implements AutoCloseable {
  private static final Metadata.Key<String> TRACEPARENT =
      Metadata.Key.of("traceparent", Metadata.ASCII_STRING_MARSHALLER);

  private final ManagedChannel channel;
  private final Server server;
  private final Map<String, AtomicInteger> counts = new ConcurrentHashMap<>();
  private final Map<String, String> contexts = new ConcurrentHashMap<>();
  private final AtomicInteger cancelled = new AtomicInteger();
  private final AtomicInteger withoutDeadline = new AtomicInteger();

  StreamlessProxy(String target, Status refusal) throws IOException {
    channel = ManagedChannelBuilder.forTarget(target).usePlaintext().build();
    ServerServiceDefinition.Builder service =
        ServerServiceDefinition.builder(LockServiceGrpc.getServiceDescriptor());
    for (MethodDescriptor<?, ?> method : LockServiceGrpc.getServiceDescriptor().getMethods())
      if (method.getType() == MethodDescriptor.MethodType.UNARY) pass(service, method);
      else if (method.getType() == MethodDescriptor.MethodType.SERVER_STREAMING)
        refuse(service, method, refusal);
    service.addMethod(
        LockServiceGrpc.getSessionMethod(),
        ServerCalls.asyncBidiStreamingCall(
            answers -> {
              counts.computeIfAbsent("Session", name -> new AtomicInteger()).incrementAndGet();
              answers.onError(refusal.asRuntimeException());
              return new Deaf();
            }));
    server =
        ServerBuilder.forPort(0)
            .addService(ServerInterceptors.intercept(service.build(), new Contexts()))
            .build()
            .start();
  }

  String address() {
    return "127.0.0.1:" + server.getPort();
  }

  /** How often this method was called. */
  int count(String method) {
    AtomicInteger count = counts.get(method);
    return count == null ? 0 : count.get();
  }

  /** The trace context of the last call of this method; empty if it had none. */
  String context(String method) {
    return contexts.get(method);
  }

  /** How many calls their callers have cancelled. */
  int cancelled() {
    return cancelled.get();
  }

  /** How many calls had no deadline, so that their caller would wait for ever. */
  int withoutDeadline() {
    return withoutDeadline.get();
  }

  private <Q, A> void pass(ServerServiceDefinition.Builder service, MethodDescriptor<Q, A> method) {
    AtomicInteger count =
        counts.computeIfAbsent(method.getBareMethodName(), name -> new AtomicInteger());
    service.addMethod(
        method,
        ServerCalls.asyncUnaryCall(
            (request, answers) -> {
              count.incrementAndGet();
              if (Context.current().getDeadline() == null) withoutDeadline.incrementAndGet();
              ((ServerCallStreamObserver<A>) answers).setOnCancelHandler(cancelled::incrementAndGet);
              // In the context of the incoming call, so it is cancelled with that.
              ClientCalls.asyncUnaryCall(
                  channel.newCall(method, CallOptions.DEFAULT), request, answers);
            }));
  }

  private static <Q, A> void refuse(
      ServerServiceDefinition.Builder service, MethodDescriptor<Q, A> method, Status refusal) {
    service.addMethod(
        method,
        ServerCalls.asyncServerStreamingCall(
            (request, answers) -> answers.onError(refusal.asRuntimeException())));
  }

  @Override
  public void close() {
    server.shutdownNow();
    channel.shutdownNow();
  }

  private final class Contexts implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      String context = headers.get(TRACEPARENT);
      contexts.put(call.getMethodDescriptor().getBareMethodName(), context == null ? "" : context);
      return next.startCall(call, headers);
    }
  }

  private static final class Deaf implements StreamObserver<SessionRequest> {
    @Override
    public void onNext(SessionRequest request) {}

    @Override
    public void onError(Throwable failure) {}

    @Override
    public void onCompleted() {}
  }
}
