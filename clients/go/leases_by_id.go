// Release and renewal of a lease by its id, for example of one that was handed over.

package rowlock

import (
	"context"
	"time"
)

// RenewedLease is the result of [Client.Renew].
type RenewedLease struct {
	LeaseID string
	Name    string
	Token   uint64
	// TTL is the time left when the lease was renewed; [Forever] for a lease without end.
	TTL time.Duration
}

// Release ends a lease or gives up a place, by its id. It reports whether this call ended it; false means that it had
// already ended. The options set the lock's record. The call is safe to repeat. It fails with [ErrUnknownClaim] for an
// id that never existed or ended too long ago.
func (c *Client) Release(ctx context.Context, leaseID string, options ...ReleaseOption) (bool, error) {
	var own *Lock
	c.turns.take(func() { own = c.locks[leaseID] })
	if own != nil {
		return own.Release(ctx, options...)
	}
	request, err := releaseRequestOf(leaseID, options)
	if err != nil {
		return false, err
	}
	result, err := c.ask(ctx, releaseDemand(request))
	return result.GetRelease().GetReleased(), err
}

// Renew renews a lease once, by its id: its ttl becomes ttl from now, 1 s to 24 days, or the last requested ttl if ttl
// is 0. The call is safe to repeat. It fails with [ErrLeaseLost] or [ErrUnknownClaim] if the lease has ended.
func (c *Client) Renew(ctx context.Context, leaseID string, ttl time.Duration) (RenewedLease, error) {
	result, err := c.ask(ctx, renewDemand(leaseID, ttl))
	if err != nil {
		return RenewedLease{}, err
	}
	lease := result.GetRenew().GetLease()
	renewed := RenewedLease{leaseID, lease.GetLockName(), lease.GetFencingToken(), Forever}
	if lease.GetTtl() != nil {
		renewed.TTL = lease.GetTtl().AsDuration()
	}
	return renewed, nil
}
