//go:build linux || darwin

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

func read(clock int32) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(clock, &at); err != nil {
		// These clocks cannot fail where they exist, and without a clock no lease could be timed.
		panic("rowlock: the clock of this machine cannot be read: " + err.Error())
	}
	return time.Duration(at.Nano())
}
