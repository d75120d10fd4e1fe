package rowlock

import (
	"math/rand/v2"
	"time"
)

const (
	backoffFirst = 100 * time.Millisecond
	// backoffMax is well within the grace period, for which places are kept.
	backoffMax = 2 * time.Second
)

// backoff is how long to leave a server alone after so many failures in a row, from 1 on: longer each time, and not the same
// for all clients.
func backoff(failures int, atLeast time.Duration) time.Duration {
	full := min(backoffMax, backoffFirst<<min(failures-1, 10))
	return max(atLeast, full/2+rand.N(full/2))
}
