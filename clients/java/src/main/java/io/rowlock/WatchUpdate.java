package io.rowlock;

import java.util.List;

/**
 * A part of a snapshot of the watched locks, or the changes since the snapshot.
 *
 * @param beganAnew whether a new snapshot begins, which replaces all updates before it, because the watch fell behind
 * or continues over another connection; false for the first update
 * @param locks the current states of locks, with at most 10 holders and 10 waiters each
 * @param deleted the names of locks that are gone; there may be names that no update had before
 * @param complete whether the snapshot is complete with this update: other locks do not exist; true once for each
 * snapshot
 */
public record WatchUpdate(
    boolean beganAnew, List<LockView> locks, List<String> deleted, boolean complete) {}
