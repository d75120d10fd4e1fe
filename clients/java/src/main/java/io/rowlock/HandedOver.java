package io.rowlock;

import java.util.Map;

/**
 * A lease that now belongs to anyone who has its id.
 *
 * @param leaseId secret: anyone who knows it can renew and release the lease
 * @param token the fencing token
 * @param tokens the fencing token of each lock of its claim, by its name
 */
public record HandedOver(String leaseId, long token, Map<String, Long> tokens) {}
