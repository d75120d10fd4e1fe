// The token of one connection, added to each of its calls. On a connection of unary calls, the source is asked again in
// the background, so that no renewal waits for it.

package io.rowlock;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;

final class TokenInUse implements ClientInterceptor {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  /** How long calls use a token before its source is asked again. */
  private static final long ASK_AGAIN_AFTER = Times.ofMillis(1_000);

  private final TokenSource source;
  private final Callbacks callbacks;
  private String token;
  private long askedAt = System.nanoTime();
  private boolean isAsking;

  /** Asks the source, which may block. */
  TokenInUse(TokenSource source, Callbacks callbacks) {
    this.source = source;
    this.callbacks = callbacks;
    token = source.ask();
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(
      MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void start(Listener<A> listener, Metadata headers) {
        headers.discardAll(AUTHORIZATION);
        headers.put(AUTHORIZATION, "Bearer " + current());
        super.start(listener, headers);
      }
    };
  }

  private synchronized String current() {
    if (!source.isFixed && !isAsking && System.nanoTime() - askedAt >= ASK_AGAIN_AFTER) {
      isAsking = true;
      callbacks.run(this::askAgain);
    }
    return token;
  }

  private void askAgain() {
    String next = null;
    try {
      next = source.ask();
    } catch (RowlockException none) {
      // The server says whether the token that is in use is still good.
      System.getLogger("rowlock").log(System.Logger.Level.DEBUG, "No new token", none);
    }
    renewed(next);
  }

  private synchronized void renewed(String next) {
    isAsking = false;
    askedAt = System.nanoTime();
    if (next != null) token = next;
  }
}
