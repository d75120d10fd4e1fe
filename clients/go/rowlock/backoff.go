// The pause between tries. It does not decide whether to try again.

package rowlock

import (
	"math/rand/v2"
	"time"
)

const (
	backoffFirst = 100 * time.Millisecond
	// backoffMax is well below the grace period, during which the server keeps places.
	backoffMax = 2 * time.Second
)

// backoff is the pause after this many failures in a row (at least 1). It grows with each failure, and is random so
// that clients do not retry all at once.
func backoff(failures int, atLeast time.Duration) time.Duration {
	full := min(backoffMax, backoffFirst<<min(failures-1, 10))
	return max(atLeast, full/2+rand.N(full/2))
}
