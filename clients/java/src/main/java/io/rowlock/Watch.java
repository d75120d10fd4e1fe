package io.rowlock;

import com.google.protobuf.MessageOrBuilder;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;
import rowlock.v1.WatchLocksRequest;
import rowlock.v1.WatchLocksResponse;

/**
 * A watch of locks, over as many connections as it takes. It keeps at most one unread state of each lock, so a slow
 * reader gets only the latest ones. For any thread.
 */
public final class Watch implements AutoCloseable {
  private final EventLoop loop;
  private final Calls calls;
  private final String prefix;
  private final long giveUpAfter;

  /** Completes when the watch is closed, and fails with what ends it otherwise. */
  private final CompletableFuture<Void> ended;

  /** Unread updates: the current states of locks; empty for a lock that is gone. */
  private final Map<String, Optional<rowlock.v1.Lock>> news = new LinkedHashMap<>();

  private boolean beganAnew;
  private boolean isComplete;

  /** Whether the current stream has brought anything, and whether any stream has. */
  private boolean isHeard;

  private boolean wasHeard;

  Watch(
      EventLoop loop, Calls calls, String prefix, long giveUpAfter, CompletableFuture<Void> ended) {
    this.loop = loop;
    this.calls = calls;
    this.prefix = prefix;
    this.giveUpAfter = giveUpAfter;
    this.ended = ended;
    ended.whenComplete((done, failure) -> wake());
  }

  /**
   * Waits for the next update.
   *
   * @return what has changed since the last call
   * @throws RowlockException if no server answers or the server refuses the watch, and with {@link Reason#CLOSED} once
   * the watch or its client is closed
   * @throws InterruptedException if the thread is interrupted; the watch goes on
   */
  public synchronized WatchUpdate next() throws InterruptedException {
    while (!hasNews()) {
      throwIfEnded();
      wait();
    }
    return take();
  }

  /**
   * Waits for the next update for some time.
   *
   * @param atMost how long; zero: do not wait
   * @return what has changed since the last call; empty if nothing has in that time
   * @throws RowlockException if no server answers or the server refuses the watch, and with {@link Reason#CLOSED} once
   * the watch or its client is closed
   * @throws InterruptedException if the thread is interrupted; the watch goes on
   */
  public synchronized Optional<WatchUpdate> next(Duration atMost) throws InterruptedException {
    long until = System.nanoTime() + Times.ofDuration(atMost);
    while (!hasNews()) {
      throwIfEnded();
      long left = until - System.nanoTime();
      if (left <= 0) return Optional.empty();
      // Rounded up, because 0 would wait for ever.
      wait(left / 1_000_000 + 1);
    }
    return Optional.of(take());
  }

  /** Ends the watch. It can be called twice. */
  @Override
  public void close() {
    ended.complete(null);
  }

  private synchronized void wake() {
    notifyAll();
  }

  private boolean hasNews() {
    return !news.isEmpty() || beganAnew || isComplete;
  }

  private void throwIfEnded() throws InterruptedException {
    if (!ended.isDone()) return;
    Futures.await(ended);
    throw new RowlockException(Reason.CLOSED, Status.Code.CANCELLED, "This watch was closed.");
  }

  private WatchUpdate take() {
    List<LockView> locks = new ArrayList<>();
    List<String> deleted = new ArrayList<>();
    news.forEach(
        (name, lock) ->
            lock.ifPresentOrElse(its -> locks.add(LockView.of(its)), () -> deleted.add(name)));
    WatchUpdate update =
        new WatchUpdate(beganAnew, List.copyOf(locks), List.copyOf(deleted), isComplete);
    news.clear();
    beganAnew = false;
    isComplete = false;
    return update;
  }

  private synchronized void beginStream() {
    isHeard = false;
  }

  private synchronized void hear(WatchLocksResponse said) {
    if (said.getBeganAnew() || (wasHeard && !isHeard)) {
      news.clear();
      beganAnew = true;
      isComplete = false;
    }
    isHeard = true;
    wasHeard = true;
    for (rowlock.v1.Lock lock : said.getLocksList()) news.put(lock.getName(), Optional.of(lock));
    for (String name : said.getDeletedList()) news.put(name, Optional.empty());
    isComplete |= said.getComplete();
    notifyAll();
  }

  /** Its call, on the loop only. */
  Asking asking() {
    return new Stream();
  }

  private final class Stream implements Ask, Asking {
    private Call call;

    @Override
    public void begin() {
      call = calls.begin(this);
      ended.whenComplete((done, failure) -> loop.soon(() -> calls.cancel(call)));
    }

    @Override
    public void abandon(Throwable why) {
      ended.completeExceptionally(why);
    }

    @Override
    public Kind kind() {
      return Kind.WAIT;
    }

    @Override
    public Repeat repeat() {
      return Repeat.ALWAYS;
    }

    @Override
    public SessionCommand.Builder command(Connection connection) {
      beginStream();
      return SessionCommand.newBuilder()
          .setWatchLocks(WatchLocksRequest.newBuilder().setPrefix(prefix));
    }

    @Override
    public Optional<MessageOrBuilder> text() {
      return Optional.of(WatchLocksRequest.newBuilder().setPrefix(prefix));
    }

    @Override
    public long giveUpAfter() {
      return giveUpAfter;
    }

    @Override
    public boolean answered(SessionResult result, long basis) {
      hear(result.getWatchLocks());
      return false;
    }

    @Override
    public void failed(RowlockException error) {
      ended.completeExceptionally(error);
    }
  }
}
