package io.rowlock;

import java.time.Duration;
import java.util.List;

/**
 * A wait for a lock that goes on: see {@link LockOptions.Builder#onWaiting}.
 *
 * @param name the lock
 * @param waited since the request
 * @param place in the queue
 * @param summary who holds the lock, since when and until when, or what else is in the way: one line for people, and
 * not stable; empty if the server does not explain
 * @param causes the same for programs; empty if the server does not explain
 * @param heldByYou whether this client itself holds the lock
 */
public record WaitNotice(
    String name,
    Duration waited,
    Place place,
    String summary,
    List<WaitCause> causes,
    boolean heldByYou) {}
