// Claims that a server may have granted, that no answer has reported, and that nobody waits for any more. The client
// looks for each by its request id and gives it back. It looks until the lease would have expired, and for a lease
// without end as long as the program lives; once the client is closed, its heir does so. The release of a lease without
// end is treated the same way if no server has answered it. Runs on the loop only.

package io.rowlock;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import rowlock.v1.Lease;
import rowlock.v1.LeaseTerms;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

final class LeftBehind {
  /**
   * Bound the pause before the client looks again for a claim that it did not find: the request for it may still be on
   * its way, for example in a frozen server.
   */
  private static final long LOOK_AGAIN_FIRST = Times.ofMillis(250);

  private static final long LOOK_AGAIN_MAX = Times.ofMillis(30_000);

  private final EventLoop loop;
  private final Clock clock;
  private final Verbs verbs;
  private final HeldLocks locks;

  /** Runs something with a client that outlives this one. */
  private final Consumer<Consumer<LeftBehind>> inherit;

  private final Set<Claims> all = new HashSet<>();
  private boolean isClosing;
  private boolean isOver;

  LeftBehind(
      EventLoop loop, Clock clock, Verbs verbs, HeldLocks locks, Consumer<Consumer<LeftBehind>> inherit) {
    this.loop = loop;
    this.clock = clock;
    this.verbs = verbs;
    this.locks = locks;
    this.inherit = inherit;
  }

  int size() {
    return all.size();
  }

  /**
   * Looks for what may have been granted.
   *
   * @param id the key in {@link Requests}, if other calls may ask under the request id
   * @param find the command that finds the claims of the request id
   * @param isOne whether there is at most one claim
   * @param except leases that an answer has reported
   */
  void add(
      LeaseOptions asked,
      Optional<String> id,
      SessionCommand find,
      boolean isOne,
      Set<String> except) {
    if (isOver) {
      if (asked.ttl.isEmpty()) inherit.accept(heir -> heir.add(asked, id, find, isOne, except));
      return;
    }
    Claims claims = new Claims(asked, id, find, isOne, except);
    all.add(claims);
    claims.look();
  }

  /** Ends a claim by its id, and tries for this long. */
  CompletableFuture<Boolean> release(String claim, ReleaseOptions options, long lasting) {
    if (isOver) {
      if (lasting >= Times.FOREVER) inherit.accept(heir -> heir.release(claim, options, lasting));
      return CompletableFuture.completedFuture(false);
    }
    CompletableFuture<Boolean> released = verbs.giveBack(claim, options, lasting);
    released.whenComplete(
        (wasHeld, failure) -> {
          boolean isClosed =
              failure instanceof RowlockException error && error.reason() == Reason.CLOSED;
          if (isClosed && lasting >= Times.FOREVER)
            inherit.accept(heir -> heir.release(claim, options, lasting));
        });
    return released;
  }

  /** Nothing more is sent here. */
  void end() {
    isOver = true;
  }

  /** Looks at once for all claims whose look is scheduled, and schedules no more looks. */
  void close() {
    isClosing = true;
    List.copyOf(all).forEach(Claims::lookNow);
  }

  private final class Claims {
    private final LeaseOptions asked;
    private final Optional<String> id;
    private final SessionCommand find;
    private final boolean isOne;
    private final Set<String> except;
    private final long until;
    private int looks;
    private EventLoop.Timer timer;

    Claims(
        LeaseOptions asked,
        Optional<String> id,
        SessionCommand find,
        boolean isOne,
        Set<String> except) {
      this.asked = asked;
      this.id = id;
      this.find = find;
      this.isOne = isOne;
      this.except = except;
      until = asked.ttl.map(ttl -> clock.now() + Times.ofDuration(ttl)).orElse(Times.FOREVER);
    }

    private long left() {
      return until < Times.FOREVER ? Math.max(0, until - clock.now()) : Times.FOREVER;
    }

    private void look() {
      timer = null;
      verbs.find(find, left(), this::found, this::failed);
    }

    private void lookNow() {
      if (timer == null) return;
      timer.cancel();
      look();
    }

    private void found(SessionResult result) {
      List<String> found = claimsIn(result);
      for (String claim : found)
        if (!except.contains(claim))
          locks.requests.unwanted(id, () -> locks.giveBack(claim, asked));
      boolean hasEnded = result.getAcquire().hasEnded() || result.getAcquire().hasSpent();
      if (isOne && (!found.isEmpty() || hasEnded)) all.remove(this);
      else again();
    }

    private void failed(RowlockException error) {
      if (error.isTransient()) {
        again();
        return;
      }
      all.remove(this);
      if (error.reason() == Reason.CLOSED) add(asked, id, find, isOne, except);
    }

    private void again() {
      // A caller that has chosen the id may use it again, even from another program.
      if (asked.requestId.isPresent() || isClosing || left() == 0) {
        all.remove(this);
        return;
      }
      long pause = Math.min(LOOK_AGAIN_MAX, LOOK_AGAIN_FIRST << Math.min(looks++, 10));
      timer = loop.after(Math.min(pause, left()), this::look);
    }
  }

  /** Terms with a status that no lock has. A request with them finds the claims of its request id, and takes nothing. */
  static LeaseTerms findingTerms(LeaseOptions asked) {
    return asked.leaseTerms().toBuilder()
        .clearIfStatus()
        .addIfStatus(UUID.randomUUID().toString())
        .build();
  }

  private static List<String> claimsIn(SessionResult result) {
    List<String> ids = new ArrayList<>();
    if (result.getAcquire().hasLease()) ids.add(result.getAcquire().getLease().getLeaseId());
    if (result.getAcquire().hasTicket()) ids.add(result.getAcquire().getTicket().getTicketId());
    for (Lease lease : result.getCapture().getLeasesList()) ids.add(lease.getLeaseId());
    return ids;
  }
}
