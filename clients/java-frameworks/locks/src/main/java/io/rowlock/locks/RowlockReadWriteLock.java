package io.rowlock.locks;

import io.rowlock.LockOptions;
import io.rowlock.Mode;
import io.rowlock.RowlockClient;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.function.Consumer;

/**
 * A lock of a server as a {@link ReadWriteLock}: readers hold it beside each other, a writer alone. The queue is fair, so
 * readers who come after a waiting writer wait, too.
 *
 * <p>Each of the two may be taken again by the thread that holds it. A thread that holds one must not ask for the other
 * one: it would wait for itself.
 */
public final class RowlockReadWriteLock implements ReadWriteLock {
  private final RowlockLock readers;
  private final RowlockLock writer;

  private RowlockReadWriteLock(RowlockLock readers, RowlockLock writer) {
    this.readers = readers;
    this.writer = writer;
  }

  /**
   * Makes a view of a lock. It sends nothing.
   *
   * @param client which holds the lock
   * @param name the lock
   * @return a view
   */
  public static RowlockReadWriteLock of(RowlockClient client, String name) {
    return of(client, name, with -> {});
  }

  /**
   * The same with options.
   *
   * @param client which holds the lock
   * @param name the lock
   * @param choice chooses the options; those for waiting and the mode are ignored
   * @return a view
   * @throws IllegalArgumentException for options that cannot work
   */
  public static RowlockReadWriteLock of(
      RowlockClient client, String name, Consumer<LockOptions.Builder> choice) {
    return new RowlockReadWriteLock(
        RowlockLock.of(client, name, choice.andThen(with -> with.mode(Mode.SHARED))),
        RowlockLock.of(client, name, choice.andThen(with -> with.mode(Mode.EXCLUSIVE))));
  }

  @Override
  public RowlockLock readLock() {
    return readers;
  }

  @Override
  public RowlockLock writeLock() {
    return writer;
  }
}
