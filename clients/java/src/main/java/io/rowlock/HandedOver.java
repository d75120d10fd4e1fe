package io.rowlock;

/**
 * A lease that now belongs to anyone who has its id.
 *
 * @param leaseId secret: anyone who knows it can renew and release the lease
 * @param token the fencing token
 */
public record HandedOver(String leaseId, long token) {}
