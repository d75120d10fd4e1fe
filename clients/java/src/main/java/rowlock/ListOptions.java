package rowlock;

import rowlock.v1.ListLocksRequest;
import rowlock.v1.ListOrder;

/** Which locks are listed, and how; each method answers new options. */
public final class ListOptions {
  private final ListLocksRequest request;

  private ListOptions(ListLocksRequest request) {
    this.request = request;
  }

  /**
   * Locks whose names begin so, in the order of their names.
   *
   * @param prefix empty: all
   * @return options
   */
  public static ListOptions of(String prefix) {
    return new ListOptions(ListLocksRequest.newBuilder().setPrefix(prefix).build());
  }

  /**
   * Only locks with a holder or a waiter.
   *
   * @return options
   */
  public ListOptions busyOnly() {
    return new ListOptions(request.toBuilder().setBusyOnly(true).build());
  }

  /**
   * Locks that are waited for, the one whose first waiter came earliest first; one page.
   *
   * @return options
   */
  public ListOptions longestWaitFirst() {
    return new ListOptions(
        request.toBuilder().setOrder(ListOrder.LIST_ORDER_LONGEST_WAIT).build());
  }

  /**
   * Locks that are waited for, the one with the longest queue first; one page.
   *
   * @return options
   */
  public ListOptions mostWaitersFirst() {
    return new ListOptions(
        request.toBuilder().setOrder(ListOrder.LIST_ORDER_MOST_WAITERS).build());
  }

  /**
   * How many at a time are fetched.
   *
   * @param size up to 1,000; 0: as the server likes
   * @return options
   */
  public ListOptions pageSize(int size) {
    return new ListOptions(request.toBuilder().setPageSize(size).build());
  }

  ListLocksRequest request(String pageToken) {
    return request.toBuilder().setPageToken(pageToken).build();
  }
}
