// The errors of this package, and how they are read from gRPC.

package rowlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// Error is what the methods of this package fail with, apart from [OptionError]. It is an error that a server has sent,
// a refusal where a lock was required, or an error of the client itself. Use errors.Is(err, reason) to test its Reason.
type Error struct {
	// Reason is what a program acts on.
	Reason Reason `json:"reason"`
	// Code is the gRPC status code.
	Code codes.Code `json:"code"`
	// Message is for people, and not stable.
	Message string `json:"message"`
	// Violations lists all that is wrong with the request, for [ErrBadRequest].
	Violations []Violation `json:"violations"`
	// RetryAfter is how long to wait before another try can help, according to the server; 0 if the server sent none.
	RetryAfter time.Duration `json:"retryAfterNs"`
	// Metadata holds further values for programs, such as version for [ErrVersionMismatch].
	Metadata map[string]string `json:"metadata"`
	// End is how the lease ended, for [ErrLeaseLost]. If this client has not renewed the lease in time, it has only the
	// Reason [ErrExpired].
	End *ClaimEndView `json:"end,omitzero"`
	// Refusal is set if a lock was refused.
	Refusal *Refusal `json:"refusal,omitzero"`
	// Diagnoses say what is at each address where no server answers, for [ErrNoServer].
	Diagnoses []Diagnosis `json:"diagnoses"`

	causes []error
}

// Violation describes what is wrong with one field of a request.
type Violation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("rowlock: %s: %s", e.Reason, e.Message)
}

// Is reports whether target is the error's Reason.
func (e *Error) Is(target error) bool {
	reason, ok := target.(Reason)
	return ok && reason == e.Reason
}

// Unwrap returns the causes, such as the error and cause of the context that is done.
func (e *Error) Unwrap() []error {
	return e.causes
}

// isUndone reports whether the server has answered that nothing was done.
func (e *Error) isUndone() bool {
	return e.Reason == ErrOverloaded || e.Reason == ErrDatabaseUnavailable || e.Reason == ErrShuttingDown || e.Reason == ErrKeysUnavailable || e.isOfCredentials()
}

// isHopeless reports whether no waiting heals what is wrong with each address.
func (e *Error) isHopeless() bool {
	return len(e.Diagnoses) > 0 && !slices.ContainsFunc(e.Diagnoses, func(one Diagnosis) bool { return one.Kind.mayHeal() })
}

// isOfCredentials reports whether the server does not accept who calls, or the client has no token.
func (e *Error) isOfCredentials() bool {
	return e.Reason == ErrCredentialsMissing || e.Reason == ErrCredentialsWrong || e.Reason == ErrCredentialsExpired
}

// isTransient reports whether the same call may succeed a little later. If the server refuses the credentials of a unary
// call, the next connection decides whether others help.
func (e *Error) isTransient() bool {
	return e.Code == codes.Unavailable || e.Reason == ErrOverloaded || e.isOfCredentials()
}

// refusesSession reports whether this error, at the end of a session that never opened, means that the server has taken
// no command.
func (e *Error) refusesSession() bool {
	return slices.Contains(hopelessCodes, e.Code) || e.Code == codes.Unimplemented
}

// leavesDoubt reports whether a server that knew of the call may have carried it out nevertheless.
func (e *Error) leavesDoubt() bool {
	if e.Reason == ErrRightMissing {
		return false
	}
	switch e.Code {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.Aborted:
		return false
	default:
		return true
	}
}

// mayBeHeld is this error for a request for a lease without end that a server may have granted. Its message and
// metadata name the request id.
func (e *Error) mayBeHeld(name, requestID string, isGivenBack bool) *Error {
	rest := "acquire it again with that request id, or release it"
	if isGivenBack {
		rest = "this client keeps trying to release it"
	}
	doubted := *e
	doubted.Message = fmt.Sprintf("%s; the lock %q may be held, under the request id %s: %s", e.Message, name, requestID, rest)
	doubted.Metadata = map[string]string{}
	maps.Copy(doubted.Metadata, e.Metadata)
	doubted.Metadata["request_id"] = requestID
	return &doubted
}

// besides is this error with that of the work, which is also among its causes.
func (e *Error) besides(worked error) *Error {
	both := *e
	both.causes = append(slices.Clone(e.causes), worked)
	// Work that stops because of the loss has nothing to add.
	if !errors.Is(worked, context.Canceled) {
		both.Message = fmt.Sprintf("%s; and the work failed: %v", e.Message, worked)
	}
	return &both
}

// isOfServer reports whether a Rowlock server has sent the error, and not something on the way there.
func (e *Error) isOfServer() bool {
	return e.Reason != ErrUnknown
}

func newError(reason Reason, code codes.Code, message string, causes ...error) *Error {
	return &Error{Reason: reason, Code: code, Message: message, causes: causes}
}

// errorOfCall converts the error of a connection or of a unary call.
func errorOfCall(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	found, _ := status.FromError(err)
	failed := errorOfStatus(found.Proto())
	failed.causes = []error{err}
	return failed
}

// whatToDo about credentials that a server refuses. The server's own sentence knows nothing of this client.
var whatToDo = map[Reason]string{
	ErrCredentialsMissing: "set the Token of the Config, or a client certificate in its TLS",
	ErrCredentialsWrong:   "check what the Token of the Config gives",
	ErrCredentialsExpired: "the Token of the Config, or the client certificate in its TLS, must be a newer one",
}

// errorOfStatus converts the status of a call in a session.
func errorOfStatus(failed *statuspb.Status) *Error {
	err := newError(ErrUnknown, codes.Code(failed.GetCode()), failed.GetMessage())
	for _, detail := range status.FromProto(failed).Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.GetDomain() == "rowlock" {
				err.Reason = Reason(detail.GetReason())
				err.Metadata = detail.GetMetadata()
				if advice := whatToDo[err.Reason]; advice != "" {
					err.Message = fmt.Sprintf("%s (%s)", err.Message, advice)
				}
			}
		case *rowlockv1.ClaimEnd:
			err.End = claimEndOf(detail)
		case *errdetails.RetryInfo:
			err.RetryAfter = detail.GetRetryDelay().AsDuration()
		case *errdetails.BadRequest:
			for _, field := range detail.GetFieldViolations() {
				err.Violations = append(err.Violations, Violation{field.GetField(), field.GetDescription()})
			}
		}
	}
	return err
}

// lostError is the error for a lease that has ended in this way.
func lostError(end *ClaimEndView, message string, causes ...error) *Error {
	err := newError(ErrLeaseLost, codes.FailedPrecondition, message, causes...)
	err.End = end
	return err
}

// expired is the end of a lease that was not renewed in time, as far as this client knows by itself.
func expired() *ClaimEndView {
	return &ClaimEndView{Reason: ErrExpired}
}

func refusedError(name string, refusal *Refusal) *Error {
	if refusal.LockName != "" {
		name = refusal.LockName
	}
	err := newError(refusal.Reason, codes.FailedPrecondition,
		fmt.Sprintf("the lock %q was not granted: %s", name, refusal.Message))
	err.Refusal = refusal
	err.RetryAfter = refusal.RetryAfter
	return err
}

func closedError() *Error {
	return newError(ErrClosed, codes.Canceled, "this client was closed")
}

// cancelledError is the error for a context that is done.
func cancelledError(ctx context.Context) *Error {
	code := codes.Canceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	cause := context.Cause(ctx)
	return newError(ErrCancelled, code, "the context is done: "+cause.Error(), ctx.Err(), cause)
}

// statusOf is the status of a failed unary call, as a session would send it.
func statusOf(err error) *statuspb.Status {
	found, _ := status.FromError(err)
	return found.Proto()
}
