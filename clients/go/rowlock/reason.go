package rowlock

// Reason is why something failed or was refused. It is an error itself, for errors.Is(err, rowlock.ErrLeaseLost). A
// server may send reasons that have no constant here, so have a default case.
type Reason string

// Error returns the name of the reason.
func (r Reason) Error() string {
	return string(r)
}

// Reasons of the server: see ErrorReason in errors.proto.
const (
	// ErrBadRequest: all that is wrong with the request is in [Error.Violations].
	ErrBadRequest       Reason = "BAD_REQUEST"
	ErrMalformedMessage Reason = "MALFORMED_MESSAGE"
	ErrUnknownClaim     Reason = "UNKNOWN_CLAIM"
	ErrUnknownLock      Reason = "UNKNOWN_LOCK"
	// ErrLeaseLost: the lease has ended; [Error.End] says how.
	ErrLeaseLost       Reason = "LEASE_LOST"
	ErrNotGrantedYet   Reason = "NOT_GRANTED_YET"
	ErrLockInUse       Reason = "LOCK_IN_USE"
	ErrRequestIDReused Reason = "REQUEST_ID_REUSED"
	// ErrVersionMismatch: version in [Error.Metadata] is the version in force.
	ErrVersionMismatch Reason = "VERSION_MISMATCH"
	ErrOverloaded      Reason = "OVERLOADED"
	ErrMessageTooLarge Reason = "MESSAGE_TOO_LARGE"
	// ErrOutcomeUnknown: the server cannot find out whether a change was made. Read it back before you repeat it.
	ErrOutcomeUnknown      Reason = "OUTCOME_UNKNOWN"
	ErrDatabaseUnavailable Reason = "DATABASE_UNAVAILABLE"
	ErrShuttingDown        Reason = "SHUTTING_DOWN"
	ErrKeysUnavailable     Reason = "KEYS_UNAVAILABLE"
	ErrSessionSilent       Reason = "SESSION_SILENT"
	// ErrCredentialsMissing: the server wants to know who calls, or the Token of the [Config] has given no token.
	ErrCredentialsMissing Reason = "CREDENTIALS_MISSING"
	// ErrCredentialsWrong: the server does not know the token, or does not trust who has signed it.
	ErrCredentialsWrong Reason = "CREDENTIALS_WRONG"
	// ErrCredentialsExpired: the token or certificate is past its end. The server keeps leases and places.
	ErrCredentialsExpired Reason = "CREDENTIALS_EXPIRED"
	// ErrRightMissing: the policy of the server does not allow the call; right in [Error.Metadata] is what is missing,
	// and principal is the caller.
	ErrRightMissing Reason = "RIGHT_MISSING"
	ErrTimeout      Reason = "TIMEOUT"
	ErrInternal     Reason = "INTERNAL"
)

// Reasons for which a lock was refused or a claim has ended: see [Refusal] and [ClaimEndView].
const (
	// ErrBusy: others hold the lock or wait for it.
	ErrBusy Reason = "BUSY"
	// ErrPaused: nothing is granted at present.
	ErrPaused Reason = "PAUSED"
	// ErrQueueFull: as many wait as the server or the lock's [QueueRules] allow, or the newest would win over another principal.
	ErrQueueFull Reason = "QUEUE_FULL"
	// ErrTimedOut: the time of [Wait] has passed.
	ErrTimedOut Reason = "TIMED_OUT"
	// ErrNeverFits: the request asks for more permits than the limit, or the burst of the rate, allows in total, or for several
	// locks of which one has a queue in which the newest wins.
	ErrNeverFits Reason = "NEVER_FITS"
	// ErrNotBefore: the lock is not due yet. ErrExhausted: the lock has no attempts left.
	ErrNotBefore Reason = "NOT_BEFORE"
	ErrExhausted Reason = "EXHAUSTED"
	// ErrStatusMismatch: the lock's status is not one of those wanted.
	ErrStatusMismatch Reason = "STATUS_MISMATCH"
	ErrLapsed         Reason = "LAPSED"
	ErrExpired        Reason = "EXPIRED"
	ErrReleased       Reason = "RELEASED"
	ErrForceReleased  Reason = "FORCE_RELEASED"
	// ErrFailed: the lease was released, and its work had [Failed].
	ErrFailed Reason = "FAILED"
	// ErrRate: the rate of the lock does not allow the grant yet.
	ErrRate Reason = "RATE"
	// ErrSuperseded: a newer request took the place in the queue, as the lock's [QueueRules] say.
	ErrSuperseded Reason = "SUPERSEDED"
	// ErrSpent: the claim ended with its grant, as [Client.Spend] asks. Only [Client.ListClaims] shows it.
	ErrSpent Reason = "SPENT"
)

// Reasons of this client.
const (
	// ErrCancelled: the caller's context was done; errors.Is also matches the context's error and cause. As a refusal:
	// the claim's place was given up.
	ErrCancelled Reason = "CANCELLED"
	// ErrNoServer: no server has answered within [Config.GiveUpAfter].
	ErrNoServer Reason = "NO_SERVER"
	// ErrConnectionLost: the connection was lost before the answer, and the client does not repeat this call. The call
	// may or may not have taken effect: read back before you repeat it.
	ErrConnectionLost Reason = "CONNECTION_LOST"
	// ErrTTLTooShort: the round trip to the server takes too long for a lease with this ttl.
	ErrTTLTooShort Reason = "TTL_TOO_SHORT"
	// ErrClosed: the client was closed.
	ErrClosed Reason = "CLOSED"
	// ErrUnknown: the error has no reason, for example because a proxy sent it.
	ErrUnknown Reason = "UNKNOWN"
)
