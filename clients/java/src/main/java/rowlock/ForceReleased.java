package rowlock;

import java.util.List;

/**
 * What an operator has ended.
 *
 * @param ended as it stood before
 * @param remaining holders that this call has left, as one call ends 500 at the most
 */
public record ForceReleased(List<ClaimView> ended, int remaining) {}
