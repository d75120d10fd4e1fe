package clock

import (
	"time"

	"golang.org/x/sys/windows"
)

func now() time.Duration {
	return windows.DurationSinceBoot()
}
