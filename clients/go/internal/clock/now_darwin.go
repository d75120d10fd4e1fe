package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// On macOS the monotonic clock goes on while the machine sleeps. Go uses another clock.
func now() time.Duration {
	return read(unix.CLOCK_MONOTONIC)
}
