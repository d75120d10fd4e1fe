package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// On macOS the monotonic clock goes on while the machine sleeps; that of Go is another one.
func now() time.Duration {
	return read(unix.CLOCK_MONOTONIC)
}
