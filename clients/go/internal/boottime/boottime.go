// Package boottime reads a clock that only goes ahead and counts the time for which the machine was suspended, as leases go
// on meanwhile. Go's own monotonic clock stands still then on most systems.
package boottime

import "time"

// Now is the time since some instant of the past, the same for the whole process.
func Now() time.Duration {
	return now()
}
