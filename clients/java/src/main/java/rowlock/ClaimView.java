package rowlock;

import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One who holds or waits.
 *
 * @param lockName the lock
 * @param ticketNumber with the lock's name it names the claim, for {@link Rowlock#forceRelease(String, long, String)}
 * @param isHeld whether it is held; otherwise it waits
 * @param mode how
 * @param permits how many
 * @param owner who, as they said
 * @param labels what else they said
 * @param token the fencing token of one who holds
 * @param requestedAt since when it stands there
 * @param grantedAt since when it is held
 * @param expiresAt when the lease ends if it is not renewed, or the place if there is no sign of life; empty: without end
 */
public record ClaimView(
    String lockName,
    long ticketNumber,
    boolean isHeld,
    Mode mode,
    int permits,
    String owner,
    Map<String, String> labels,
    OptionalLong token,
    Optional<Instant> requestedAt,
    Optional<Instant> grantedAt,
    Optional<Instant> expiresAt) {
  static ClaimView of(rowlock.v1.Claim claim) {
    boolean isHeld = claim.getState() == rowlock.v1.ClaimState.CLAIM_STATE_HELD;
    return new ClaimView(
        claim.getLockName(),
        claim.getTicketNumber(),
        isHeld,
        Mode.of(claim.getMode()),
        claim.getPermits(),
        claim.getOwner(),
        Map.copyOf(claim.getLabelsMap()),
        isHeld ? OptionalLong.of(claim.getFencingToken()) : OptionalLong.empty(),
        when(claim.hasRequestedAt(), claim.getRequestedAt()),
        when(claim.hasGrantedAt(), claim.getGrantedAt()),
        when(claim.hasExpiresAt(), claim.getExpiresAt()));
  }

  private static Optional<Instant> when(boolean isSet, com.google.protobuf.Timestamp timestamp) {
    return isSet ? Optional.of(Times.instantOf(timestamp)) : Optional.empty();
  }
}
