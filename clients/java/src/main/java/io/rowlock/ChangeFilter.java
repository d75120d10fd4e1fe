package io.rowlock;

import java.time.Instant;
import java.util.function.Consumer;
import rowlock.v1.ListChangesRequest;
import rowlock.v1.ListChangesResponse;

/** Which changes to list. Immutable: each method returns a new filter that restricts more. */
public final class ChangeFilter {
  private static final Consumer<Instant> NOBODY = from -> {};
  private final Consumer<Instant> begin;
  private final ListChangesRequest request;

  private ChangeFilter(Consumer<Instant> begin, ListChangesRequest.Builder request) {
    this.begin = begin;
    this.request = request.build();
  }

  /**
   * Lists changes of one lock, and of the patterns and pools that match its name.
   *
   * @param name the lock
   * @return a filter
   */
  public static ChangeFilter ofLock(String name) {
    return new ChangeFilter(NOBODY, ListChangesRequest.newBuilder().setLockName(name));
  }

  /**
   * Lists changes of locks, patterns and pools that begin with this prefix.
   *
   * @param prefix at most 255 bytes; empty: all, and changes of policies
   * @return a filter
   */
  public static ChangeFilter ofPrefix(String prefix) {
    return new ChangeFilter(NOBODY, ListChangesRequest.newBuilder().setPrefix(prefix));
  }

  /**
   * Lists only changes of this kind. Several calls ask for any of their kinds.
   *
   * @param kind what was changed
   * @return a filter
   * @throws IllegalArgumentException for {@link ChangeView.Kind#UNKNOWN}
   */
  public ChangeFilter of(ChangeView.Kind kind) {
    if (kind == ChangeView.Kind.UNKNOWN)
      throw new IllegalArgumentException("changes of an unknown kind cannot be asked for");
    return new ChangeFilter(begin, request.toBuilder().addKinds(kind.proto));
  }

  /**
   * Lists only changes by them.
   *
   * @param who a principal or an address
   * @return a filter
   */
  public ChangeFilter by(String who) {
    return new ChangeFilter(begin, request.toBuilder().setChangedBy(who));
  }

  /**
   * Lists only changes at this instant or later.
   *
   * @param from the first instant
   * @return a filter
   */
  public ChangeFilter from(Instant from) {
    return new ChangeFilter(begin, request.toBuilder().setFrom(Times.protoOf(from)));
  }

  /**
   * Lists only changes before this instant.
   *
   * @param until the first instant that is too late
   * @return a filter
   */
  public ChangeFilter until(Instant until) {
    return new ChangeFilter(begin, request.toBuilder().setUntil(Times.protoOf(until)));
  }

  /**
   * Sets how many changes are fetched at a time.
   *
   * @param size at most 1,000; 0: as many as the server likes
   * @return a filter
   */
  public ChangeFilter pageSize(int size) {
    return new ChangeFilter(begin, request.toBuilder().setPageSize(size));
  }

  /**
   * Reports where history begins. Earlier changes may have been forgotten, so that finding none proves nothing.
   *
   * @param begin called with each page, before its changes are shown
   * @return a filter
   */
  public ChangeFilter completeFrom(Consumer<Instant> begin) {
    return new ChangeFilter(begin, request.toBuilder());
  }

  /** Reports where history begins; servers of earlier versions do not say. */
  void report(ListChangesResponse page) {
    if (page.hasCompleteFrom()) begin.accept(Times.instantOf(page.getCompleteFrom()));
  }

  ListChangesRequest request(String pageToken) {
    return request.toBuilder().setPageToken(pageToken).build();
  }
}
