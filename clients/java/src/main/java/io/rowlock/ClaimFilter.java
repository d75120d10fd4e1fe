package io.rowlock;

import java.time.Instant;
import java.util.function.Consumer;
import rowlock.v1.ClaimState;
import rowlock.v1.EndReason;
import rowlock.v1.HeldAt;
import rowlock.v1.ListClaimsRequest;
import rowlock.v1.ListClaimsResponse;

/** Which claims to list. Immutable: each method returns a new filter that restricts more. */
public final class ClaimFilter {
  private static final Consumer<Instant> NOBODY = from -> {};
  private final Consumer<Instant> begin;
  private final ListClaimsRequest request;

  private ClaimFilter(Consumer<Instant> begin, ListClaimsRequest.Builder request) {
    this.begin = begin;
    this.request = request.build();
  }

  /**
   * Lists claims of one lock.
   *
   * @param name the lock
   * @return a filter
   */
  public static ClaimFilter ofLock(String name) {
    return new ClaimFilter(NOBODY, ListClaimsRequest.newBuilder().setLockName(name));
  }

  /**
   * Lists claims of locks whose names begin with this prefix.
   *
   * @param prefix at most 255 bytes; empty: all
   * @return a filter
   */
  public static ClaimFilter ofPrefix(String prefix) {
    return new ClaimFilter(NOBODY, ListClaimsRequest.newBuilder().setPrefix(prefix));
  }

  /**
   * Lists only claims with this owner.
   *
   * @param owner who asked, as they say
   * @return a filter
   */
  public ClaimFilter owner(String owner) {
    return new ClaimFilter(begin, request.toBuilder().setOwner(owner));
  }

  /**
   * Lists only claims of this principal.
   *
   * @param principal who asked, as the server has verified
   * @return a filter
   */
  public ClaimFilter principal(String principal) {
    return new ClaimFilter(begin, request.toBuilder().setPrincipal(principal));
  }

  /**
   * Lists only claims with this label. Several calls ask for all of their labels.
   *
   * @param key of the label
   * @param value of the label
   * @return a filter
   */
  public ClaimFilter label(String key, String value) {
    return new ClaimFilter(begin, request.toBuilder().putLabels(key, value));
  }

  /**
   * Lists only claims in this state. Several calls ask for any of their states.
   *
   * @param state a state
   * @return a filter
   */
  public ClaimFilter in(ClaimView.State state) {
    return new ClaimFilter(
        begin, request.toBuilder().addStates(ClaimState.valueOf("CLAIM_STATE_" + state.name())));
  }

  /**
   * Lists only claims that ended in this way. Several calls ask for any of their ways.
   *
   * @param reason {@link Reason#RELEASED}, {@link Reason#EXPIRED}, {@link Reason#FORCE_RELEASED}, ...
   * @return a filter
   * @throws IllegalArgumentException for a reason for which no claim ends
   */
  public ClaimFilter ended(Reason reason) {
    return new ClaimFilter(
        begin, request.toBuilder()
            .addEndReasons(EndReason.valueOf(Reason.END_PREFIX + reason.name())));
  }

  /**
   * Lists only ended claims that ended at this instant or later, and live claims.
   *
   * @param from the first instant
   * @return a filter
   */
  public ClaimFilter from(Instant from) {
    return new ClaimFilter(begin, request.toBuilder().setFrom(Times.protoOf(from)));
  }

  /**
   * Lists only ended claims that ended before this instant; if it lies ahead, also live claims.
   *
   * @param until the first instant that is too late
   * @return a filter
   */
  public ClaimFilter until(Instant until) {
    return new ClaimFilter(begin, request.toBuilder().setUntil(Times.protoOf(until)));
  }

  /**
   * Lists only claims that held the lock at this instant. It needs the name of the lock, from {@link #ofLock}.
   *
   * @param heldAt the instant
   * @return a filter
   * @throws IllegalArgumentException for a filter of a prefix
   */
  public ClaimFilter heldAt(Instant heldAt) {
    if (request.hasPrefix())
      throw new IllegalArgumentException("heldAt: it needs the name of a lock, from ClaimFilter.ofLock");
    String name = request.hasHeldAt() ? request.getHeldAt().getLockName() : request.getLockName();
    HeldAt held = HeldAt.newBuilder().setLockName(name).setAt(Times.protoOf(heldAt)).build();
    return new ClaimFilter(begin, request.toBuilder().setHeldAt(held));
  }

  /**
   * Sets how many claims are fetched at a time.
   *
   * @param size at most 1,000; 0: as many as the server likes
   * @return a filter
   */
  public ClaimFilter pageSize(int size) {
    return new ClaimFilter(begin, request.toBuilder().setPageSize(size));
  }

  /**
   * Reports where history begins. Earlier claims may have been forgotten, so that finding none proves nothing.
   *
   * @param begin called with each page, before its claims are shown
   * @return a filter
   */
  public ClaimFilter completeFrom(Consumer<Instant> begin) {
    return new ClaimFilter(begin, request.toBuilder());
  }

  /** Reports where history begins; servers of earlier versions do not say. */
  void report(ListClaimsResponse page) {
    if (page.hasCompleteFrom()) begin.accept(Times.instantOf(page.getCompleteFrom()));
  }

  ListClaimsRequest request(String pageToken) {
    return request.toBuilder().setPageToken(pageToken).build();
  }
}
