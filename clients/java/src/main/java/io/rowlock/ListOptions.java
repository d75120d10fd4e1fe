package io.rowlock;

import java.util.List;
import rowlock.v1.ListLocksRequest;
import rowlock.v1.ListOrder;

/** Which locks to list, and how. Immutable: each method returns new options. */
public final class ListOptions {
  private final ListLocksRequest request;

  private ListOptions(ListLocksRequest request) {
    this.request = request;
  }

  /**
   * Lists locks whose names begin with this prefix, in the order of their names.
   *
   * @param prefix at most 255 bytes; empty: all
   * @return options
   */
  public static ListOptions of(String prefix) {
    return new ListOptions(ListLocksRequest.newBuilder().setPrefix(prefix).build());
  }

  /**
   * Lists only locks with a holder or a waiter.
   *
   * @return options
   */
  public ListOptions busyOnly() {
    return new ListOptions(request.toBuilder().setBusyOnly(true).build());
  }

  /**
   * Lists only locks whose records have one of these statuses, along an index, so others cost nothing: by the folder of their names, by
   * status, and then as they are due. Not with {@link #busyOnly} or an order by waiters.
   *
   * @param statuses at most 16
   * @return options
   */
  public ListOptions status(String... statuses) {
    return new ListOptions(request.toBuilder().addAllStatuses(List.of(statuses)).build());
  }

  /**
   * Lists only locks whose records have no attempts left, in any status or in those of {@link #status}, in the same order.
   *
   * @return options
   */
  public ListOptions exhaustedOnly() {
    return new ListOptions(request.toBuilder().setExhaustedOnly(true).build());
  }

  /**
   * Lists only locks with waiters, the one whose first waiter came earliest first. There is one page only.
   *
   * @return options
   */
  public ListOptions longestWaitFirst() {
    return new ListOptions(
        request.toBuilder().setOrder(ListOrder.LIST_ORDER_LONGEST_WAIT).build());
  }

  /**
   * Lists only locks with waiters, the one with the longest queue first. There is one page only.
   *
   * @return options
   */
  public ListOptions mostWaitersFirst() {
    return new ListOptions(
        request.toBuilder().setOrder(ListOrder.LIST_ORDER_MOST_WAITERS).build());
  }

  /**
   * Sets how many locks are fetched at a time.
   *
   * @param size at most 1,000; 0: as many as the server likes
   * @return options
   */
  public ListOptions pageSize(int size) {
    return new ListOptions(request.toBuilder().setPageSize(size).build());
  }

  ListLocksRequest request(String pageToken) {
    return request.toBuilder().setPageToken(pageToken).build();
  }
}
