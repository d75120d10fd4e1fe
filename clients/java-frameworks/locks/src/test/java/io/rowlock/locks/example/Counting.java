// Counts up the number in a file, beside other processes that do the same.

package io.rowlock.locks.example;

import io.rowlock.RowlockClient;
import io.rowlock.locks.RowlockLock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.Lock;

final class Counting {
  private final Path file;
  private final Lock lock;

  /** Knows nothing of servers. */
  private Counting(Path file, Lock lock) {
    this.file = file;
    this.lock = lock;
  }

  private int next() throws IOException {
    lock.lock();
    try {
      int number = Files.exists(file) ? Integer.parseInt(Files.readString(file)) + 1 : 1;
      Files.writeString(file, Integer.toString(number));
      return number;
    } finally {
      lock.unlock();
    }
  }

  public static void main(String[] arguments) throws IOException {
    String address = arguments[0];
    Path file = Path.of(arguments[1]);
    try (RowlockClient rowlock = RowlockClient.connect(address)) {
      Counting counting = new Counting(file, RowlockLock.of(rowlock, "counter"));
      for (int turn = 0; turn < 50; turn++) System.out.println(counting.next());
    }
  }
}
