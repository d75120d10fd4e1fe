package rowlock

import "github.com/rowlock/rowlock/clients/go/rowlockv1"

// Mode is how a lock is held.
type Mode string

const (
	// Permit is counted: together, the holders have at most as many permits as the limit. With a limit of 1 it is a
	// mutex.
	Permit Mode = "permit"
	// Shared is one of many readers.
	Shared Mode = "shared"
	// Exclusive is the only writer.
	Exclusive Mode = "exclusive"
)

func (m Mode) proto() rowlockv1.Mode {
	switch m {
	case Shared:
		return rowlockv1.Mode_MODE_SHARED
	case Exclusive:
		return rowlockv1.Mode_MODE_EXCLUSIVE
	default:
		return rowlockv1.Mode_MODE_PERMIT
	}
}

func modeOf(mode rowlockv1.Mode) Mode {
	switch mode {
	case rowlockv1.Mode_MODE_SHARED:
		return Shared
	case rowlockv1.Mode_MODE_EXCLUSIVE:
		return Exclusive
	default:
		return Permit
	}
}
