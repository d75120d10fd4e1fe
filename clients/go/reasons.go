package rowlock

// Reason is why something failed or was refused. It is an error itself, so that errors.Is(err, rowlock.ErrLeaseLost) asks for
// it. A server may send reasons that are not among those named here: compare, and have a default.
type Reason string

// Error is the name of the reason.
func (r Reason) Error() string {
	return string(r)
}

// Reasons of the server: see the table in lock_service.proto.
const (
	// ErrBadRequest has all that is wrong with a request in [Error.Violations].
	ErrBadRequest       Reason = "BAD_REQUEST"
	ErrMalformedMessage Reason = "MALFORMED_MESSAGE"
	ErrUnknownClaim     Reason = "UNKNOWN_CLAIM"
	ErrUnknownLock      Reason = "UNKNOWN_LOCK"
	// ErrLeaseLost has in [Error.Metadata] how the lease ended, as end_reason.
	ErrLeaseLost       Reason = "LEASE_LOST"
	ErrNotGrantedYet   Reason = "NOT_GRANTED_YET"
	ErrLockInUse       Reason = "LOCK_IN_USE"
	ErrRequestIDReused Reason = "REQUEST_ID_REUSED"
	// ErrVersionMismatch has in [Error.Metadata] the version that is in force, as version.
	ErrVersionMismatch Reason = "VERSION_MISMATCH"
	ErrOverloaded      Reason = "OVERLOADED"
	ErrMessageTooLarge Reason = "MESSAGE_TOO_LARGE"
	// ErrOutcomeUnknown is that the server cannot find out whether a change was made: read it back.
	ErrOutcomeUnknown      Reason = "OUTCOME_UNKNOWN"
	ErrDatabaseUnavailable Reason = "DATABASE_UNAVAILABLE"
	ErrShuttingDown        Reason = "SHUTTING_DOWN"
	ErrSessionSilent       Reason = "SESSION_SILENT"
	ErrTimeout             Reason = "TIMEOUT"
	ErrInternal            Reason = "INTERNAL"
)

// Reasons for which a lock was refused: see [Refusal].
const (
	// ErrBusy is that others hold the lock, or wait for it.
	ErrBusy Reason = "BUSY"
	// ErrPaused is that nothing is granted at present.
	ErrPaused    Reason = "PAUSED"
	ErrQueueFull Reason = "QUEUE_FULL"
	// ErrTimedOut is that the time of [Wait] has passed.
	ErrTimedOut Reason = "TIMED_OUT"
	// ErrNeverFits is that more permits were asked for than the limit allows in all.
	ErrNeverFits Reason = "NEVER_FITS"
	// ErrNotBefore is that the lock is not due yet, ErrExhausted that it has no attempts left.
	ErrNotBefore Reason = "NOT_BEFORE"
	ErrExhausted Reason = "EXHAUSTED"
	// ErrStatusMismatch is that the lock has a status that is none of those wanted.
	ErrStatusMismatch Reason = "STATUS_MISMATCH"
	ErrLapsed         Reason = "LAPSED"
	ErrExpired        Reason = "EXPIRED"
	ErrReleased       Reason = "RELEASED"
	ErrForceReleased  Reason = "FORCE_RELEASED"
)

// Reasons of this client.
const (
	// ErrCancelled is that the caller's context was done; errors.Is tells its cause, too. It is also the refusal of a claim
	// whose place was given up.
	ErrCancelled Reason = "CANCELLED"
	// ErrNoServer is that no server has answered within [Config.GiveUpAfter].
	ErrNoServer Reason = "NO_SERVER"
	// ErrConnectionLost is that the connection was lost, and that what was asked for must not be repeated: it may have been
	// done or not.
	ErrConnectionLost Reason = "CONNECTION_LOST"
	// ErrTTLTooShort is that the way to the server takes longer than a lease of this ttl can bear.
	ErrTTLTooShort Reason = "TTL_TOO_SHORT"
	// ErrClosed is that the client was closed.
	ErrClosed Reason = "CLOSED"
	// ErrUnknown is an error without a reason, of a proxy for one.
	ErrUnknown Reason = "UNKNOWN"
)
