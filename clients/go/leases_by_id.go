package rowlock

import (
	"context"
	"time"
)

// RenewedLease is a lease that was renewed by its id.
type RenewedLease struct {
	LeaseID string
	Name    string
	Token   uint64
	// TTL is the time that was left when it was renewed; [Forever] for a lease without end.
	TTL time.Duration
}

// Release ends a lease, or gives up a place, by its id, and says whether it was this call that ended it. The options say what the
// lock remembers of the lease.
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

// Renew renews a lease once, by its id: to this ttl, or where that is 0 as it was asked for last.
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
