//go:build !linux && !darwin && !windows

package boottime

import "time"

var start = time.Now()

// Whether this counts a suspension is up to the system.
func now() time.Duration {
	return time.Since(start)
}
