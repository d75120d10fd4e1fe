package rowlock

import (
	"context"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// ForceReleased is what an operator has ended.
type ForceReleased struct {
	// Ended are the claims as they stood before.
	Ended []Claim
	// Remaining is how many holders are left: with any, repeat the call.
	Remaining uint32
}

// ForceRelease ends all holders of a lock, up to 500 in one call: an operator's tool. It is not repeated when its answer is lost,
// as that would end those who were granted the lock by it, but fails with [ErrConnectionLost].
func (c *Client) ForceRelease(ctx context.Context, name, reason string) (ForceReleased, error) {
	return c.forceRelease(ctx, ifUnsent, &rowlockv1.ForceReleaseRequest{
		Target: &rowlockv1.ForceReleaseRequest_Name{Name: name},
		Reason: reason,
	})
}

// ForceReleaseClaim ends one holder or waiter, by the lock's name and the number of its ticket there.
func (c *Client) ForceReleaseClaim(
	ctx context.Context, name string, ticketNumber uint64, reason string,
) (ForceReleased, error) {
	claim := &rowlockv1.ClaimReference{LockName: name, TicketNumber: ticketNumber}
	return c.forceRelease(ctx, always, &rowlockv1.ForceReleaseRequest{
		Target: &rowlockv1.ForceReleaseRequest_Claim{Claim: claim},
		Reason: reason,
	})
}

func (c *Client) forceRelease(
	ctx context.Context, repeat repeating, request *rowlockv1.ForceReleaseRequest,
) (ForceReleased, error) {
	result, err := c.ask(ctx, &demand{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ForceRelease{ForceRelease: request}},
		kind:    ordinary,
		repeat:  repeat,
	})
	answer := result.GetForceRelease()
	return ForceReleased{claimsOf(answer.GetEnded()), answer.GetRemaining()}, err
}
