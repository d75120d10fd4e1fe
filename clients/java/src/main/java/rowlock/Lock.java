package rowlock;

import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import rowlock.v1.RenewRequest;

/**
 * A lock that is held, and renewed until it is closed. For any thread.
 *
 * <p>Everything that tells whether it is held looks at the clock first, so that a process which was stopped or slept finds out
 * before it does anything else.
 */
public final class Lock implements AutoCloseable {
  /** What a lock needs of its client. */
  interface Verbs {
    /** Ends the lease; whether it was this call that ended it. */
    CompletableFuture<Boolean> release(Lock lock, ReleaseOptions options);

    /** Ends the lease of which nobody was told. */
    void giveUp(Lock lock);

    /** Renews it once more, and then no more. */
    CompletableFuture<HandedOver> handOver(Lock lock, RenewRequest request);
  }

  private final HeldLease lease;
  private final Verbs verbs;
  private final Told told;
  private final Executor listeners;

  /** Calls that were granted it, under one request id, and have not given it up. */
  private int grants = 1;

  private CompletableFuture<Boolean> released;

  Lock(HeldLease lease, Verbs verbs, Told told) {
    this.lease = lease;
    this.verbs = verbs;
    this.told = told;
    listeners = told.inTurn();
  }

  /**
   * What is locked.
   *
   * @return the name that it was asked for by
   */
  public String name() {
    return lease.lockName;
  }

  /**
   * The fencing token: strictly rising for each lock. Send it with every write to what the lock protects.
   *
   * @return the token
   */
  public long token() {
    return lease.token;
  }

  /**
   * Secret: whoever knows it can renew and release the lease.
   *
   * @return the id
   */
  public String leaseId() {
    return lease.id;
  }

  /**
   * How it is held.
   *
   * @return the mode
   */
  public Mode mode() {
    return lease.mode;
  }

  /**
   * How many permits are held.
   *
   * @return 1 for readers and writers
   */
  public int permits() {
    return lease.permits;
  }

  /**
   * How it stands.
   *
   * @return {@link LockState#LOST}, too, when it was released
   */
  public LockState state() {
    return lease.state();
  }

  /**
   * Whether it can be counted on at this moment.
   *
   * @return false when it is lost or released
   */
  public boolean isHeld() {
    return lease.state() != LockState.LOST;
  }

  /**
   * For the moment before something that cannot be undone.
   *
   * @throws RowlockException with {@link Reason#LEASE_LOST} where the lock is lost, or {@link Reason#RELEASED} where it was
   *     released
   */
  public void requireHeld() {
    Optional<RowlockException> over = lease.why();
    if (over.isPresent()) throw over.get().again();
  }

  /**
   * For how long it can be counted on if nothing is heard of a server any more.
   *
   * @return empty: without end
   */
  public Optional<Duration> remaining() {
    return lease.left();
  }

  /**
   * Called once when the lock is lost, {@code margin} before others can have it; not when it is released. It runs on a thread of the client's; at once if the lock is lost already.
   *
   * @param listener to stop what the lock protects
   */
  public void onLost(Runnable listener) {
    onState(
        state -> {
          if (state == LockState.LOST) listener.run();
        });
  }

  /**
   * Called with each state that comes from now on, one after the other, on a thread of the client's.
   *
   * @param listener such as a log
   */
  public void onState(Consumer<LockState> listener) {
    lease.listen(state -> listeners.execute(() -> listener.accept(state)));
  }

  /**
   * Gives it back: the next in the queue has it at once. Can be called twice.
   *
   * @return whether it was held until then
   * @throws RowlockException if no server answers (the lease then ends by itself), or with {@link Reason#CANCELLED} if the thread
   *     is interrupted, while it is released all the same
   */
  public boolean release() {
    return release(ReleaseOptions.defaults());
  }

  /**
   * The same with what the lock shall remember, chosen in place: {@code lock.release(with -> with.status("done"))}. It counts the
   * first time only.
   *
   * @param choice chooses it
   * @return whether it was held until then
   * @throws RowlockException if no server answers (the lease then ends by itself), or with {@link Reason#CANCELLED} if the thread
   *     is interrupted, while it is released all the same
   */
  public boolean release(Consumer<ReleaseOptions.Builder> choice) {
    return release(ReleaseOptions.of(choice));
  }

  /**
   * The same with options.
   *
   * @param options what the lock shall remember; they count the first time only
   * @return whether it was held until then
   * @throws RowlockException if no server answers (the lease then ends by itself), or with {@link Reason#CANCELLED} if the thread
   *     is interrupted, while it is released all the same
   */
  public boolean release(ReleaseOptions options) {
    return Futures.answer(releasing(options));
  }

  /**
   * The same without waiting for it.
   *
   * @return whether it was held until then
   */
  public CompletableFuture<Boolean> releaseAsync() {
    return releaseAsync(ReleaseOptions.defaults());
  }

  /**
   * The same with options.
   *
   * @param options what the lock shall remember; they count the first time only
   * @return whether it was held until then
   */
  public CompletableFuture<Boolean> releaseAsync(ReleaseOptions options) {
    return Futures.handedOut(releasing(options).copy(), told, value -> value, value -> {});
  }

  private synchronized CompletableFuture<Boolean> releasing(ReleaseOptions options) {
    if (released == null) released = verbs.release(this, options);
    return released;
  }

  /** Has it granted to another call, too. Whether that can be: it is held. */
  synchronized boolean share() {
    if (released != null || !isHeld()) return false;
    grants++;
    return true;
  }

  /** By one of the calls that were granted it, whose caller does not want it. */
  synchronized void giveUp() {
    grants--;
    if (grants > 0 || released != null) return;
    released = CompletableFuture.completedFuture(false);
    verbs.giveUp(this);
  }

  /**
   * Renews it once more, and leaves it at that: from now on it belongs to whoever has its id, and this lock is as if released.
   *
   * @return what the next one needs
   */
  public HandedOver handOver() {
    return handOver(RenewRequest.newBuilder().setLeaseId(lease.id).build());
  }

  /**
   * The same for another time to live.
   *
   * @param ttl from now on, 1 s to 24 days
   * @return what the next one needs
   */
  public HandedOver handOver(Duration ttl) {
    return handOver(
        RenewRequest.newBuilder().setLeaseId(lease.id).setTtl(Times.protoOf(ttl)).build());
  }

  private HandedOver handOver(RenewRequest request) {
    HandedOver handedOver = Futures.answer(verbs.handOver(this, request));
    synchronized (this) {
      if (released == null) released = CompletableFuture.completedFuture(false);
    }
    return handedOver;
  }

  /**
   * Releases it. Where no server answers it ends by itself, so that is no error here. Does not wait if the thread is interrupted:
   * it is released all the same.
   */
  @Override
  public void close() {
    try {
      Futures.await(releasing(ReleaseOptions.defaults()));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } catch (RowlockException error) {
      boolean endsByItself =
          error.code() == Status.Code.UNAVAILABLE || error.reason() == Reason.CLOSED;
      if (!endsByItself) throw error;
    }
  }

  HeldLease lease() {
    return lease;
  }
}
