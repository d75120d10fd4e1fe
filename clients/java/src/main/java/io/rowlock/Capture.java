// Asks for some of many locks, from the first request to the leases or to none, over as many connections as that takes.
// It asks for a long wait in pieces, because a capture has no place to lose: the client then notices a server that
// hangs, and no proxy cuts the wait off. Once the caller has given up, it gives late grants back. Runs on the loop
// only.

package io.rowlock;

import com.google.protobuf.MessageOrBuilder;
import io.grpc.Status;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import rowlock.v1.CaptureRequest;
import rowlock.v1.CaptureResponse;
import rowlock.v1.Lease;
import rowlock.v1.LockNames;
import rowlock.v1.RenewRequest;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

final class Capture implements Ask, Asking {
  /** The longest piece of a wait. A piece is also at most half of {@code giveUpAfter}. */
  static final long PIECE = Times.ofMillis(15_000);

  /** Reasons that say that a lease is gone. */
  private static final Set<Reason> GONE = Set.of(Reason.LEASE_LOST, Reason.UNKNOWN_CLAIM);

  private final Clock clock;
  private final Calls calls;
  private final HeldLocks locks;
  private final CaptureOptions asked;
  private final long giveUpAfter;
  private final CompletableFuture<Captured> outcome;
  private final Telemetry.Request request;
  private final long until;

  private String requestId;
  private long pieceEnds;
  private Call call;

  /** The locks of the last answer, in its order. An entry is null while its lock is not held. */
  private HeldLock[] taken = {};

  /** How many of them are being renewed before anybody relies on them. */
  private int renewing;

  /** Of the last answer, if there was nothing to take. */
  private Optional<Duration> retryAfter = Optional.empty();

  /** The leases of the caller's own request id have ended, so that id gets no more. */
  private boolean isSpent;

  private boolean isSettled;
  private boolean isAbandoned;

  Capture(
      Clock clock,
      Calls calls,
      HeldLocks locks,
      CaptureOptions asked,
      long giveUpAfter,
      CompletableFuture<Captured> outcome,
      Telemetry.Request request) {
    this.clock = clock;
    this.calls = calls;
    this.locks = locks;
    this.asked = asked;
    this.giveUpAfter = giveUpAfter;
    this.outcome = outcome;
    this.request = request;
    until = asked.waitAtMost.map(wait -> clock.now() + Times.ofDuration(wait)).orElse(Times.FOREVER);
  }

  @Override
  public void begin() {
    if (isAbandoned) return;
    locks.requests.join(asked.sharedId());
    ask();
  }

  private void ask() {
    // If the last piece was granted leases and the answer was lost, its request id gets nothing else any more.
    requestId = asked.requestId.orElseGet(RequestId::make);
    pieceEnds = clock.now() + Math.min(until - clock.now(), Math.min(PIECE, giveUpAfter / 2));
    call = calls.begin(this);
  }

  @Override
  public void abandon(Throwable why) {
    if (isSettled) return;
    fail(why);
    if (call == null) return;
    if (!call.mayBeKnown()) calls.cancel(call);
    else if (asked.isWait()) calls.withdraw(call);
  }

  private void fail(Throwable why) {
    if (isSettled) return;
    isSettled = true;
    isAbandoned = true;
    leave(false);
    outcome.completeExceptionally(why);
    for (HeldLock lock : held()) lock.giveUp();
  }

  /** A capture that was given up before it began has not joined. */
  private void leave(boolean isGranted) {
    if (call != null) locks.requests.leave(asked.sharedId(), isGranted);
  }

  private void settle(Captured captured) {
    isSettled = true;
    leave(true);
    if (!outcome.complete(captured)) captured.giveUp();
  }

  private List<HeldLock> held() {
    return Arrays.stream(taken).filter(Objects::nonNull).toList();
  }

  @Override
  public Kind kind() {
    return asked.isWait() ? Kind.WAIT : Kind.OTHER;
  }

  /** Once given up, the capture is not repeated: {@link #failed} looks for what a lost connection has left behind. */
  @Override
  public Repeat repeat() {
    return isAbandoned ? Repeat.ON_THIS_CONNECTION : Repeat.ALWAYS;
  }

  @Override
  public long giveUpAfter() {
    return giveUpAfter;
  }

  @Override
  public String traceparent() {
    return request.traceparent();
  }

  @Override
  public SessionCommand.Builder command(Connection connection) {
    return SessionCommand.newBuilder().setCapture(request());
  }

  @Override
  public Optional<MessageOrBuilder> text() {
    return Optional.of(request());
  }

  private CaptureRequest.Builder request() {
    CaptureRequest.Builder request =
        CaptureRequest.newBuilder()
            .setMaxLeases(asked.count)
            .setTerms(asked.leaseTerms())
            .setRequestId(requestId);
    asked.prefix.ifPresent(request::setPrefix);
    asked.names.ifPresent(names -> request.setNames(LockNames.newBuilder().addAllNames(names)));
    if (asked.isWait()) {
      long left = Math.max(Times.ofMillis(1), pieceEnds - clock.now());
      request.setMaxWait(Times.protoOf(left));
    }
    return request;
  }

  @Override
  public boolean answered(SessionResult result, long basis) {
    if (!result.hasCapture()) {
      String message = "The server answered a capture with an unexpected result: " + result.getResultCase() + ".";
      failed(new RowlockException(Reason.UNKNOWN, Status.Code.INTERNAL, message));
      return true;
    }
    CaptureResponse response = result.getCapture();
    isSpent = response.getIsRepeated() && asked.requestId.isPresent();
    if (call.wasSent && asked.requestId.isEmpty())
      // The call was also sent over a connection that is gone, and that server may have taken more locks since.
      lookFor(response.getLeasesList().stream().map(Lease::getLeaseId).collect(Collectors.toSet()));
    if (!isAbandoned) taken = new HeldLock[response.getLeasesCount()];
    for (int at = 0; at < response.getLeasesCount(); at++) take(at, response.getLeases(at), basis, 0);
    retryAfter =
        response.hasRetryAfter()
            ? Optional.of(Times.durationOf(response.getRetryAfter()))
            : Optional.empty();
    finish();
    return true;
  }

  @Override
  public void failed(RowlockException error) {
    // A caller that has chosen the request id may come back for the leases.
    boolean isGivenBack = asked.requestId.isEmpty() || isAbandoned;
    // A session that has cancelled the call has given back what it had taken.
    boolean isDone =
        error.reason() == Reason.CLOSED
            || (error.reason() == Reason.CANCELLED && call.timesSent == 1);
    if (isGivenBack && !isDone && call.mayBeKnown() && error.leavesDoubt())
      lookFor(Set.of());
    fail(error);
  }

  /** Finds the leases of the request id and gives them back, except for those that an answer has named. */
  private void lookFor(Set<String> except) {
    SessionCommand finding = finding();
    locks.requests.unwanted(
        asked.sharedId(),
        () -> locks.leftBehind.add(asked, asked.sharedId(), finding, false, except));
  }

  /** The command that finds the leases of the request id, and takes nothing else. */
  private SessionCommand finding() {
    CaptureRequest request =
        request().clearMaxWait().setTerms(LeftBehind.findingTerms(asked)).build();
    return SessionCommand.newBuilder().setCapture(request).build();
  }

  /**
   * Makes a lock of a lease. {@code renewals} counts the renewals so far, each of which came back with too little time
   * left.
   */
  private void take(int at, Lease lease, long basis, int renewals) {
    if (isAbandoned) {
      unwanted(lease.getLeaseId());
      return;
    }
    taken[at] = locks.shared(lease.getLeaseId());
    boolean wasReleased = locks.requests.wasReleased(asked.sharedId(), lease.getLeaseId());
    if (taken[at] != null || wasReleased) return;
    HeldLease held = new HeldLease(lease, basis, Times.ofDuration(asked.margin), clock);
    boolean isTooEarly = held.isTooEarly(asked.terms.areSet());
    if (isTooEarly && renewals == HeldLease.LATE_GRANTS_MAX) {
      fail(RowlockException.ttlTooShort(held));
      unwanted(held.id);
    } else if (isTooEarly) renew(at, held.id, renewals + 1);
    // In the same turn, so that the client misses no news of this lease.
    else taken[at] = locks.keep(held, asked, request, null);
  }

  /** Gives a lease back, unless other calls ask under the same request id. */
  private void unwanted(String leaseId) {
    locks.requests.unwanted(asked.sharedId(), () -> locks.giveBack(leaseId, asked));
  }

  /** Renews a grant that arrived late or came after a wait, before anybody relies on it. */
  private void renew(int at, String leaseId, int renewals) {
    renewing++;
    RenewRequest request = RenewRequest.newBuilder().setLeaseId(leaseId).build();
    calls.begin(
        new Question(
            SessionCommand.newBuilder().setRenew(request).build(),
            Kind.URGENT,
            Repeat.ALWAYS,
            giveUpAfter,
            false,
            true,
            traceparent(),
            (result, basis) -> {
              renewing--;
              take(at, result.getRenew().getLease(), basis, renewals);
              finish();
            },
            error -> {
              renewing--;
              if (!GONE.contains(error.reason())) {
                fail(error);
                unwanted(leaseId);
              }
              finish();
            }));
  }

  /** Settles the capture when no lease is being renewed any more, or asks for the next piece of the wait. */
  private void finish() {
    if (isSettled || renewing > 0) return;
    List<HeldLock> held = held();
    if (held.isEmpty() && asked.isWait() && !isSpent && clock.now() < until) ask();
    else settle(new Captured(held, retryAfter));
  }
}
