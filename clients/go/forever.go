package rowlock

import (
	"math"
	"time"
)

// Forever is a duration without end, for [Wait], [TTL] and [Config.GiveUpAfter].
const Forever = time.Duration(math.MaxInt64)

// later is the sum of both; Forever if either of them is.
func later(at, by time.Duration) time.Duration {
	if at == Forever || by == Forever {
		return Forever
	}
	return at + by
}
