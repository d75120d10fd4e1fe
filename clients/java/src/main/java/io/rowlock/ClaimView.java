package io.rowlock;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A holder or a waiter; in {@link RowlockClient#listClaims(ClaimFilter)} also a claim that is over.
 *
 * @param lockName the lock
 * @param ticketNumber identifies the claim within its lock: see {@link RowlockClient#forceRelease(String, long, String)}
 * @param state whether the claim is held, waits, or is over
 * @param mode how it is or will be held
 * @param permits how many permits it has or wants
 * @param owner the owner that the caller gave
 * @param principal who asked, as the server has verified it; empty if it asks nobody who they are
 * @param labels the labels that the caller gave
 * @param token the fencing token; empty if it was never granted
 * @param requestedAt when the request arrived
 * @param grantedAt when it was granted; empty if it never was
 * @param expiresAt when the lease ends if it is not renewed, or the place if its waiter gives no sign of life; empty:
 * never
 * @param provisional whether it is held and nobody has confirmed yet that its holder knows of it
 * @param end how it ended; empty for a live claim
 * @param replica of a claim that is over, the server that kept its place in the queue; empty if it did not wait
 * @param spendOnly whether it only takes of the lock's rate: see {@link RowlockClient#spend(String)}
 * @param pool the pattern of the pool at which it waits; only {@link RowlockClient#getLock(String)} shows it. Empty: it waits at none
 * that the caller may see
 * @param also the other locks of a claim for several, those that the caller may see
 */
public record ClaimView(
    String lockName,
    long ticketNumber,
    State state,
    Mode mode,
    int permits,
    String owner,
    String principal,
    Map<String, String> labels,
    OptionalLong token,
    Optional<Instant> requestedAt,
    Optional<Instant> grantedAt,
    Optional<Instant> expiresAt,
    boolean provisional,
    Optional<ClaimEndView> end,
    String replica,
    boolean spendOnly,
    Optional<String> pool,
    List<ClaimedLock> also) {
  /** What a claim does. */
  public enum State {
    /** It waits in the queue. */
    WAITING,
    /** It holds its lock. */
    HELD,
    /** It is over, for good. */
    ENDED;

    static State of(rowlock.v1.ClaimState state) {
      return switch (state) {
        case CLAIM_STATE_HELD -> HELD;
        case CLAIM_STATE_ENDED -> ENDED;
        default -> WAITING;
      };
    }
  }

  static ClaimView of(rowlock.v1.Claim claim) {
    State state = State.of(claim.getState());
    boolean isOver = state == State.ENDED;
    boolean hasToken = state == State.HELD || (isOver && claim.getFencingToken() != 0);
    return new ClaimView(
        claim.getLockName(),
        claim.getTicketNumber(),
        state,
        Mode.of(claim.getMode()),
        claim.getPermits(),
        claim.getOwner(),
        claim.getPrincipal(),
        Map.copyOf(claim.getLabelsMap()),
        hasToken ? OptionalLong.of(claim.getFencingToken()) : OptionalLong.empty(),
        when(claim.hasRequestedAt(), claim.getRequestedAt()),
        when(claim.hasGrantedAt(), claim.getGrantedAt()),
        when(claim.hasExpiresAt(), claim.getExpiresAt()),
        claim.getProvisional(),
        claim.hasEnd() ? Optional.of(ClaimEndView.of(claim.getEnd())) : Optional.empty(),
        claim.getReplica(),
        claim.getSpendOnly(),
        claim.getPool().isEmpty() ? Optional.empty() : Optional.of(claim.getPool()),
        ClaimedLock.of(claim.getAlsoList()));
  }

  private static Optional<Instant> when(boolean isSet, com.google.protobuf.Timestamp timestamp) {
    return isSet ? Optional.of(Times.instantOf(timestamp)) : Optional.empty();
  }
}
