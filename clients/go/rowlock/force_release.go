package rowlock

import (
	"context"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// ForceReleased is the result of a force release.
type ForceReleased struct {
	// Ended are the claims, each with its End.
	Ended []ClaimView `json:"ended"`
	// Remaining is how many holders this call has left; above 0, repeat the call.
	Remaining uint32 `json:"remaining"`
}

// ForceRelease ends all holders of a lock, up to 500 in one call: an operator's tool. The reason is required, 1 to 255
// bytes. If the answer is lost, ForceRelease is not repeated but fails with [ErrConnectionLost], because a repeat would
// end the holders that were granted the lock since. Read the lock back before you call it again.
func (c *Client) ForceRelease(ctx context.Context, name, reason string) (ForceReleased, error) {
	return c.forceRelease(ctx, repeatUnsent, &rowlockv1.ForceReleaseRequest{
		Target: &rowlockv1.ForceReleaseRequest_Name{Name: name},
		Reason: reason,
	})
}

// ForceReleaseClaim ends one holder or waiter, by the lock's name and its ticket number there: see
// [ClaimView.TicketNumber]. The reason is required, 1 to 255 bytes. It is safe to repeat.
func (c *Client) ForceReleaseClaim(
	ctx context.Context, name string, ticketNumber uint64, reason string,
) (ForceReleased, error) {
	claim := &rowlockv1.ClaimReference{LockName: name, TicketNumber: ticketNumber}
	return c.forceRelease(ctx, repeatAlways, &rowlockv1.ForceReleaseRequest{
		Target: &rowlockv1.ForceReleaseRequest_Claim{Claim: claim},
		Reason: reason,
	})
}

func (c *Client) forceRelease(
	ctx context.Context, repeat repeating, request *rowlockv1.ForceReleaseRequest,
) (ForceReleased, error) {
	result, err := c.ask(ctx, &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ForceRelease{ForceRelease: request}},
		kind:    kindOther,
		repeat:  repeat,
	})
	answer := result.GetForceRelease()
	return ForceReleased{claimsOf(answer.GetEnded()), answer.GetRemaining()}, err
}
