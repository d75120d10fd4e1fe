package io.rowlock;

import io.grpc.Status;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import rowlock.v1.RenewRequest;

/**
 * A lock that is held. The client renews it until it is closed or lost. For any thread.
 *
 * <p>Every method that reports whether the lock is held checks the clock first, so that a process which was stopped or
 * slept finds out before it does anything else.
 */
public final class HeldLock implements AutoCloseable {
  /** What a lock needs of its client. */
  interface Verbs {
    /** Ends the lease. */
    CompletableFuture<Released> release(HeldLock lock, ReleaseOptions options);

    /** Gives the lock up as lost. On the loop. */
    void leave(HeldLock lock);

    /** Ends the lease of a lock whose caller never got it. */
    void giveUp(HeldLock lock);

    /** Renews the lease once more, and then not any more. */
    CompletableFuture<HandedOver> handOver(HeldLock lock, RenewRequest request);
  }

  private final HeldLease lease;
  private final Verbs verbs;
  private final Callbacks callbacks;
  private final Telemetry.Hold hold;
  private final Executor listeners;
  private final Thread asker;

  /** The lock of the first grant; the others are the same lease once more, for the thread that holds it. */
  private final HeldLock first;

  /** Of the first: how many of them are not released. */
  private int entries = 1;

  /** Counts the calls that were granted the lock under one request id and have not given it up. */
  private int grants = 1;

  private CompletableFuture<Released> released;

  /** For how long the lock rests if the server refuses what its release says; null: it does not. */
  private volatile Duration restIfRefused;

  /** Whether the holder knows of the loss. */
  private volatile boolean isLossReported;

  /** The release was started by {@link #startClosing}, so its result is still to be looked at. */
  private volatile boolean isClosing;

  HeldLock(
      HeldLease lease, Verbs verbs, Callbacks callbacks, Telemetry.Hold hold, Thread asker) {
    this(lease, verbs, callbacks, hold, asker, null);
  }

  private HeldLock(
      HeldLease lease,
      Verbs verbs,
      Callbacks callbacks,
      Telemetry.Hold hold,
      Thread asker,
      HeldLock first) {
    this.lease = lease;
    this.verbs = verbs;
    this.callbacks = callbacks;
    this.hold = hold;
    this.asker = asker;
    this.first = first == null ? this : first;
    listeners = callbacks.inTurn();
  }

  /**
   * Returns the name of the lock.
   *
   * @return the name
   */
  public String name() {
    return lease.lockName;
  }

  /**
   * Returns the fencing token, which rises strictly with each grant of the lock. Send it with every write to what the
   * lock protects. If one holder writes at a time, refuse tokens there that are lower than the highest one seen. Several
   * holders need one fence for each thing written, or a check of the lease: "Fence what you write" in docs/clients.md.
   *
   * @return the token
   */
  public long token() {
    return lease.token;
  }

  /**
   * Returns the fencing token of one lock of a claim for several: see {@link LockOptions.Builder#also(String)}. {@link #token()}
   * is that of the first one.
   *
   * @param name the lock
   * @return its token
   * @throws IllegalArgumentException if the claim does not have this lock
   */
  public long tokenOf(String name) {
    return lease.locks.tokenOf(name);
  }

  /**
   * Returns the fencing token of each lock of the claim, by its name, in the order of the request.
   *
   * @return one for a claim for one lock
   */
  public Map<String, Long> tokens() {
    return lease.locks.tokens();
  }

  /**
   * Returns the lease id. It is secret: anyone who knows it can renew and release the lease.
   *
   * @return the id
   */
  public String leaseId() {
    return lease.id;
  }

  /**
   * Returns how the lock is held.
   *
   * @return the mode
   */
  public Mode mode() {
    return lease.mode;
  }

  /**
   * Returns how many permits are held.
   *
   * @return 1 for readers and writers
   */
  public int permits() {
    return lease.permits;
  }

  /**
   * Returns how far the lock can be relied on. Checks the clock.
   *
   * @return the state
   */
  public LockState state() {
    return lease.state();
  }

  /**
   * Returns whether the lock can be relied on at this moment. Checks the clock.
   *
   * @return false if it is lost or released
   */
  public boolean isHeld() {
    return lease.why().isEmpty();
  }

  /**
   * Checks that the lock is held, before a step that cannot be undone.
   *
   * @throws RowlockException with {@link Reason#LEASE_LOST} if the lock is lost, or {@link Reason#RELEASED} if it was
   * released
   */
  public void requireHeld() {
    Optional<RowlockException> over = lease.why();
    if (over.isEmpty()) return;
    isLossReported = true;
    throw over.get().again();
  }

  /**
   * Returns how long the lock can be relied on if no further answer comes. Checks the clock.
   *
   * @return zero if it is lost or released; empty: without end
   */
  public Optional<Duration> remaining() {
    return lease.left();
  }

  /**
   * Sets a listener that is called once when the lock is lost, {@code margin} before others can have it, but not when
   * it is released. It is called on a thread of the client; at once if the lock is lost already.
   *
   * @param listener stops what the lock protects
   */
  public void onLost(Runnable listener) {
    onState(
        state -> {
          if (state == LockState.LOST) listener.run();
        });
  }

  /**
   * Sets a listener that is called with each new state, one after the other, on a thread of the client; at once if the
   * lock is lost already.
   *
   * @param listener such as a log
   */
  public void onState(Consumer<LockState> listener) {
    lease.listen(state -> listeners.execute(() -> listener.accept(state)));
  }

  /**
   * Gives the lock back; the next waiter is granted it at once. It can be called again, and then returns the result of
   * the first call.
   *
   * @return whether the lock was held until then
   * @throws RowlockException if no server answers (the lease then ends with its ttl, and one without end is released as
   * soon as a server answers), or with {@link Reason#CANCELLED} if the thread is interrupted; the release goes on
   * nevertheless
   */
  public boolean release() {
    return release(ReleaseOptions.defaults());
  }

  /**
   * The same with changes to the lock's record, chosen in place: {@code lock.release(with -> with.status("done"))}.
   * Only the changes of the first call count.
   *
   * @param choice chooses the changes
   * @return whether the lock was held until then
   * @throws RowlockException if no server answers (the lease then ends with its ttl, and one without end is released as
   * soon as a server answers), or with {@link Reason#CANCELLED} if the thread is interrupted; the release goes on
   * nevertheless
   */
  public boolean release(Consumer<ReleaseOptions.Builder> choice) {
    return release(ReleaseOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param options changes to the lock's record; only those of the first call count
   * @return whether the lock was held until then
   * @throws RowlockException if no server answers (the lease then ends with its ttl, and one without end is released as
   * soon as a server answers), or with {@link Reason#CANCELLED} if the thread is interrupted; the release goes on
   * nevertheless
   */
  public boolean release(ReleaseOptions options) {
    return Futures.answer(releasing(options)).byThisCall();
  }

  /**
   * The same without waiting for the answer.
   *
   * @return whether the lock was held until then
   */
  public CompletableFuture<Boolean> releaseAsync() {
    return releaseAsync(ReleaseOptions.defaults());
  }

  /**
   * The same with options.
   *
   * @param options changes to the lock's record; only those of the first call count
   * @return whether the lock was held until then
   */
  public CompletableFuture<Boolean> releaseAsync(ReleaseOptions options) {
    return Futures.handedOut(
        releasing(options).copy(), callbacks, Released::byThisCall, released -> {});
  }

  private synchronized CompletableFuture<Released> releasing(ReleaseOptions options) {
    if (released == null)
      released =
          first.isLastEntry()
              ? verbs.release(first, options)
              : CompletableFuture.completedFuture(new Released(isHeld(), false));
    return released;
  }

  private synchronized boolean isLastEntry() {
    entries--;
    return entries == 0;
  }

  /** Whether this thread has asked for the lock. */
  boolean isOf(Thread thread) {
    return asker == thread;
  }

  /** The same lease once more; null if it is not held any more. */
  synchronized HeldLock again() {
    if (entries <= 0 || !isHeld()) return null;
    entries++;
    return new HeldLock(lease, verbs, callbacks, hold, asker, this);
  }

  /** Releases the lock, however often its thread has it. */
  synchronized void releaseForGood() {
    if (entries <= 0) return;
    entries = 0;
    released = verbs.release(this, ReleaseOptions.defaults());
  }

  /** Grants the lock to another call, too. Returns false if it is not held any more. */
  synchronized boolean share() {
    if (released != null || !isHeld()) return false;
    grants++;
    return true;
  }

  /** Gives the lock up as lost, while its holder may still work. On the loop. */
  synchronized void leave() {
    if (entries <= 0) return;
    entries = 0;
    released = CompletableFuture.completedFuture(Released.NOTHING);
    verbs.leave(this);
  }

  /** Called for one of the calls that were granted the lock, if its caller does not want it. */
  synchronized void giveUp() {
    grants--;
    if (grants > 0 || released != null) return;
    released = CompletableFuture.completedFuture(Released.NOTHING);
    verbs.giveUp(this);
  }

  /**
   * Renews the lease once more, and then leaves it to anyone who has its id. After that, this lock counts as released.
   * If the call fails, this client still holds and renews the lock.
   *
   * @return what the next holder needs
   */
  public HandedOver handOver() {
    return handOver(RenewRequest.newBuilder().setLeaseId(lease.id).build());
  }

  /**
   * The same with another time to live.
   *
   * @param ttl from now on, 1 s to 24 days
   * @return what the next holder needs
   */
  public HandedOver handOver(Duration ttl) {
    return handOver(
        RenewRequest.newBuilder().setLeaseId(lease.id).setTtl(Times.protoOf(ttl)).build());
  }

  private HandedOver handOver(RenewRequest request) {
    HandedOver handedOver = Futures.answer(verbs.handOver(this, request));
    synchronized (this) {
      if (released == null) released = CompletableFuture.completedFuture(Released.NOTHING);
    }
    return handedOver;
  }

  /** Starts the release for which {@link #close} then waits, so that several locks are closed at once. */
  synchronized void startClosing() {
    if (released != null) return;
    isClosing = true;
    releasing(ReleaseOptions.defaults());
  }

  /**
   * Releases the lock, and waits for that until the lease ends, but at most for {@code giveUpAfter}. If no server
   * answers while the lease lasts, that is no error here: the lease ends with its ttl, and one without end is released
   * as soon as a server answers. If the thread is interrupted, this method does not wait, but the release goes on.
   *
   * @throws RowlockException with {@link Reason#LEASE_LOST} if the lock was lost before it was released, because others
   * may have held it; once, and not if {@link #requireHeld} has thrown that already
   */
  @Override
  public void close() {
    Optional<RowlockException> loss = loss();
    boolean wasReleased = isReleased() && !isClosing;
    try {
      Released answer = Futures.await(releasing(ReleaseOptions.defaults()));
      // If the holder released the lock itself, it got the result itself.
      if (loss.isEmpty() && !wasReleased && answer.hadEnded())
        loss = Optional.of(RowlockException.hadEnded(name()));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } catch (RowlockException error) {
      boolean endsByItself =
          error.code() == Status.Code.UNAVAILABLE || error.reason() == Reason.CLOSED;
      if (!endsByItself && !wasReleased) throw error;
      if (!wasReleased && lease.isPastDeadline()) loss = Optional.of(RowlockException.hadEnded(name()));
    }
    if (loss.isEmpty() || isLossReported) return;
    isLossReported = true;
    throw loss.get().again();
  }

  private synchronized boolean isReleased() {
    return released != null;
  }

  /** How the lock was lost; empty if it is held, or was released or handed over. */
  private Optional<RowlockException> loss() {
    return lease.why().filter(over -> over.reason() != Reason.RELEASED);
  }

  /** The same, for the end of a scope that reports it. */
  Optional<RowlockException> reportedLoss() {
    Optional<RowlockException> loss = loss();
    if (loss.isPresent()) isLossReported = true;
    return loss;
  }

  void restIfRefused(Duration rest) {
    restIfRefused = rest;
  }

  /** What is kept of a release that the server has refused, after it has named what it refuses. */
  ReleaseOptions accepted(ReleaseOptions rest) {
    return restIfRefused == null ? rest : rest.withCoolDown(restIfRefused);
  }

  HeldLease lease() {
    return lease;
  }

  Telemetry.Hold hold() {
    return hold;
  }
}
