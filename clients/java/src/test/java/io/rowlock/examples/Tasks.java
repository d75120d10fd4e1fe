// A table of tasks without a table: each task is a lock with a status, and workers on any machine take what is new.

package io.rowlock.examples;

import io.rowlock.RecordChanges;
import io.rowlock.RowlockClient;
import io.rowlock.Worker;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Puts three tasks, works on them, and ends. */
public final class Tasks {
  private Tasks() {}

  /**
   * Runs a worker until its tasks are done.
   *
   * @param arguments the addresses of the servers
   * @throws InterruptedException if the thread is interrupted
   */
  public static void main(String[] arguments) throws InterruptedException {
    List<String> tasks = List.of("task/1", "task/2", "task/3");
    try (RowlockClient rowlock = RowlockClient.connect(arguments)) {
      CountDownLatch left = new CountDownLatch(tasks.size());
      for (String task : tasks)
        rowlock.updateRecord(RecordChanges.of(task).status("new").attemptsLeft(3));
      try (Worker worker =
          rowlock.work(
              "task/",
              with ->
                  with.concurrency(2)
                      .ifStatus("new")
                      .statusWhenDone("done")
                      .statusIfLost("failed"),
              task -> {
                System.out.println("Working on " + task.name());
                left.countDown();
              })) {
        left.await();
      }
    }
  }
}
