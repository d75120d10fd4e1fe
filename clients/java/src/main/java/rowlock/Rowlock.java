package rowlock;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import rowlock.v1.ClaimReference;
import rowlock.v1.DeleteLockRequest;
import rowlock.v1.ForceReleaseRequest;
import rowlock.v1.Lease;
import rowlock.v1.ListLimitsRequest;
import rowlock.v1.RenewRequest;
import rowlock.v1.SessionResponse;

/**
 * The client: one connection for all locks of a program. For any thread; one for a program is enough.
 *
 * <pre>{@code
 * try (Rowlock rowlock = Rowlock.connect("127.0.0.1:50051");
 *     Lock lock = rowlock.lock("etl/load")) {
 *   System.out.println("alone, with fencing token " + lock.token());
 * }
 * }</pre>
 *
 * <p>A thread that waits for a lock gives up when it is interrupted, with an {@link InterruptedException}, and its place is free
 * at once. The other calls are short; interrupted, they fail with {@link Reason#CANCELLED}, and their thread stays so.
 */
public final class Rowlock implements AutoCloseable {
  /** What closing may take: to give back what is held, and then to close the connection in good order. */
  private static final long GIVE_BACK_WITHIN = Times.ofMillis(2_000);

  /** How often an heir sees whether it has anything left to do. */
  private static final long HEIR_LOOKS_EVERY = Times.ofMillis(1_000);

  private static final long CLOSE_WITHIN = Times.ofMillis(1_000);

  /** What a try takes for a no: another one may succeed without any change of the request. */
  private static final Set<Reason> NOT_NOW = Set.of(Reason.BUSY, Reason.PAUSED, Reason.NOT_BEFORE);

  private final ConnectOptions options;
  private final Loop loop = new Loop();
  private final Clock clock = new Clock();
  private final Told told = new Told();
  private final Executor positions = told.inTurn();
  private final Connections connections;
  private final Calls calls;
  private final LeaseKeeper keeper;
  private final Verbs verbs;
  private final Promises promises = new Promises(loop::isClosed);
  private final HeldLocks locks;

  /** On the loop only. */
  private final Set<Asking> asking = new HashSet<>();

  private final CompletableFuture<Void> closed = new CompletableFuture<>();

  private Rowlock(ConnectOptions options) {
    this.options = options;
    connections =
        new Connections(loop, clock, told, options, this::isNeeded, new ConnectionsOwner());
    calls = new Calls(loop, clock, options.addresses, connections::need, connections::lastError);
    keeper =
        new LeaseKeeper(
            loop, clock, calls, connections::isOpen, connections::need, connections::leave);
    verbs = new Verbs(loop, calls, options.giveUpAfter);
    locks = new HeldLocks(loop, clock, keeper, verbs, promises, told, this::inherit);
  }

  /**
   * Makes a client. Nothing is sent before something is asked for.
   *
   * @param addresses {@code host:port} of each server, in the order in which they are tried
   * @return a client, to be closed
   * @throws IllegalArgumentException for what cannot work
   */
  public static Rowlock connect(String... addresses) {
    return connect(ConnectOptions.to(addresses).build());
  }

  /**
   * The same with options.
   *
   * @param options made by {@link ConnectOptions#to(String...)}
   * @return a client, to be closed
   */
  public static Rowlock connect(ConnectOptions options) {
    return new Rowlock(options);
  }

  /**
   * Waits for the lock, for as long as it takes, and holds it until it is closed.
   *
   * @param name the lock
   * @return to be closed
   * @throws RowlockException where it is refused, or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Lock lock(String name) throws InterruptedException {
    return lock(name, LockOptions.defaults());
  }

  /**
   * The same with options chosen in place: {@code rowlock.lock("etl/load", with -> with.permits(3))}.
   *
   * @param name the lock
   * @param choice chooses them
   * @return to be closed
   * @throws RowlockException where it is refused (the wait is over, for one), or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Lock lock(String name, Consumer<LockOptions.Builder> choice) throws InterruptedException {
    return lock(name, LockOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param name the lock
   * @param options chosen
   * @return to be closed
   * @throws RowlockException where it is refused (the wait is over, for one), or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Lock lock(String name, LockOptions options) throws InterruptedException {
    return demanded(name, acquire(name, options));
  }

  /**
   * The same without a thread that waits. Cancelling it gives up the wait.
   *
   * @param name the lock
   * @param options chosen
   * @return to be closed; fails with a {@link RowlockException}
   */
  public CompletableFuture<Lock> lockAsync(String name, LockOptions options) {
    return handedOut(begin(name, options), outcome -> demanded(name, outcome));
  }

  /**
   * The lock if it is free now.
   *
   * @param name the lock
   * @return to be closed; empty when it is busy, paused or not due yet
   * @throws RowlockException where it is refused otherwise, or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Optional<Lock> tryLock(String name) throws InterruptedException {
    return tryLock(name, LockOptions.defaults());
  }

  /**
   * The same with options chosen in place: {@code rowlock.tryLock("report", with -> with.minInterval(ofHours(1)))}.
   *
   * @param name the lock
   * @param choice chooses them; it is not waited, whatever they say
   * @return to be closed; empty when it is busy, paused or not due yet
   * @throws RowlockException where it is refused otherwise, or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Optional<Lock> tryLock(String name, Consumer<LockOptions.Builder> choice)
      throws InterruptedException {
    return tryLock(name, LockOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param name the lock
   * @param options chosen; it is not waited, whatever they say
   * @return to be closed; empty when it is busy, paused or not due yet
   * @throws RowlockException where it is refused otherwise, or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Optional<Lock> tryLock(String name, LockOptions options) throws InterruptedException {
    return tried(name, acquire(name, options.withoutWait()));
  }

  /**
   * The same without a thread that waits for the answer.
   *
   * @param name the lock
   * @param options chosen
   * @return to be closed; empty when it is busy, paused or not due yet
   */
  public CompletableFuture<Optional<Lock>> tryLockAsync(String name, LockOptions options) {
    return handedOut(begin(name, options.withoutWait()), outcome -> tried(name, outcome));
  }

  /**
   * The lock, or why not: for those to whom a refusal is an answer.
   *
   * @param name the lock
   * @param options chosen
   * @return one of the two
   * @throws RowlockException if no server answers, or the request is wrong
   * @throws InterruptedException if the thread is interrupted
   */
  public Outcome acquire(String name, LockOptions options) throws InterruptedException {
    return awaited(begin(name, options), Rowlock::giveUp);
  }

  /**
   * The same without a thread that waits. Cancelling it gives up the wait.
   *
   * @param name the lock
   * @param options chosen
   * @return one of the two; fails with a {@link RowlockException}
   */
  public CompletableFuture<Outcome> acquireAsync(String name, LockOptions options) {
    return handedOut(begin(name, options), outcome -> outcome);
  }

  /**
   * Does something while holding the lock: {@code rowlock.withLock("etl/load", lock -> load(lock.token()))}. See {@link
   * #callWithLock(String, LockOptions, LockedCall)}.
   *
   * @param <E> what the work throws
   * @param name the lock
   * @param work to be done
   * @throws E what the work throws
   * @throws InterruptedException if the thread is interrupted otherwise than by the loss of the lock
   */
  public <E extends Exception> void withLock(String name, LockedAction<E> work)
      throws E, InterruptedException {
    withLock(name, LockOptions.defaults(), work);
  }

  /**
   * The same with options.
   *
   * @param <E> what the work throws
   * @param name the lock
   * @param options chosen
   * @param work to be done
   * @throws E what the work throws
   * @throws InterruptedException if the thread is interrupted otherwise than by the loss of the lock
   */
  public <E extends Exception> void withLock(
      String name, LockOptions options, LockedAction<E> work) throws E, InterruptedException {
    this.<Optional<Void>, E>callWithLock(
        name,
        options,
        lock -> {
          work.run(lock);
          return Optional.empty();
        });
  }

  /**
   * Does something with a result while holding the lock. See {@link #callWithLock(String, LockOptions, LockedCall)}.
   *
   * @param <T> the result
   * @param <E> what the work throws
   * @param name the lock
   * @param work to be done
   * @return its result
   * @throws E what the work throws
   * @throws InterruptedException if the thread is interrupted otherwise than by the loss of the lock
   */
  public <T, E extends Exception> T callWithLock(String name, LockedCall<T, E> work)
      throws E, InterruptedException {
    return callWithLock(name, LockOptions.defaults(), work);
  }

  /**
   * Does something on this thread while holding the lock, and releases it. When the lock is lost before the work has ended, this
   * thread is interrupted: what blocks in the work (sleeps, queues, channels) then ends with an {@link InterruptedException} or the
   * like; what only computes should look at {@link Lock#requireHeld()} now and then. The interruption ends with the work.
   *
   * @param <T> the result
   * @param <E> what the work throws
   * @param name the lock
   * @param options chosen
   * @param work to be done
   * @return its result
   * @throws E what the work throws
   * @throws RowlockException with {@link Reason#LEASE_LOST} where the lock was lost before the work had ended, as then others may
   *     have run beside it; also if the work did not notice
   * @throws InterruptedException if the thread is interrupted otherwise than by the loss of the lock
   */
  public <T, E extends Exception> T callWithLock(
      String name, LockOptions options, LockedCall<T, E> work) throws E, InterruptedException {
    try (Lock lock = lock(name, options)) {
      return UnderLock.call(lock, work);
    }
  }

  /**
   * Leases on some of many locks that are free and due, have attempts left and a status that is wanted: those longest due first.
   * Two callers never get the same one. Each is kept and renewed like any other lock, until it is released. None is an answer,
   * too.
   *
   * <pre>{@code
   * try (Captured captured = rowlock.capture(with -> with.prefix("task/").count(3).ifStatus("new"))) {
   *   for (Lock task : captured.locks()) {
   *     work(task.name(), task.token());
   *     task.release(with -> with.status("done"));
   *   }
   * }
   * }</pre>
   *
   * @param choice chooses a prefix or names, and the rest
   * @return what there was to take
   * @throws RowlockException if no server answers, or the request is wrong
   * @throws InterruptedException if the thread is interrupted
   */
  public Captured capture(Consumer<CaptureOptions.Builder> choice) throws InterruptedException {
    return capture(CaptureOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param options chosen
   * @return what there was to take
   * @throws RowlockException if no server answers, or the request is wrong
   * @throws InterruptedException if the thread is interrupted
   */
  public Captured capture(CaptureOptions options) throws InterruptedException {
    return awaited(begin(options), Captured::giveUp);
  }

  /**
   * The same without a thread that waits. Cancelling it gives up the wait.
   *
   * @param options chosen
   * @return what there was to take; fails with a {@link RowlockException}
   */
  public CompletableFuture<Captured> captureAsync(CaptureOptions options) {
    return Futures.handedOut(begin(options), told, captured -> captured, Captured::giveUp);
  }

  /**
   * Ends a lease, or gives up a place, by its id.
   *
   * @param leaseId or the id of a ticket
   * @return whether it was this call that ended it
   */
  public boolean release(String leaseId) {
    return release(leaseId, ReleaseOptions.defaults());
  }

  /**
   * The same with what the lock shall remember, chosen in place: {@code rowlock.release(id, with -> with.status("done"))}.
   *
   * @param leaseId of a lease
   * @param choice chooses it
   * @return whether it was this call that ended it
   */
  public boolean release(String leaseId, Consumer<ReleaseOptions.Builder> choice) {
    return release(leaseId, ReleaseOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param leaseId of a lease
   * @param options what the lock shall remember
   * @return whether it was this call that ended it
   */
  public boolean release(String leaseId, ReleaseOptions options) {
    Lock own = locks.find(leaseId);
    if (own != null) return own.release(options);
    return Futures.answer(open(() -> verbs.release(leaseId, options, Times.FOREVER)));
  }

  /**
   * Renews a lease once, by its id.
   *
   * @param leaseId which
   * @return the lease
   */
  public RenewedLease renew(String leaseId) {
    return renew(RenewRequest.newBuilder().setLeaseId(leaseId).build());
  }

  /**
   * The same for another time to live.
   *
   * @param leaseId which
   * @param ttl from now on, 1 s to 24 days
   * @return the lease
   */
  public RenewedLease renew(String leaseId, Duration ttl) {
    return renew(RenewRequest.newBuilder().setLeaseId(leaseId).setTtl(Times.protoOf(ttl)).build());
  }

  private RenewedLease renew(RenewRequest request) {
    return RenewedLease.of(Futures.answer(open(() -> verbs.renew(request))));
  }

  /**
   * Sets a limit: {@code rowlock.setLimit(LimitChange.ofPattern("etl/*").to(3).because("night shift"))}.
   *
   * @param change of what, to what; it is not repeated when its answer is lost
   * @return what is in force now
   */
  public LimitInForce setLimit(LimitChange change) {
    return Futures.answer(open(() -> verbs.setLimit(change.request())));
  }

  /**
   * Sets any of what a lock remembers, and makes the lock where nobody has named it yet: {@code
   * rowlock.updateLock(LockChange.of("task/7").status("new").attemptsLeft(3))}. Whom it makes room for is granted at once.
   *
   * @param change of what, to what; it is not repeated when its answer is lost
   * @return what the lock remembers now
   */
  public RecordView updateLock(LockChange change) {
    return Futures.answer(open(() -> verbs.updateLock(change.request())));
  }

  /**
   * Takes away what a lock remembers. Refused as {@link Reason#LOCK_IN_USE} while it is held or waited for.
   *
   * @param name the lock
   * @return whether there was anything
   */
  public boolean deleteLock(String name) {
    return deleteLock(DeleteLockRequest.newBuilder().setName(name).build());
  }

  /**
   * The same if the record has this version; otherwise {@link Reason#VERSION_MISMATCH}. Not repeated when its answer is lost.
   *
   * @param name the lock
   * @param version of {@link RecordView}; 0: only if there is no record, which changes nothing
   * @return whether there was anything
   */
  public boolean deleteLock(String name, long version) {
    return deleteLock(
        DeleteLockRequest.newBuilder().setName(name).setExpectedVersion(version).build());
  }

  private boolean deleteLock(DeleteLockRequest request) {
    return Futures.answer(open(() -> verbs.deleteLock(request)));
  }

  /**
   * One lock as it stands.
   *
   * @param name also one that nobody has used
   * @return a view
   */
  public LockView getLock(String name) {
    return Futures.answer(open(() -> verbs.getLock(name)));
  }

  /**
   * Locks as they stand; the pages are fetched as they are needed.
   *
   * @param listed which
   * @return views
   */
  public Stream<LockView> listLocks(ListOptions listed) {
    return Pages.stream(
        token -> {
          var page = Futures.answer(open(() -> verbs.listLocks(listed.request(token))));
          return new Pages.Page<>(
              page.getLocksList().stream().map(LockView::of).toList(), page.getNextPageToken());
        });
  }

  /**
   * The limits that were set, for names and patterns that begin so.
   *
   * @param prefix empty: all
   * @return settings
   */
  public Stream<LimitSetting> listLimits(String prefix) {
    ListLimitsRequest request = ListLimitsRequest.newBuilder().setPrefix(prefix).build();
    return Pages.stream(
        token -> {
          var asked = request.toBuilder().setPageToken(token).build();
          var page = Futures.answer(open(() -> verbs.listLimits(asked)));
          return new Pages.Page<>(
              page.getLimitsList().stream().map(LimitSetting::of).toList(), page.getNextPageToken());
        });
  }

  /**
   * An operator's tool: ends all holders of a lock, up to 500 in one call. Not repeated when its answer is lost, as that would end
   * those who were granted the lock by it.
   *
   * @param name the lock
   * @param reason why
   * @return what was ended
   */
  public ForceReleased forceRelease(String name, String reason) {
    return forceRelease(ForceReleaseRequest.newBuilder().setName(name).setReason(reason).build());
  }

  /**
   * Ends one who holds or waits.
   *
   * @param name the lock
   * @param ticketNumber as {@link ClaimView} has it
   * @param reason why
   * @return what was ended
   */
  public ForceReleased forceRelease(String name, long ticketNumber, String reason) {
    ClaimReference claim =
        ClaimReference.newBuilder().setLockName(name).setTicketNumber(ticketNumber).build();
    return forceRelease(ForceReleaseRequest.newBuilder().setClaim(claim).setReason(reason).build());
  }

  private ForceReleased forceRelease(ForceReleaseRequest request) {
    return Futures.answer(open(() -> verbs.forceRelease(request)));
  }

  /**
   * Gives up all waits, releases all locks, and closes the connection, within some 3 s. Can be called twice. Where no server
   * answers within that time, leases end with their time to live; those without end are given back as soon as a server answers,
   * for as long as the program lives.
   */
  @Override
  public void close() {
    if (promises.close()) loop.run(this::giveAllBack);
    Futures.awaitCalmly(closed);
  }

  private void giveAllBack() {
    isClosing = true;
    for (Asking one : List.copyOf(asking)) one.abandon(RowlockException.closed());
    calls.failUnsent(RowlockException.closed());
    locks.leftBehind.close();
    locks.releaseAll();
    connections.hurry();
    Loop.Timer late = loop.after(GIVE_BACK_WITHIN, this::finish);
    // After what other threads have just released has begun. A first request may be on its way, and what it asks for may be
    // granted, before anything was heard of the server.
    loop.run(
        () ->
            calls.whenIdle(
                () -> {
                  late.cancel();
                  finish();
                }));
  }

  /** On the loop only: from when on nothing new is asked for. */
  private boolean isClosing;

  private boolean isFinishing;

  private void finish() {
    if (isFinishing) return;
    isFinishing = true;
    keeper.stop();
    locks.leftBehind.end();
    calls.failAll(RowlockException.closed());
    connections.close(CLOSE_WITHIN, this::finished);
  }

  private void finished() {
    if (heir != null) heir.closeWhenDone();
    loop.close();
    promises.failAll();
    told.close();
    closed.complete(null);
  }

  /** On the loop. Gives back leases without end that no server could be told of while this client was closed. */
  private Rowlock heir;

  private void inherit(Consumer<LeftBehind> give) {
    if (heir == null) heir = new Rowlock(options.withoutListener());
    Rowlock its = heir;
    its.loop.run(() -> give.accept(its.locks.leftBehind));
  }

  /** For an heir, which lives until it has nothing left to do. */
  private void closeWhenDone() {
    loop.after(
        HEIR_LOOKS_EVERY,
        () -> {
          boolean isDone = calls.size() == 0 && locks.leftBehind.size() == 0;
          if (isDone) told.run(this::close);
          else closeWhenDone();
        });
  }

  private boolean isNeeded() {
    return calls.size() > 0 || keeper.size() > 0;
  }

  private <T> CompletableFuture<T> open(Supplier<CompletableFuture<T>> asked) {
    return promises.open(asked);
  }

  private CompletableFuture<Outcome> begin(String name, LockOptions asked) {
    return begin(
        outcome ->
            new Acquisition(
                loop, clock, calls, positions, locks, name, asked, options.giveUpAfter, outcome));
  }

  private CompletableFuture<Captured> begin(CaptureOptions asked) {
    return begin(
        outcome ->
            new Capture(clock, calls, locks, asked, options.giveUpAfter, outcome));
  }

  private <T> CompletableFuture<T> begin(Function<CompletableFuture<T>, Asking> made) {
    CompletableFuture<T> outcome = open(CompletableFuture::new);
    if (outcome.isDone()) return outcome;
    Asking one = made.apply(outcome);
    loop.run(
        () -> {
          // Closing has given up all that it knew of.
          if (isClosing) outcome.completeExceptionally(RowlockException.closed());
          if (outcome.isDone()) return;
          asking.add(one);
          one.begin();
        });
    outcome.whenComplete(
        (value, failure) ->
            loop.run(
                () -> {
                  asking.remove(one);
                  if (outcome.isCancelled()) one.abandon(failure);
                }));
    return outcome;
  }

  /** A thread that is interrupted gives up: what comes all the same is given to {@code unwanted}. */
  private static <T> T awaited(CompletableFuture<T> outcome, Consumer<T> unwanted)
      throws InterruptedException {
    try {
      return Futures.await(outcome);
    } catch (InterruptedException interrupted) {
      if (!outcome.cancel(true)) outcome.thenAccept(unwanted);
      throw interrupted;
    }
  }

  private <T> CompletableFuture<T> handedOut(
      CompletableFuture<Outcome> outcome, Function<Outcome, T> read) {
    return Futures.handedOut(outcome, told, read, Rowlock::giveUp);
  }

  private static Lock demanded(String name, Outcome outcome) {
    if (outcome instanceof Outcome.Granted granted) return granted.lock();
    throw RowlockException.refused(name, ((Outcome.Refused) outcome).refusal());
  }

  private static Optional<Lock> tried(String name, Outcome outcome) {
    if (outcome instanceof Outcome.Refused refused) {
      Reason reason = refused.refusal().reason();
      if (NOT_NOW.contains(reason)) return Optional.empty();
    }
    return Optional.of(demanded(name, outcome));
  }

  private static void giveUp(Outcome outcome) {
    if (outcome instanceof Outcome.Granted granted) granted.lock().giveUp();
  }

  private final class ConnectionsOwner implements Connections.Owner {
    @Override
    public void onBegun(Connection connection) {
      keeper.begun();
      calls.begun(connection);
    }

    @Override
    public void onResponse(Connection connection, SessionResponse response, long basis) {
      if (response.getConfirmedCount() > 0) keeper.confirmed(response.getConfirmedList(), basis);
      calls.results(response.getResultsList(), basis);
      keeper.lost(response.getLostList());
      if (response.hasOpened()) calls.opened();
      if (hasProvisional(response)) connection.touch();
    }

    @Override
    public void onLeaving(Connection connection) {
      keeper.orphaned();
      calls.leaving(connection);
    }

    @Override
    public void onEnded(Connection connection, RowlockException error) {
      keeper.orphaned();
      calls.ended(connection, error);
    }

    @Override
    public void onHopeless(RowlockException error) {
      calls.failAsked(error);
    }

    /** Whether there is a lease in it that waits to be acknowledged. */
    private boolean hasProvisional(SessionResponse response) {
      return response.getResultsList().stream()
          .anyMatch(
              result ->
                  result.getWaitInQueue().getGranted().getProvisional()
                      || result.getCapture().getLeasesList().stream().anyMatch(Lease::getProvisional));
    }
  }
}
