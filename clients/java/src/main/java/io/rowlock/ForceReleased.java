package io.rowlock;

import java.util.List;

/**
 * The result of a force release.
 *
 * @param ended the claims, each with its end
 * @param remaining how many holders this call has left; one call ends at most 500, so repeat it if this is above 0
 */
public record ForceReleased(List<ClaimView> ended, int remaining) {}
