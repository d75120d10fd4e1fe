// Durations and instants, in the protocol and in Go.

package rowlock

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
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

// protoOf converts a duration; it is nil for 0.
func protoOf(duration time.Duration) *durationpb.Duration {
	if duration == 0 {
		return nil
	}
	return durationpb.New(duration)
}

// timeOf converts an instant; the zero time stands for none.
func timeOf(at *timestamppb.Timestamp) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.AsTime()
}
