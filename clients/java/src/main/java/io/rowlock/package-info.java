/**
 * The Java client of Rowlock, a lock server. It offers locks, semaphores and readers-writer locks with a fair queue.
 * The client renews the locks that it holds, and reports when one is lost. Begin with {@link
 * io.rowlock.RowlockClient#connect(String...)}.
 */
package io.rowlock;
