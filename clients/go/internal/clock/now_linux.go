package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

func now() time.Duration {
	return read(unix.CLOCK_BOOTTIME)
}
