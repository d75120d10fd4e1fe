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
)

// Error is what the methods of this package fail with, beside [OptionError]: what a server has said, what was refused where a
// lock was demanded, and what the client finds itself. errors.Is(err, reason) asks for its reason.
type Error struct {
	// Reason is what a program acts on.
	Reason Reason
	// Code is the code of gRPC.
	Code codes.Code
	// Message is for people, and not stable.
	Message string
	// Violations is all that is wrong with a request, for [ErrBadRequest].
	Violations []Violation
	// RetryAfter is when another try can help, as the server says; 0 where it does not.
	RetryAfter time.Duration
	// Metadata is what the server adds for programs, such as end_reason of [ErrLeaseLost].
	Metadata map[string]string
	// Refusal is set where a lock was refused.
	Refusal *Refusal

	causes []error
}

// Violation is what is wrong with one field of a request.
type Violation struct {
	Field       string
	Description string
}

func (e *Error) Error() string {
	return fmt.Sprintf("rowlock: %s: %s", e.Reason, e.Message)
}

// Is says whether the target is its reason.
func (e *Error) Is(target error) bool {
	reason, ok := target.(Reason)
	return ok && reason == e.Reason
}

// Unwrap is what it came from, such as the cause of the context that is done.
func (e *Error) Unwrap() []error {
	return e.causes
}

// isUndone says whether the server has answered that nothing was done.
func (e *Error) isUndone() bool {
	return e.Reason == ErrOverloaded || e.Reason == ErrDatabaseUnavailable || e.Reason == ErrShuttingDown
}

// isTransient says whether the same call, a little later, may well succeed.
func (e *Error) isTransient() bool {
	return e.Code == codes.Unavailable || e.Reason == ErrOverloaded
}

// refusesSession says whether a session that ends so before it has opened has taken no command.
func (e *Error) refusesSession() bool {
	return slices.Contains(hopelessCodes, e.Code) || e.Code == codes.Unimplemented
}

// leavesDoubt says whether what was asked for may have been done all the same, where a server may know of it.
func (e *Error) leavesDoubt() bool {
	switch e.Code {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.Aborted:
		return false
	default:
		return true
	}
}

// mayBeHeld is the same error, of a request for a lease without end that a server may have granted.
func (e *Error) mayBeHeld(name, requestID string, isGivenBack bool) *Error {
	rest := "ask for it again under that request id, or release it"
	if isGivenBack {
		rest = "this client goes on giving it back"
	}
	doubted := *e
	doubted.Message = fmt.Sprintf("%s; the lock %q may be held, under the request id %s: %s", e.Message, name, requestID, rest)
	doubted.Metadata = map[string]string{}
	maps.Copy(doubted.Metadata, e.Metadata)
	doubted.Metadata["request_id"] = requestID
	return &doubted
}

// isOfServer says whether a server of Rowlock has said it, and not something on the way there.
func (e *Error) isOfServer() bool {
	return e.Reason != ErrUnknown
}

func newError(reason Reason, code codes.Code, message string, causes ...error) *Error {
	return &Error{Reason: reason, Code: code, Message: message, causes: causes}
}

// errorOfCall is what a connection or a unary call has failed with.
func errorOfCall(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	found, _ := status.FromError(err)
	failed := errorOfStatus(found.Proto())
	failed.causes = []error{err}
	return failed
}

// errorOfStatus is what a call of a session has failed with.
func errorOfStatus(failed *statuspb.Status) *Error {
	err := newError(ErrUnknown, codes.Code(failed.GetCode()), failed.GetMessage())
	for _, detail := range status.FromProto(failed).Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.GetDomain() == "rowlock" {
				err.Reason = Reason(detail.GetReason())
				err.Metadata = detail.GetMetadata()
			}
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

func refusedError(name string, refusal *Refusal) *Error {
	err := newError(refusal.Reason, codes.FailedPrecondition,
		fmt.Sprintf("the lock %q was not granted: %s", name, refusal.Message))
	err.Refusal = refusal
	err.RetryAfter = refusal.RetryAfter
	return err
}

func closedError() *Error {
	return newError(ErrClosed, codes.Canceled, "this client was closed")
}

// cancelledError is for a context that is done.
func cancelledError(ctx context.Context) *Error {
	code := codes.Canceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	cause := context.Cause(ctx)
	return newError(ErrCancelled, code, "the caller gave up: "+cause.Error(), ctx.Err(), cause)
}

// statusOf is what a unary call has failed with, as a session would say it.
func statusOf(err error) *statuspb.Status {
	found, _ := status.FromError(err)
	return found.Proto()
}
