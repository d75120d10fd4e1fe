package rowlock;

/**
 * A lease that belongs to whoever has its id from now on.
 *
 * @param leaseId secret: whoever knows it can renew and release it
 * @param token the fencing token
 */
public record HandedOver(String leaseId, long token) {}
