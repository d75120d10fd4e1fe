/**
 * The client of Rowlock, the lock server: locks, semaphores and readers-writer locks that wait in a fair queue, renew
 * themselves, and say so when they are lost. Begin with {@link rowlock.Rowlock#connect(String...)}.
 */
package rowlock;
