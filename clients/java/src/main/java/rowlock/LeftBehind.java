// What was asked for and may have been granted, but no answer says so, and nobody waits for it any more. It is looked for by its
// request id and given back: until the lease would have ended by itself, and one without end for as long as the program lives,
// by an heir of the client where that was closed. So is a lease without end whose release no server has answered. On the loop only.

package rowlock;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import rowlock.v1.Lease;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

final class LeftBehind {
  /**
   * How soon and how seldom a claim is looked for again that was not there: the request for it may still be on its way, as in a
   * server that is frozen.
   */
  private static final long LOOK_AGAIN_FIRST = Times.ofMillis(250);

  private static final long LOOK_AGAIN_MAX = Times.ofMillis(30_000);

  /** How a claim has ended that was there. */
  private static final Set<Reason> ENDS =
      Set.of(
          Reason.EXPIRED,
          Reason.RELEASED,
          Reason.FORCE_RELEASED,
          Reason.LAPSED,
          Reason.CANCELLED,
          Reason.TIMED_OUT);

  private final Loop loop;
  private final Clock clock;
  private final Verbs verbs;
  private final HeldLocks locks;

  /** Has something done by a client that outlives this one. */
  private final Consumer<Consumer<LeftBehind>> inherit;

  private final Set<Claims> all = new HashSet<>();
  private boolean isClosing;
  private boolean isOver;

  LeftBehind(
      Loop loop, Clock clock, Verbs verbs, HeldLocks locks, Consumer<Consumer<LeftBehind>> inherit) {
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
   * @param id under which others may ask, too
   * @param find asks for what there is under the request id
   * @param isOne there is one claim at the most
   * @param except leases that somebody was told of
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

  /** Ends a claim of which nothing but its id is needed, for so long. */
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

  /** Nothing is asked here any more. */
  void end() {
    isOver = true;
  }

  /** Looks at once for all that was to be looked for later, and then no more. */
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
    private Loop.Timer timer;

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
      Reason refused = Reason.of(result.getAcquire().getRefusal().getReason());
      if (isOne && (!found.isEmpty() || ENDS.contains(refused))) all.remove(this);
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
      // Whoever has chosen the id may use it again, from another program, too.
      if (asked.requestId.isPresent() || isClosing || left() == 0) {
        all.remove(this);
        return;
      }
      long pause = Math.min(LOOK_AGAIN_MAX, LOOK_AGAIN_FIRST << Math.min(looks++, 10));
      timer = loop.after(Math.min(pause, left()), this::look);
    }
  }

  /** A status that no lock has: who asks for a lock with it finds a claim of its request id, and takes nothing. */
  static String noStatus() {
    return UUID.randomUUID().toString();
  }

  private static List<String> claimsIn(SessionResult result) {
    List<String> ids = new ArrayList<>();
    if (result.getAcquire().hasLease()) ids.add(result.getAcquire().getLease().getLeaseId());
    if (result.getAcquire().hasTicket()) ids.add(result.getAcquire().getTicket().getTicketId());
    for (Lease lease : result.getCapture().getLeasesList()) ids.add(lease.getLeaseId());
    return ids;
  }
}
