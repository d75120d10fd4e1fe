package io.rowlock;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import rowlock.v1.ClaimReference;
import rowlock.v1.ExplainWaitRequest;
import rowlock.v1.ForceReleaseRequest;
import rowlock.v1.Lease;
import rowlock.v1.ListLimitsRequest;
import rowlock.v1.RenewRequest;
import rowlock.v1.SessionResponse;

/**
 * A client: one connection for all locks of a program. For any thread; a program needs only one.
 *
 * <pre>{@code
 * try (RowlockClient rowlock = RowlockClient.connect("127.0.0.1:50051");
 *     HeldLock lock = rowlock.lock("etl/load")) {
 *   System.out.println("my turn, with fencing token " + lock.token());
 * }
 * }</pre>
 *
 * <p>If a thread is interrupted while it waits for a lock or a capture, it gets an {@link InterruptedException}, and
 * its place is free at once. The other calls are short: if interrupted, they fail with {@link Reason#CANCELLED}, and
 * the thread stays interrupted.
 *
 * <p>When the JVM exits, a shutdown hook gives up what the client holds: on the normal end of the program, {@code
 * System.exit}, SIGTERM and SIGINT, but not when the process is killed. The program's threads may still work at that
 * moment, so each lock counts as lost for its holder first, and then the server gets it back. A lock with {@code
 * minInterval}, {@code lockDelay}, {@code statusIfLost} or {@code backoff} is left to its ttl, because its record shall
 * show a loss. See {@link ConnectOptions.Builder#releaseOnExit}.
 *
 * <p>A call fails with {@link Reason#NO_SERVER} if no server answers within {@code giveUpAfter}. Calls are safe to
 * repeat, unless their description says otherwise.
 */
public final class RowlockClient implements AutoCloseable {
  /** How often an heir checks whether it has anything left to do. */
  private static final long HEIR_LOOKS_EVERY = Times.ofMillis(1_000);

  /** Refusals for which a try returns empty: a later try may succeed without any change of the request. */
  private static final Set<Reason> NOT_NOW =
      Set.of(Reason.BUSY, Reason.PAUSED, Reason.NOT_BEFORE, Reason.RATE);

  private final ConnectOptions options;
  private final EventLoop loop = new EventLoop();
  private final Clock clock = new Clock();
  private final Callbacks callbacks = new Callbacks();
  private final Telemetry telemetry = new Telemetry(callbacks);
  private final Executor positions = callbacks.inTurn();
  private final Preparation preparation;
  private final Connections connections;
  private final Calls calls;
  private final LeaseKeeper keeper;
  private final Verbs verbs;
  private final Promises promises = new Promises(loop::isClosed);
  private final HeldLocks locks;
  private final WaitReports reports;

  /** On the loop only. */
  private final Set<Asking> asking = new HashSet<>();

  private final CompletableFuture<Void> closed = new CompletableFuture<>();
  private final Optional<Thread> exitHook;

  private RowlockClient(ConnectOptions options) {
    this.options = options;
    preparation = new Preparation(options, callbacks);
    connections =
        new Connections(
            loop,
            clock,
            callbacks,
            options,
            preparation,
            this::isNeeded,
            new ConnectionsListener(),
            telemetry);
    calls = new Calls(loop, clock, options.addresses, connections::need, connections::lastError);
    keeper =
        new LeaseKeeper(
            loop,
            clock,
            calls,
            connections::open,
            connections::need,
            connections::leave,
            telemetry::late);
    verbs = new Verbs(loop, calls, options.giveUpAfter, telemetry.signals::traceparent);
    locks = new HeldLocks(loop, clock, keeper, verbs, promises, callbacks, telemetry, this::inherit);
    reports =
        new WaitReports(loop, clock, verbs, locks, telemetry, positions, options.explainAfter);
    exitHook = options.isReleasedOnExit ? hooked() : Optional.empty();
  }

  /** Empty if the JVM is exiting already. */
  private Optional<Thread> hooked() {
    Thread hook = new Thread(this::leave, "rowlock-exit");
    try {
      Runtime.getRuntime().addShutdownHook(hook);
      return Optional.of(hook);
    } catch (IllegalStateException exiting) {
      return Optional.empty();
    }
  }

  private void leave() {
    loop.run(locks::leaveAll);
    close();
  }

  private void unhook(Thread hook) {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException exiting) {
      // It runs already, or will find this client closed.
    }
  }

  /**
   * Makes a client. It sends nothing: the client connects when something is asked for.
   *
   * @param addresses {@code host:port} of each server, in the order in which they are tried
   * @return a client, to be closed
   * @throws IllegalArgumentException for addresses that cannot work
   */
  public static RowlockClient connect(String... addresses) {
    return connect(ConnectOptions.to(addresses).build());
  }

  /**
   * The same with options.
   *
   * @param options made by {@link ConnectOptions#to(String...)}
   * @return a client, to be closed
   */
  public static RowlockClient connect(ConnectOptions options) {
    return new RowlockClient(options);
  }

  /**
   * Waits for the lock, for as long as it takes, and holds it until it is closed. {@link LockOptions.Builder#also(String)} asks for
   * several at once.
   *
   * @param name the lock
   * @return the lock, to be closed
   * @throws RowlockException if the lock is refused, or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public HeldLock lock(String name) throws InterruptedException {
    return lock(name, LockOptions.defaults());
  }

  /**
   * The same with options chosen in place: {@code rowlock.lock("etl/load", with -> with.permits(3))}.
   *
   * @param name the lock
   * @param choice chooses the options
   * @return the lock, to be closed
   * @throws RowlockException if the lock is refused (for example because the time to wait has passed), or no server
   * answers
   * @throws InterruptedException if the thread is interrupted
   */
  public HeldLock lock(String name, Consumer<LockOptions.Builder> choice) throws InterruptedException {
    return lock(name, LockOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param name the lock
   * @param options how to ask for it
   * @return the lock, to be closed
   * @throws RowlockException if the lock is refused (for example because the time to wait has passed), or no server
   * answers
   * @throws InterruptedException if the thread is interrupted
   */
  public HeldLock lock(String name, LockOptions options) throws InterruptedException {
    return demanded(name, acquire(name, options));
  }

  /**
   * The same without a waiting thread. Cancelling the future gives up the wait.
   *
   * @param name the lock
   * @param options how to ask for it
   * @return the lock, to be closed; fails with a {@link RowlockException}
   */
  public CompletableFuture<HeldLock> lockAsync(String name, LockOptions options) {
    return handedOut(begin(name, options), outcome -> demanded(name, outcome));
  }

  /**
   * Takes the lock if it is free and due now.
   *
   * @param name the lock
   * @return the lock, to be closed; empty if it is busy, paused, not due yet, or too early for its rate
   * @throws RowlockException if the lock is refused for another reason, or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Optional<HeldLock> tryLock(String name) throws InterruptedException {
    return tryLock(name, LockOptions.defaults());
  }

  /**
   * The same with options chosen in place: {@code rowlock.tryLock("report", with -> with.minInterval(ofHours(1)))}.
   *
   * @param name the lock
   * @param choice chooses the options; those for waiting are ignored
   * @return the lock, to be closed; empty if it is busy, paused, not due yet, or too early for its rate
   * @throws RowlockException if the lock is refused for another reason, or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Optional<HeldLock> tryLock(String name, Consumer<LockOptions.Builder> choice)
      throws InterruptedException {
    return tryLock(name, LockOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param name the lock
   * @param options how to ask for it; those for waiting are ignored
   * @return the lock, to be closed; empty if it is busy, paused, not due yet, or too early for its rate
   * @throws RowlockException if the lock is refused for another reason, or no server answers
   * @throws InterruptedException if the thread is interrupted
   */
  public Optional<HeldLock> tryLock(String name, LockOptions options) throws InterruptedException {
    return tried(name, acquire(name, options.withoutWait()));
  }

  /**
   * The same without a thread that waits for the answer.
   *
   * @param name the lock
   * @param options how to ask for it; those for waiting are ignored
   * @return the lock, to be closed; empty if it is busy, paused, not due yet, or too early for its rate
   */
  public CompletableFuture<Optional<HeldLock>> tryLockAsync(String name, LockOptions options) {
    return handedOut(begin(name, options.withoutWait()), outcome -> tried(name, outcome));
  }

  /**
   * Asks for the lock and returns it, or a refusal with the reason, for callers to whom a refusal is an answer and not
   * an error.
   *
   * @param name the lock
   * @param options how to ask for it
   * @return one of the two
   * @throws RowlockException if no server answers, or the request is wrong
   * @throws InterruptedException if the thread is interrupted
   */
  public Outcome acquire(String name, LockOptions options) throws InterruptedException {
    return (Outcome) awaited(begin(name, options), RowlockClient::giveUp);
  }

  /**
   * The same without a waiting thread. Cancelling the future gives up the wait.
   *
   * @param name the lock
   * @param options how to ask for it
   * @return one of the two; fails with a {@link RowlockException}
   */
  public CompletableFuture<Outcome> acquireAsync(String name, LockOptions options) {
    return handedOut(begin(name, options), outcome -> (Outcome) outcome);
  }

  /**
   * Waits for its turn in the queue until the lock's rate allows it, and takes one permit of the rate: see {@link
   * LimitChange#toRate(Rate)}. It holds nothing, so it needs no room beside the holders, and there is nothing to release.
   *
   * @param name the lock
   * @return what was spent
   * @throws RowlockException if the spend is refused, or no server answers
   * @throws InterruptedException if the thread is interrupted; what was granted meanwhile is spent
   */
  public Spent spend(String name) throws InterruptedException {
    return spend(name, SpendOptions.defaults());
  }

  /**
   * The same with options chosen in place: {@code rowlock.spend("api", with -> with.permits(3))}.
   *
   * @param name the lock
   * @param choice chooses the options
   * @return what was spent
   * @throws RowlockException if the spend is refused (for example because the time to wait has passed), or no server
   * answers
   * @throws InterruptedException if the thread is interrupted; what was granted meanwhile is spent
   */
  public Spent spend(String name, Consumer<SpendOptions.Builder> choice) throws InterruptedException {
    return spend(name, SpendOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param name the lock
   * @param options how to ask for it
   * @return what was spent
   * @throws RowlockException if the spend is refused (for example because the time to wait has passed), or no server
   * answers
   * @throws InterruptedException if the thread is interrupted; what was granted meanwhile is spent
   */
  public Spent spend(String name, SpendOptions options) throws InterruptedException {
    return spent(name, awaited(begin(name, options.asked), RowlockClient::giveUp));
  }

  /**
   * The same without a waiting thread. Cancelling the future gives up the wait; what was granted meanwhile is spent.
   *
   * @param name the lock
   * @param options how to ask for it
   * @return what was spent; fails with a {@link RowlockException}
   */
  public CompletableFuture<Spent> spendAsync(String name, SpendOptions options) {
    return handedOut(begin(name, options.asked), answer -> spent(name, answer));
  }

  /**
   * Takes one permit of the lock's rate if that is allowed now.
   *
   * @param name the lock
   * @return what was spent; empty if others wait before it, or if the lock is paused, not due yet, or too early for its rate
   * @throws RowlockException if the spend is refused for another reason, or no server answers
   * @throws InterruptedException if the thread is interrupted; what was granted meanwhile is spent
   */
  public Optional<Spent> trySpend(String name) throws InterruptedException {
    return trySpend(name, SpendOptions.defaults());
  }

  /**
   * The same with options chosen in place: {@code rowlock.trySpend("api", with -> with.permits(3))}.
   *
   * @param name the lock
   * @param choice chooses the options; those for waiting are ignored
   * @return what was spent; empty if others wait before it, or if the lock is paused, not due yet, or too early for its rate
   * @throws RowlockException if the spend is refused for another reason, or no server answers
   * @throws InterruptedException if the thread is interrupted; what was granted meanwhile is spent
   */
  public Optional<Spent> trySpend(String name, Consumer<SpendOptions.Builder> choice)
      throws InterruptedException {
    return trySpend(name, SpendOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param name the lock
   * @param options how to ask for it; those for waiting are ignored
   * @return what was spent; empty if others wait before it, or if the lock is paused, not due yet, or too early for its rate
   * @throws RowlockException if the spend is refused for another reason, or no server answers
   * @throws InterruptedException if the thread is interrupted; what was granted meanwhile is spent
   */
  public Optional<Spent> trySpend(String name, SpendOptions options) throws InterruptedException {
    Answer answer = awaited(begin(name, options.asked.withoutWait()), RowlockClient::giveUp);
    return isNotNow(answer) ? Optional.empty() : Optional.of(spent(name, answer));
  }

  /**
   * Does something while holding the lock: {@code rowlock.withLock("etl/load", lock -> load(lock.token()))}. See {@link
   * #callWithLock(String, LockOptions, LockedCall)}.
   *
   * @param <E> what the work throws
   * @param name the lock
   * @param work what to do
   * @throws E what the work throws
   * @throws InterruptedException if the thread is interrupted for another reason than the loss of the lock
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
   * @param options how to ask for it
   * @param work what to do
   * @throws E what the work throws
   * @throws InterruptedException if the thread is interrupted for another reason than the loss of the lock
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
   * @param work what to do
   * @return its result
   * @throws E what the work throws
   * @throws InterruptedException if the thread is interrupted for another reason than the loss of the lock
   */
  public <T, E extends Exception> T callWithLock(String name, LockedCall<T, E> work)
      throws E, InterruptedException {
    return callWithLock(name, LockOptions.defaults(), work);
  }

  /**
   * Does something on this thread while holding the lock, and then releases the lock. If the lock is lost before the
   * work has ended, the client interrupts this thread. Blocking calls of the work (sleeps, queues, channels) then end
   * with an {@link InterruptedException} or similar; work that only computes should call {@link HeldLock#requireHeld()} now
   * and then. The interrupt is cleared when the work ends.
   *
   * @param <T> the result
   * @param <E> what the work throws
   * @param name the lock
   * @param options how to ask for it
   * @param work what to do
   * @return its result
   * @throws E what the work throws; if the lock was lost, too, the loss is a suppressed exception of it
   * @throws RowlockException with {@link Reason#LEASE_LOST} if the lock was lost before the work returned or ended with
   * an InterruptedException, because others may have run at the same time; even if the work did not notice
   * @throws InterruptedException if the thread is interrupted for another reason than the loss of the lock
   */
  public <T, E extends Exception> T callWithLock(
      String name, LockOptions options, LockedCall<T, E> work) throws E, InterruptedException {
    try (HeldLock lock = lock(name, options)) {
      return UnderLock.call(lock, work);
    }
  }

  /**
   * Takes leases on some of many locks. Candidates are free and due, have attempts left and a wanted status; those that
   * are due for the longest time come first. Two callers never get the same lock. The client renews each lock until it
   * is released or lost. An empty result is no error.
   *
   * <pre>{@code
   * try (Captured captured = rowlock.capture(with -> with.prefix("task/").count(3).ifStatus("new"))) {
   *   for (HeldLock task : captured.locks()) {
   *     work(task.name(), task.token());
   *     task.release(with -> with.status("done"));
   *   }
   * }
   * }</pre>
   *
   * @param choice chooses a prefix or names, and the other options
   * @return what there was to take, to be closed
   * @throws RowlockException if no server answers, or the request is wrong
   * @throws InterruptedException if the thread is interrupted
   */
  public Captured capture(Consumer<CaptureOptions.Builder> choice) throws InterruptedException {
    return capture(CaptureOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param options which locks, and how
   * @return what there was to take, to be closed
   * @throws RowlockException if no server answers, or the request is wrong
   * @throws InterruptedException if the thread is interrupted
   */
  public Captured capture(CaptureOptions options) throws InterruptedException {
    return awaited(begin(options), Captured::giveUp);
  }

  /**
   * The same without a waiting thread. Cancelling the future gives up the wait.
   *
   * @param options which locks, and how
   * @return what there was to take, to be closed; fails with a {@link RowlockException}
   */
  public CompletableFuture<Captured> captureAsync(CaptureOptions options) {
    return Futures.handedOut(begin(options), callbacks, captured -> captured, Captured::giveUp);
  }

  /**
   * Captures locks, runs a handler for each on a thread of its own, and releases each lock when its handler has ended,
   * until the worker is stopped. It waits for locks that become due. A handler that throws is logged, and its lock is
   * released as {@linkplain ReleaseOptions.Builder#failed() failed}, with the status {@code statusIfLost}. If a lock is lost, the thread of its handler is interrupted.
   *
   * <pre>{@code
   * try (Worker worker =
   *     rowlock.work(
   *         "task/",
   *         with -> with.concurrency(4).ifStatus("new").statusWhenDone("done").statusIfLost("failed"),
   *         task -> work(task.name(), task.token()))) {
   *   worker.await();
   * }
   * }</pre>
   *
   * @param prefix of the names of the locks
   * @param choice chooses the options
   * @param handler what to do with each lock
   * @return the loop, which runs already; to be closed
   */
  public Worker work(
      String prefix, Consumer<WorkOptions.Builder> choice, LockedAction<?> handler) {
    return work(prefix, WorkOptions.of(choice), handler);
  }

  /**
   * The same with options.
   *
   * @param prefix of the names of the locks
   * @param options which locks to take, and how many
   * @param handler what to do with each lock
   * @return the loop, which runs already; to be closed
   */
  public Worker work(String prefix, WorkOptions options, LockedAction<?> handler) {
    return new Worker(this, prefix, options, handler);
  }

  /**
   * Watches locks: first a snapshot, then each change. The watch goes on over other connections, each time with a new
   * snapshot.
   *
   * <pre>{@code
   * try (Watch watch = rowlock.watch("etl/")) {
   *   for (;;)
   *     for (LockView lock : watch.next().locks())
   *       System.out.println(lock.name() + ": " + lock.holderCount() + " hold it");
   * }
   * }</pre>
   *
   * @param prefix of the names of the locks; empty: all
   * @return a watch, to be closed
   */
  public Watch watch(String prefix) {
    Objects.requireNonNull(prefix, "the prefix of a watch is null");
    CompletableFuture<Void> ended = open(CompletableFuture::new);
    Watch watch = new Watch(loop, calls, prefix, options.giveUpAfter, ended);
    Asking one = watch.asking();
    loop.run(
        () -> {
          if (isClosing) ended.completeExceptionally(RowlockException.closed());
          if (ended.isDone()) return;
          asking.add(one);
          one.begin();
        });
    ended.whenComplete((done, failure) -> loop.run(() -> asking.remove(one)));
    return watch;
  }

  /**
   * Ends a lease or gives up a place, by its id.
   *
   * @param leaseId the id of the lease or of the ticket
   * @return whether this call ended it; false if it had already ended
   */
  public boolean release(String leaseId) {
    return release(leaseId, ReleaseOptions.defaults());
  }

  /**
   * The same with changes to the lock's record, chosen in place: {@code rowlock.release(id, with ->
   * with.status("done"))}.
   *
   * @param leaseId the id of the lease
   * @param choice chooses the changes
   * @return whether this call ended it; false if it had already ended
   */
  public boolean release(String leaseId, Consumer<ReleaseOptions.Builder> choice) {
    return release(leaseId, ReleaseOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param leaseId the id of the lease
   * @param options changes to the lock's record
   * @return whether this call ended it; false if it had already ended
   */
  public boolean release(String leaseId, ReleaseOptions options) {
    HeldLock own = locks.find(leaseId);
    if (own != null) return own.release(options);
    return Futures.answer(open(() -> verbs.release(leaseId, options, Times.FOREVER))).byThisCall();
  }

  /**
   * Renews a lease once, by its id, to the ttl that was requested last.
   *
   * @param leaseId the id of the lease
   * @return the lease
   */
  public RenewedLease renew(String leaseId) {
    return renew(RenewRequest.newBuilder().setLeaseId(leaseId).build());
  }

  /**
   * The same with another time to live.
   *
   * @param leaseId the id of the lease
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
   * Sets a limit: {@code rowlock.setLimit(LimitChange.ofPattern("etl/*").to(3).reason("night shift"))}; or a rate beside
   * it: {@code rowlock.setLimit(LimitChange.ofName("api").toRate(Rate.of(100, ofMinutes(1))))}; or both of a pool: see {@link
   * LimitChange#ofPool(String)}. If the answer is lost, the client does not repeat it, and it fails with {@link
   * Reason#CONNECTION_LOST}. After that, and after {@link Reason#OUTCOME_UNKNOWN}, read the limit back first: a repeat could undo a change of somebody else.
   *
   * @param change which settings, and to what
   * @return what is in force now
   */
  public LimitInForce setLimit(LimitChange change) {
    return Futures.answer(open(() -> verbs.setLimit(change.request())));
  }

  /**
   * Changes a lock's record, and creates the lock if nobody has named it yet: {@code
   * rowlock.updateRecord(RecordChanges.of("task/7").status("new").attemptsLeft(3))}. Waiters for whom this makes room
   * are granted the lock at once; a held lease is left alone. If the answer is lost, the client does not repeat it, and
   * it fails with {@link Reason#CONNECTION_LOST}. After that, and after {@link Reason#OUTCOME_UNKNOWN}, read the record
   * back first: a repeat could undo a change of somebody else.
   *
   * @param change which lock, and what to set
   * @return the new record
   */
  public RecordView updateRecord(RecordChanges change) {
    return Futures.answer(open(() -> verbs.updateRecord(change.request())));
  }

  /**
   * Removes a lock's record; its limit stays, and its tokens go on rising. Fails with {@link Reason#LOCK_IN_USE} while
   * the lock is held or waited for. If the answer is lost, the client does not repeat it, and it fails with {@link
   * Reason#CONNECTION_LOST}: read the lock back first.
   *
   * @param name the lock
   * @return whether there was a record
   */
  public boolean deleteRecord(String name) {
    return deleteRecord(RecordDeletion.of(name));
  }

  /**
   * The same with a version or a reason: {@code
   * rowlock.deleteRecord(RecordDeletion.of("task/7").ifVersion(3).reason("imported twice"))}.
   *
   * @param deletion which record
   * @return whether there was a record
   */
  public boolean deleteRecord(RecordDeletion deletion) {
    return Futures.answer(open(() -> verbs.deleteRecord(deletion.request())));
  }

  /**
   * Returns the state of one lock, without creating it.
   *
   * @param name the lock, even one that nobody has used
   * @return a view
   */
  public LockView getLock(String name) {
    return Futures.answer(open(() -> verbs.getLock(name)));
  }

  /**
   * Lists locks with their state. The stream fetches pages as they are needed, and throws a {@link RowlockException} if
   * that fails. Pages are not a snapshot of one moment.
   *
   * @param listed which locks, and how
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
   * Lists the limits, rates and queue rules that were set, for patterns, pools and names that begin with this prefix, in this order. The stream
   * fetches pages as they are needed, and throws a {@link RowlockException} if that fails.
   *
   * @param prefix at most 255 bytes; empty: all
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
   * Lists claims: live ones in the order of their locks' names, then ended ones, newest first, as far back as the
   * server's history goes. The stream fetches pages as they are needed, and throws a {@link RowlockException} if that
   * fails. Pages are not a snapshot of one moment.
   *
   * @param filter which claims
   * @return views
   */
  public Stream<ClaimView> listClaims(ClaimFilter filter) {
    return Pages.stream(
        token -> {
          var page = Futures.answer(open(() -> verbs.listClaims(filter.request(token))));
          filter.report(page);
          return new Pages.Page<>(
              page.getClaimsList().stream().map(ClaimView::of).toList(), page.getNextPageToken());
        });
  }

  /**
   * Lists changes of limits, rates, queue rules, records and policies, and forced releases, newest first. The stream fetches pages as they
   * are needed, and throws a {@link RowlockException} if that fails.
   *
   * @param filter which changes
   * @return views
   */
  public Stream<ChangeView> listChanges(ChangeFilter filter) {
    return Pages.stream(
        token -> {
          var page = Futures.answer(open(() -> verbs.listChanges(filter.request(token))));
          filter.report(page);
          return new Pages.Page<>(
              page.getChangesList().stream().map(ChangeView::of).toList(), page.getNextPageToken());
        });
  }

  /**
   * Says why a request for one permit of this lock would not be granted now.
   *
   * @param name the lock
   * @return an explanation
   */
  public WaitExplanation explainWait(String name) {
    return explainWait(ExplainWaitRequest.newBuilder().setName(name).build());
  }

  /**
   * Says why a waiter waits. Fails with {@link Reason#UNKNOWN_CLAIM} if it does not wait.
   *
   * @param name the lock
   * @param ticketNumber the waiter's number at this lock: see {@link ClaimView}
   * @return an explanation
   */
  public WaitExplanation explainWait(String name, long ticketNumber) {
    ClaimReference claim =
        ClaimReference.newBuilder().setLockName(name).setTicketNumber(ticketNumber).build();
    return explainWait(ExplainWaitRequest.newBuilder().setClaim(claim).build());
  }

  /**
   * Says why a waiter waits. Fails with {@link Reason#UNKNOWN_CLAIM} if it does not wait.
   *
   * @param ticketId the waiter's secret id
   * @return an explanation
   */
  public WaitExplanation explainWaitOfTicket(String ticketId) {
    return explainWait(ExplainWaitRequest.newBuilder().setTicketId(ticketId).build());
  }

  private WaitExplanation explainWait(ExplainWaitRequest request) {
    return Futures.answer(open(() -> verbs.explainWait(request)));
  }

  /**
   * Ends all holders of a lock, up to 500 in one call: an operator's tool. If the answer is lost, the client does not
   * repeat it, and it fails with {@link Reason#CONNECTION_LOST}: a repeat would end the holders that were granted the
   * lock since. Read the lock back before you call it again.
   *
   * @param name the lock
   * @param reason why; required, 1 to 255 bytes
   * @return what was ended
   */
  public ForceReleased forceRelease(String name, String reason) {
    return forceRelease(ForceReleaseRequest.newBuilder().setName(name).setReason(reason).build());
  }

  /**
   * Ends one holder or waiter.
   *
   * @param name the lock
   * @param ticketNumber its number at this lock: see {@link ClaimView}
   * @param reason why; required, 1 to 255 bytes
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
   * Gives up all waits, releases all locks, and closes the connection, within {@code closeWithin}, by default
   * about 3 s. It can be called twice. If no server answers in that time, leases end with their ttl. Leases without end are given back as soon as a server
   * answers, for as long as the program lives.
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
    EventLoop.Timer late = loop.after(options.closeWithin / 3 * 2, this::finish);
    // Runs after releases that other threads have just begun. A first request may be on its way, and the server may
    // grant what it asks for, before the client has heard anything.
    loop.run(
        () ->
            calls.whenIdle(
                () -> {
                  late.cancel();
                  finish();
                }));
  }

  /** On the loop only. Nothing new is asked for once this is true. */
  private boolean isClosing;

  private boolean isFinishing;

  private void finish() {
    if (isFinishing) return;
    isFinishing = true;
    keeper.stop();
    locks.leftBehind.end();
    calls.failAll(RowlockException.closed());
    connections.close(options.closeWithin / 3, this::finished);
  }

  private void finished() {
    if (heir != null) heir.closeWhenDone();
    loop.close();
    promises.failAll();
    callbacks.close();
    exitHook.ifPresent(this::unhook);
    closed.complete(null);
  }

  /** On the loop only. Gives back leases without end whose release reached no server while this client was closed. */
  private RowlockClient heir;

  private void inherit(Consumer<LeftBehind> give) {
    if (heir == null) heir = new RowlockClient(options.ofHeir());
    RowlockClient its = heir;
    its.loop.run(() -> give.accept(its.locks.leftBehind));
  }

  /** Closes an heir when it has nothing left to do. */
  private void closeWhenDone() {
    loop.after(
        HEIR_LOOKS_EVERY,
        () -> {
          boolean isDone = calls.size() == 0 && locks.leftBehind.size() == 0;
          if (isDone) callbacks.run(this::close);
          else closeWhenDone();
        });
  }

  private boolean isNeeded() {
    return calls.size() > 0 || keeper.size() > 0;
  }

  private <T> CompletableFuture<T> open(Supplier<CompletableFuture<T>> asked) {
    return promises.open(asked);
  }

  private CompletableFuture<Answer> begin(String name, LockOptions asked) {
    Objects.requireNonNull(name, "the name of a lock is null");
    HeldLock again = asked.isReentrant ? locks.again(name, asked) : null;
    if (again != null) return CompletableFuture.completedFuture(new Outcome.Granted(again));
    Telemetry.Request request = telemetry.signals.lock(name, asked);
    return begin(
        request,
        outcome ->
            new Acquisition(
                loop,
                clock,
                calls,
                positions,
                locks,
                reports,
                name,
                asked,
                options.giveUpAfter,
                outcome,
                request));
  }

  private CompletableFuture<Captured> begin(CaptureOptions asked) {
    Telemetry.Request request = telemetry.signals.capture();
    return begin(
        request,
        outcome -> new Capture(clock, calls, locks, asked, options.giveUpAfter, outcome, request));
  }

  private <T> CompletableFuture<T> begin(
      Telemetry.Request request, Function<CompletableFuture<T>, Asking> made) {
    CompletableFuture<T> outcome = open(CompletableFuture::new);
    outcome.whenComplete(request::ended);
    if (outcome.isDone()) return outcome;
    Asking one = made.apply(outcome);
    loop.run(
        () -> {
          // Closing has already given up all requests that it knew of.
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

  /** If the thread is interrupted, gives up; a value that comes nevertheless is given to {@code unwanted}. */
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
      CompletableFuture<Answer> outcome, Function<Answer, T> read) {
    return Futures.handedOut(outcome, callbacks, read, RowlockClient::giveUp);
  }

  private static HeldLock demanded(String name, Answer outcome) {
    if (outcome instanceof Outcome.Granted granted) return granted.lock();
    throw RowlockException.refused(name, ((Outcome.Refused) outcome).refusal());
  }

  private static Optional<HeldLock> tried(String name, Answer outcome) {
    return isNotNow(outcome) ? Optional.empty() : Optional.of(demanded(name, outcome));
  }

  private static Spent spent(String name, Answer answer) {
    if (answer instanceof Spent spent) return spent;
    throw RowlockException.refused(name, ((Outcome.Refused) answer).refusal());
  }

  private static boolean isNotNow(Answer outcome) {
    return outcome instanceof Outcome.Refused refused && NOT_NOW.contains(refused.refusal().reason());
  }

  private static void giveUp(Answer outcome) {
    if (outcome instanceof Outcome.Granted granted) granted.lock().giveUp();
  }

  private final class ConnectionsListener implements Connections.Listener {
    @Override
    public void onBegun(Connection connection) {
      keeper.begun(connection);
      calls.begun(connection);
    }

    @Override
    public void onResponded(Connection connection, SessionResponse response, long basis) {
      if (response.getConfirmedCount() > 0) keeper.confirmed(response.getConfirmedList(), basis);
      calls.results(response.getResultsList(), basis);
      keeper.lost(response.getLostList());
      if (response.hasOpened()) calls.opened();
      if (hasProvisional(response)) connection.acknowledge();
    }

    @Override
    public void onLeaving(Connection connection) {
      // A server that stops also refuses each new try with this.
      if (connection.opened() != null) telemetry.goingAway(connection.address());
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
      telemetry.hopeless(error);
      calls.failAsked(error, error.isOfCredentials() && preparation.mayChange());
    }

    /** Whether the response has a lease that the server waits to have acknowledged. */
    private boolean hasProvisional(SessionResponse response) {
      return response.getResultsList().stream()
          .anyMatch(
              result ->
                  result.getWaitInQueue().getGranted().getProvisional()
                      || result.getCapture().getLeasesList().stream().anyMatch(Lease::getProvisional));
    }
  }
}
