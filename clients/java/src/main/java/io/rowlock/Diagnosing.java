// Finds out why no server answers, once connections fail: looks at all addresses, at most every few seconds, and
// outside of the loop. Says once in the log that the client keeps trying. Runs on the loop only.

package io.rowlock;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

final class Diagnosing {
  /** How long a diagnosis is believed. */
  private static final long LOOK_EVERY = Times.ofMillis(3_000);

  /** A server that restarts is back by then, and nobody needs to hear of it. */
  private static final long SAY_AFTER = Times.ofMillis(1_000);

  private final EventLoop loop;
  private final Clock clock;
  private final Callbacks callbacks;
  private final ConnectOptions options;
  private final Telemetry telemetry;

  /** Takes what waiting cannot heal, at any of the addresses. */
  private final Consumer<RowlockException> hopeless;

  private List<Diagnosis> latest = List.of();
  private long lookAgainAt;
  private boolean isLooking;
  private boolean isFailing;
  private boolean isToBeSaid;
  private EventLoop.Timer timer;

  Diagnosing(
      EventLoop loop,
      Clock clock,
      Callbacks callbacks,
      ConnectOptions options,
      Telemetry telemetry,
      Consumer<RowlockException> hopeless) {
    this.loop = loop;
    this.clock = clock;
    this.callbacks = callbacks;
    this.options = options;
    this.telemetry = telemetry;
    this.hopeless = hopeless;
  }

  /** For each address, if connections fail and the reasons are known. */
  List<Diagnosis> latest() {
    return latest;
  }

  /** A server was not reached. */
  void failed() {
    if (!isFailing) timer = loop.after(SAY_AFTER, this::becomeLoud);
    isFailing = true;
    if (isLooking) return;
    if (latest.isEmpty() || clock.now() >= lookAgainAt) look();
    else judge();
  }

  /** A server has answered. */
  void answered() {
    isFailing = false;
    isToBeSaid = false;
    latest = List.of();
    stop();
  }

  void stop() {
    EventLoop.cancel(timer);
  }

  private void look() {
    isLooking = true;
    List<CompletableFuture<Diagnosis>> looks =
        options.addresses.stream()
            .map(address -> CompletableFuture.supplyAsync(() -> Probe.of(address, options.tls), callbacks::run))
            .toList();
    CompletableFuture.allOf(looks.toArray(CompletableFuture[]::new))
        .whenComplete(
            (done, failure) ->
                loop.run(
                    () -> {
                      isLooking = false;
                      lookAgainAt = clock.now() + LOOK_EVERY;
                      // Such as a file of the TlsOptions that is gone; the next connection says so.
                      if (failure == null) found(looks.stream().map(CompletableFuture::join).toList());
                    }));
  }

  private void found(List<Diagnosis> diagnoses) {
    if (!isFailing) return;
    latest = diagnoses;
    if (isToBeSaid) say();
    judge();
  }

  private void judge() {
    if (latest.stream().noneMatch(diagnosis -> diagnosis.kind().mayHeal))
      hopeless.accept(RowlockException.noServer("No server can be used", latest));
  }

  private void becomeLoud() {
    isToBeSaid = true;
    if (!latest.isEmpty()) say();
  }

  private void say() {
    isToBeSaid = false;
    telemetry.keepsTrying(latest);
  }
}
