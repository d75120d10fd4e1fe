// Asks for one lock or for several at once, or spends of its rate, from the first request to the grant or the refusal, over as many connections as
// that takes. An abandoned acquisition leaves nothing behind: it gives its place back as soon as it knows the ticket. What an
// abandoned spend has taken of the rate is gone. Runs on the loop only.

package io.rowlock;

import com.google.protobuf.MessageOrBuilder;
import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import rowlock.v1.AcquireRequest;
import rowlock.v1.ClaimEnd;
import rowlock.v1.EndReason;
import rowlock.v1.Lease;
import rowlock.v1.QueueRequest;
import rowlock.v1.RenewRequest;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;
import rowlock.v1.Ticket;
import rowlock.v1.Wait;
import rowlock.v1.WaitInQueueRequest;

final class Acquisition implements Ask, Asking {
  /** Nobody was given the lease, or the place was lost on the way. Asking again takes nothing from anybody. */
  private static final Set<EndReason> UNTOLD_ENDS =
      Set.of(EndReason.END_REASON_LAPSED, EndReason.END_REASON_EXPIRED);

  /** Others hold the lock, or this client itself does. */
  private static final Set<Reason> IN_THE_WAY = Set.of(Reason.BUSY, Reason.TIMED_OUT);

  private static final Set<Reason> UNTOLD_FAILURES =
      Set.of(Reason.UNKNOWN_CLAIM, Reason.LEASE_LOST);

  /** How long the server may take to report that a wait is over. */
  private static final long LATE = Times.ofMillis(2_000);

  /** The interval of position updates when the caller has no listener. */
  private static final Duration SELDOM = Duration.ofHours(1);

  private final EventLoop loop;
  private final Clock clock;
  private final Calls calls;
  private final Executor positions;
  private final HeldLocks locks;
  private final String name;
  private final LockOptions asked;
  private final long giveUpAfter;
  private final CompletableFuture<Answer> outcome;
  private final Telemetry.Request request;
  private final long until;
  private final Thread asker = Thread.currentThread();
  private final WaitReports.Waiting waiting;

  /** The latest place that the listener has not seen yet. */
  private final AtomicReference<Place> untold = new AtomicReference<>();

  private String requestId;

  /** Null until it is known. */
  private String ticketId;

  private Call call;

  /** Counts the grants with too little time left to start work. */
  private int lateGrants;

  private volatile boolean isSettled;
  private boolean isAbandoned;

  Acquisition(
      EventLoop loop,
      Clock clock,
      Calls calls,
      Executor positions,
      HeldLocks locks,
      WaitReports reports,
      String name,
      LockOptions asked,
      long giveUpAfter,
      CompletableFuture<Answer> outcome,
      Telemetry.Request request) {
    this.loop = loop;
    this.clock = clock;
    this.calls = calls;
    this.positions = positions;
    this.locks = locks;
    this.name = name;
    this.asked = asked;
    this.giveUpAfter = giveUpAfter;
    this.outcome = outcome;
    this.request = request;
    waiting = reports.begin(name, asker, asked);
    requestId = asked.requestId.orElseGet(RequestId::make);
    until = asked.waitAtMost.map(wait -> clock.now() + Times.ofDuration(wait)).orElse(Times.FOREVER);
  }

  @Override
  public void begin() {
    if (isAbandoned) return;
    locks.requests.join(asked.sharedId());
    ask();
  }

  private void ask() {
    call = calls.begin(this);
  }

  @Override
  public void abandon(Throwable why) {
    if (isSettled) return;
    isAbandoned = true;
    fail(why);
    if (ticketId != null) {
      if (call != null) calls.cancel(call);
      unwanted(ticketId);
    } else if (call != null && !call.mayBeKnown()) calls.cancel(call);
  }

  private void settle(Answer how) {
    settled(how instanceof Outcome.Granted || how instanceof Spent);
    if (!outcome.complete(how) && how instanceof Outcome.Granted granted) granted.lock().giveUp();
  }

  private void fail(Throwable why) {
    settled(false);
    outcome.completeExceptionally(why);
  }

  private void settled(boolean isGranted) {
    if (isSettled) return;
    isSettled = true;
    waiting.ended();
    // An acquisition that was given up before it began has not joined.
    if (call != null) locks.requests.leave(asked.sharedId(), isGranted);
  }

  /** Asks for the lock under a new request id, because the claim of the old one is gone. */
  private void again() {
    requestId = RequestId.make();
    ticketId = null;
    ask();
  }

  private boolean isWait() {
    return !asked.isTry();
  }

  private long left() {
    return Math.max(Times.ofMillis(1), until - clock.now());
  }

  @Override
  public Kind kind() {
    return isWait() ? Kind.WAIT : Kind.OTHER;
  }

  @Override
  public Repeat repeat() {
    return Repeat.ALWAYS;
  }

  @Override
  public long giveUpAfter() {
    return isWait() && until < Times.FOREVER ? Math.min(giveUpAfter, left() + LATE) : giveUpAfter;
  }

  @Override
  public String traceparent() {
    return request.traceparent();
  }

  @Override
  public SessionCommand.Builder command(Connection connection) {
    SessionCommand.Builder command = SessionCommand.newBuilder();
    if (!isWait()) return command.setAcquire(request());
    WaitInQueueRequest.Builder wait = WaitInQueueRequest.newBuilder();
    if (ticketId != null && connection.via() == ConnectionEvent.Via.SESSION) wait.setTicketId(ticketId);
    else wait.setRequest(waitingRequest());
    Duration interval = asked.onPosition.isPresent() ? asked.positionInterval : SELDOM;
    return command.setWaitInQueue(wait.setMinUpdateInterval(Times.protoOf(interval)));
  }

  @Override
  public Optional<MessageOrBuilder> text() {
    return Optional.of(request());
  }

  /** The request without a wait. */
  private AcquireRequest.Builder request() {
    AcquireRequest.Builder request =
        AcquireRequest.newBuilder()
            .setName(name)
            .setMode(asked.mode.proto())
            .setPermits(asked.permits)
            .setTerms(asked.leaseTerms())
            .setRequestId(requestId)
            .setSpendOnly(asked.isSpend)
            .addAllAlso(asked.furtherLocks());
    asked.headStart.ifPresent(by -> request.setHeadStart(Times.protoOf(by)));
    return request;
  }

  private QueueRequest.Builder waitingRequest() {
    QueueRequest.Builder request =
        QueueRequest.newBuilder()
            .setName(name)
            .setMode(asked.mode.proto())
            .setPermits(asked.permits)
            .setTerms(asked.leaseTerms())
            .setRequestId(requestId)
            .setSpendOnly(asked.isSpend)
            .addAllAlso(asked.furtherLocks());
    asked.headStart.ifPresent(by -> request.setHeadStart(Times.protoOf(by)));
    if (until < Times.FOREVER) request.setMaxWait(Times.protoOf(left()));
    return request;
  }

  @Override
  public boolean answered(SessionResult result, long basis) {
    if (result.hasAcquire()) {
      switch (result.getAcquire().getOutcomeCase()) {
        case LEASE -> granted(result.getAcquire().getLease(), basis);
        case SPENT -> settle(Spent.of(result.getAcquire().getSpent()));
        case REFUSAL -> refused(Refusal.of(result.getAcquire().getRefusal()));
        case ENDED -> ended(result.getAcquire().getEnded());
        default -> failed(unexpected(result));
      }
      return true;
    }
    switch (result.getWaitInQueue().getUpdateCase()) {
      case GRANTED -> granted(result.getWaitInQueue().getGranted(), basis);
      case SPENT -> settle(Spent.of(result.getWaitInQueue().getSpent()));
      case REFUSAL -> refused(Refusal.of(result.getWaitInQueue().getRefusal()));
      case ENDED -> ended(result.getWaitInQueue().getEnded());
      case POSITION -> {
        return isAtPlace(result.getWaitInQueue().getPosition());
      }
      default -> failed(unexpected(result));
    }
    return true;
  }

  /** Takes a new position. Returns true if the call is over, because the caller no longer wants the place. */
  private boolean isAtPlace(Ticket ticket) {
    ticketId = ticket.getTicketId();
    request.placed();
    waiting.placed(ticket);
    if (isAbandoned) {
      unwanted(ticketId);
      return true;
    }
    asked.onPosition.ifPresent(listener -> tell(listener, Place.of(ticket)));
    return false;
  }

  /** If the listener is slow, it gets only the latest place. */
  private void tell(Consumer<Place> listener, Place place) {
    if (untold.getAndSet(place) != null) return;
    positions.execute(
        () -> {
          try {
            Place latest = untold.getAndSet(null);
            if (!isSettled) listener.accept(latest);
          } catch (RuntimeException | Error thrown) {
            loop.run(() -> abandon(thrown));
          }
        });
  }

  private static RowlockException unexpected(SessionResult result) {
    String message = "The server answered with an unexpected result: " + result.getResultCase() + ".";
    return new RowlockException(Reason.UNKNOWN, Status.Code.INTERNAL, message);
  }

  private void granted(Lease lease, long basis) {
    if (asked.isSpend || lease.getAlsoCount() < asked.also.size()) {
      fail(asked.isSpend ? RowlockException.cannotSpend() : RowlockException.takesOneLock());
      unwanted(lease.getLeaseId());
      return;
    }
    if (isAbandoned) {
      unwanted(lease.getLeaseId());
      return;
    }
    HeldLock known = locks.shared(lease.getLeaseId());
    if (known != null) {
      settle(new Outcome.Granted(known));
      return;
    }
    if (locks.requests.wasReleased(asked.sharedId(), lease.getLeaseId())) {
      // Another call under this request id held the lease and has released it since, so this grant is outdated. When
      // asked again a little later, the server reports the release.
      loop.after(
          LeaseKeeper.RENEW_AGAIN,
          () -> {
            if (!isSettled) ask();
          });
      return;
    }
    HeldLease held = new HeldLease(lease, basis, Times.ofDuration(asked.margin), clock);
    if (!held.isTooEarly(asked.terms.areSet())) {
      // In the same turn, so that the client misses no news of this lease.
      settle(new Outcome.Granted(locks.keep(held, asked, request, asker)));
      return;
    }
    if (++lateGrants > HeldLease.LATE_GRANTS_MAX) {
      fail(RowlockException.ttlTooShort(held));
      unwanted(held.id);
      return;
    }
    renew(held.id);
  }

  /** Renews a grant that arrived late or is not confirmed yet, before anybody relies on it. */
  private void renew(String leaseId) {
    ticketId = leaseId;
    RenewRequest request = RenewRequest.newBuilder().setLeaseId(leaseId).build();
    call =
        calls.begin(
            new Question(
                SessionCommand.newBuilder().setRenew(request).build(),
                Kind.URGENT,
                Repeat.ALWAYS,
                giveUpAfter,
                false,
                true,
                traceparent(),
                (result, basis) -> granted(result.getRenew().getLease(), basis),
                this::failed));
  }

  private void ended(ClaimEnd end) {
    boolean isLeft = !isWait() || clock.now() < until;
    if (UNTOLD_ENDS.contains(end.getReason()) && isLeft && mayAskAgain()) again();
    else refused(Refusal.of(end));
  }

  private void refused(Refusal refusal) {
    settle(new Outcome.Refused(ofYourself(refusal)));
  }

  /** A refusal that says so if this client itself holds the lock. */
  private Refusal ofYourself(Refusal refusal) {
    if (asked.isSpend || !IN_THE_WAY.contains(refusal.reason())) return refusal;
    return locks.ownHold(asked.names(name)).map(refusal::byYourself).orElse(refusal);
  }

  @Override
  public void failed(RowlockException error) {
    if (UNTOLD_FAILURES.contains(error.reason()) && ticketId != null && mayAskAgain()) again();
    else fail(leave(error));
  }

  /**
   * After a failure, gives back the lock that a server may have granted. If the lease would never expire, the error
   * says that the lock may be held.
   */
  private RowlockException leave(RowlockException error) {
    boolean isOver = error.reason() == Reason.CLOSED && asked.ttl.isPresent();
    if (isOver || !error.leavesDoubt() || (ticketId == null && !call.mayBeKnown())) return error;
    // A caller that has chosen the request id may come back for the claim, even from another program.
    boolean isGivenBack = asked.requestId.isEmpty() || isAbandoned;
    if (isGivenBack && ticketId != null) unwanted(ticketId);
    else if (isGivenBack)
      locks.requests.unwanted(
          asked.sharedId(), () -> locks.leftBehind.add(asked, asked.sharedId(), finding(), true, Set.of()));
    return asked.ttl.isPresent() ? error : error.mayBeHeld(name, requestId, isGivenBack);
  }

  /** The command that finds the claim of the request id. */
  private SessionCommand finding() {
    AcquireRequest.Builder request = request();
    // If there is no claim, this takes a place in the queue, which is then given back. A first request that is still on
    // its way then finds that the claim of its id has ended, and is not granted the lock.
    if (asked.ttl.isEmpty()) request.setEnqueue(Wait.getDefaultInstance());
    else request.setTerms(LeftBehind.findingTerms(asked));
    return SessionCommand.newBuilder().setAcquire(request).build();
  }

  /** A request id that the caller has chosen stands for one claim. */
  private boolean mayAskAgain() {
    return asked.requestId.isEmpty() && !isAbandoned;
  }

  /** Gives a claim back, unless other calls ask under the same request id. */
  private void unwanted(String id) {
    locks.requests.unwanted(asked.sharedId(), () -> locks.giveBack(id, asked));
  }
}
