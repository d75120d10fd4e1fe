// The connection without streams: unary calls that do what a session does.

package rowlock

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// answerWithin is how long one call may take. No call waits for a lock, so a server that takes longer is not there.
	answerWithin = 10 * time.Second
	// commandsMax bounds the commands that run at once, and pollsAtOnce the calls for waits. Together they
	// stay below 100, which some proxies allow at most, so that waits do not hold renewals up.
	commandsMax = 60
	pollsAtOnce = 30
	// waitsMax is the default bound of a session.
	waitsMax = 5_000
	// unaryBytesMax is the largest bound that a server can have. A server with a smaller bound reports it itself.
	unaryBytesMax = 4 << 20
	// probedName is the lock that the client reads to see whether a server is there. Reading creates no lock.
	probedName = "rowlock/client"
)

// unaryConnection is the connection for servers without sessions and for proxies without streams. Each command is a call of
// its own, and so is the renewal of each lease. A wait is an Acquire that is repeated.
type unaryConnection struct {
	turns    *turns
	config   Config
	at       string
	listener connectionListener
	ctx      context.Context
	stop     context.CancelFunc
	// over is closed when the connection has ended.
	over    chan struct{}
	service rowlockv1.LockServiceClient
	// pollSlots holds one element for each call that asks for a place or for a waiting capture.
	pollSlots chan struct{}

	inForce *rowlockv1.SessionOpened
	// early are the commands that came before the server had answered.
	early   []*rowlockv1.SessionCommand
	running map[uint64]context.CancelFunc
	// isGoing: the server is stopping.
	isGoing   bool
	isClosing bool
	isOver    bool
}

// openUnary begins to connect.
func openUnary(turns *turns, config Config, address string, listener connectionListener) *unaryConnection {
	ctx, cancel := context.WithCancel(context.Background())
	u := &unaryConnection{
		turns:     turns,
		config:    config,
		at:        address,
		listener:  listener,
		ctx:       ctx,
		stop:      cancel,
		over:      make(chan struct{}),
		pollSlots: make(chan struct{}, pollsAtOnce),
		running:   map[uint64]context.CancelFunc{},
	}
	turns.start(u.connect)
	return u
}

func (u *unaryConnection) address() string {
	return u.at
}

func (u *unaryConnection) opened() *rowlockv1.SessionOpened {
	return u.inForce
}

func (u *unaryConnection) commandBytesMax() int {
	return unaryBytesMax
}

func (u *unaryConnection) renewalsMax() int {
	return 1
}

func (u *unaryConnection) via() Via {
	return ViaUnary
}

// acknowledge does nothing: a wait asks again by itself, which confirms its lease.
func (u *unaryConnection) acknowledge() {}

func (u *unaryConnection) send(command *rowlockv1.SessionCommand) {
	if u.inForce == nil {
		u.early = append(u.early, command)
		return
	}
	u.begin(command)
}

func (u *unaryConnection) cancel(call uint64) bool {
	isIt := func(command *rowlockv1.SessionCommand) bool { return command.GetCall() == call }
	u.early = slices.DeleteFunc(u.early, isIt)
	end := u.running[call]
	if end != nil {
		end()
	}
	return end != nil
}

func (u *unaryConnection) hasSent(call uint64) bool {
	return !slices.ContainsFunc(u.early, func(command *rowlockv1.SessionCommand) bool { return command.GetCall() == call })
}

func (u *unaryConnection) close(within time.Duration) <-chan struct{} {
	if !u.isOver {
		u.isClosing = true
		u.turns.after(within, u.destroy)
		u.endIfIdle()
	}
	return u.over
}

func (u *unaryConnection) destroy() {
	if u.isOver {
		return
	}
	u.isOver = true
	u.stop()
	close(u.over)
}

func (u *unaryConnection) end(err *Error) {
	if u.isOver {
		return
	}
	u.destroy()
	if !u.isClosing {
		u.listener.ended(u, err)
	}
}

func (u *unaryConnection) endIfIdle() {
	if (u.isGoing || u.isClosing) && len(u.running) == 0 {
		u.end(newError(ErrShuttingDown, codes.Unavailable, u.at+" has stopped"))
	}
}

// connect checks whether a server is there, and keeps the connection until it is over.
func (u *unaryConnection) connect() {
	ctx, conn, failed := connectTo(u.ctx, u.turns, u.at, u.config)
	if failed != nil {
		u.turns.take(func() { u.end(failed) })
		return
	}
	defer conn.Close()
	u.ctx, u.service = ctx, rowlockv1.NewLockServiceClient(conn)
	asked := u.turns.now()
	_, err := u.service.GetLock(ctx, &rowlockv1.GetLockRequest{Name: probedName})
	u.turns.take(func() {
		if failed := errorOfCall(err); err != nil && (!failed.isOfServer() || failed.isOfCredentials()) {
			u.end(failed)
		} else {
			u.isThere(asked)
		}
	})
	<-ctx.Done()
}

func (u *unaryConnection) isThere(asked time.Duration) {
	if u.isOver {
		return
	}
	u.inForce = &rowlockv1.SessionOpened{WaitsMax: waitsMax, CommandsMax: commandsMax}
	early := u.early
	u.early = nil
	u.listener.responded(u, &rowlockv1.SessionResponse{Opened: u.inForce}, asked)
	for _, command := range early {
		u.begin(command)
	}
}

// begin runs a command in a goroutine of its own.
func (u *unaryConnection) begin(command *rowlockv1.SessionCommand) {
	if u.isOver {
		return
	}
	ctx := u.ctx
	if traceparent := command.GetTraceparent(); traceparent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", traceparent)
	}
	ctx, cancel := context.WithCancel(ctx)
	call := command.GetCall()
	u.running[call] = cancel
	u.turns.start(func() {
		basis, result, err := u.run(ctx, command)
		u.turns.take(func() {
			cancel()
			delete(u.running, call)
			// The listener ignores answers of a cancelled call, but must learn that the connection has ended.
			if !u.isOver {
				u.answer(call, basis, result, err)
			}
			u.endIfIdle()
		})
	})
}

// answer reports the outcome of a command as a session would.
func (u *unaryConnection) answer(call uint64, basis time.Duration, result *rowlockv1.SessionResult, err error) {
	response := &rowlockv1.SessionResponse{}
	var failed *Error
	if err != nil {
		failed = errorOfCall(err)
		if isConnectionLost(failed) {
			u.end(failed)
			return
		}
		result = &rowlockv1.SessionResult{Result: &rowlockv1.SessionResult_Error{Error: statusOf(err)}}
		u.isGoing = u.isGoing || failed.Reason == ErrShuttingDown
		response.GoingAway = u.isGoing
	}
	result.Call = call
	response.Results = []*rowlockv1.SessionResult{result}
	u.listener.responded(u, response, basis)
	if failed != nil && failed.isOfCredentials() {
		// As a session would end.
		u.end(failed)
	}
}

// isConnectionLost reports whether no server has answered the call.
func isConnectionLost(err *Error) bool {
	return err.Code == codes.DeadlineExceeded || err.Code == codes.Unavailable && !err.isOfServer()
}

// owned is the request with the owner and labels that a session sends once for all claims.
func (u *unaryConnection) owned(request *rowlockv1.AcquireRequest) *rowlockv1.AcquireRequest {
	request = proto.CloneOf(request)
	request.Terms = u.ownedTerms(request.GetTerms())
	return request
}

// ownedTerms are the terms with that owner and those labels.
func (u *unaryConnection) ownedTerms(terms *rowlockv1.LeaseTerms) *rowlockv1.LeaseTerms {
	owned := proto.CloneOf(terms)
	owned.Owner = cmp.Or(terms.GetOwner(), u.config.Owner)
	owned.Labels = map[string]string{}
	maps.Copy(owned.Labels, u.config.Labels)
	maps.Copy(owned.Labels, terms.GetLabels())
	return owned
}

// run runs a command, and returns its last result and when that was asked for. A wait reports its places on the way.
func (u *unaryConnection) run(ctx context.Context, command *rowlockv1.SessionCommand) (
	time.Duration, *rowlockv1.SessionResult, error,
) {
	if wait, ok := command.GetCommand().(*rowlockv1.SessionCommand_WaitInQueue); ok {
		return u.wait(ctx, command.GetCall(), wait.WaitInQueue)
	}
	if capture, ok := command.GetCommand().(*rowlockv1.SessionCommand_Capture); ok {
		return u.capture(ctx, capture.Capture)
	}
	if watch, ok := command.GetCommand().(*rowlockv1.SessionCommand_WatchLocks); ok {
		return u.watch(ctx, command.GetCall(), watch.WatchLocks)
	}
	basis := u.turns.now()
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	result, err := u.ask(ctx, command)
	return basis, result, err
}

func (u *unaryConnection) ask(ctx context.Context, command *rowlockv1.SessionCommand) (*rowlockv1.SessionResult, error) {
	result := &rowlockv1.SessionResult{}
	switch asked := command.GetCommand().(type) {
	case *rowlockv1.SessionCommand_Acquire:
		answer, err := u.service.Acquire(ctx, u.owned(asked.Acquire))
		result.Result = &rowlockv1.SessionResult_Acquire{Acquire: answer}
		return result, err
	case *rowlockv1.SessionCommand_Renew:
		answer, err := u.service.Renew(ctx, asked.Renew)
		result.Result = &rowlockv1.SessionResult_Renew{Renew: answer}
		return result, err
	case *rowlockv1.SessionCommand_RenewLeases:
		answer, err := u.renewLeases(ctx, asked.RenewLeases)
		result.Result = &rowlockv1.SessionResult_RenewLeases{RenewLeases: answer}
		return result, err
	case *rowlockv1.SessionCommand_Release:
		answer, err := u.service.Release(ctx, asked.Release)
		result.Result = &rowlockv1.SessionResult_Release{Release: answer}
		return result, err
	case *rowlockv1.SessionCommand_UpdateRecord:
		answer, err := u.service.UpdateRecord(ctx, asked.UpdateRecord)
		result.Result = &rowlockv1.SessionResult_UpdateRecord{UpdateRecord: answer}
		return result, err
	case *rowlockv1.SessionCommand_DeleteRecord:
		answer, err := u.service.DeleteRecord(ctx, asked.DeleteRecord)
		result.Result = &rowlockv1.SessionResult_DeleteRecord{DeleteRecord: answer}
		return result, err
	case *rowlockv1.SessionCommand_SetLimit:
		answer, err := u.service.SetLimit(ctx, asked.SetLimit)
		result.Result = &rowlockv1.SessionResult_SetLimit{SetLimit: answer}
		return result, err
	case *rowlockv1.SessionCommand_GetLock:
		answer, err := u.service.GetLock(ctx, asked.GetLock)
		result.Result = &rowlockv1.SessionResult_GetLock{GetLock: answer}
		return result, err
	case *rowlockv1.SessionCommand_ListLocks:
		answer, err := u.service.ListLocks(ctx, asked.ListLocks)
		result.Result = &rowlockv1.SessionResult_ListLocks{ListLocks: answer}
		return result, err
	case *rowlockv1.SessionCommand_ListLimits:
		answer, err := u.service.ListLimits(ctx, asked.ListLimits)
		result.Result = &rowlockv1.SessionResult_ListLimits{ListLimits: answer}
		return result, err
	case *rowlockv1.SessionCommand_ListClaims:
		answer, err := u.service.ListClaims(ctx, asked.ListClaims)
		result.Result = &rowlockv1.SessionResult_ListClaims{ListClaims: answer}
		return result, err
	case *rowlockv1.SessionCommand_ListChanges:
		answer, err := u.service.ListChanges(ctx, asked.ListChanges)
		result.Result = &rowlockv1.SessionResult_ListChanges{ListChanges: answer}
		return result, err
	case *rowlockv1.SessionCommand_ExplainWait:
		answer, err := u.service.ExplainWait(ctx, asked.ExplainWait)
		result.Result = &rowlockv1.SessionResult_ExplainWait{ExplainWait: answer}
		return result, err
	case *rowlockv1.SessionCommand_ForceRelease:
		answer, err := u.service.ForceRelease(ctx, asked.ForceRelease)
		result.Result = &rowlockv1.SessionResult_ForceRelease{ForceRelease: answer}
		return result, err
	default:
		return nil, fmt.Errorf("there is no unary call for %T", asked)
	}
}

func (u *unaryConnection) renewLeases(ctx context.Context, asked *rowlockv1.RenewLeases) (*rowlockv1.RenewedLeases, error) {
	renewed := &rowlockv1.RenewedLeases{}
	for _, one := range asked.GetLeases() {
		answer, err := u.service.Renew(ctx, one)
		outcome := &rowlockv1.RenewedLease{Outcome: &rowlockv1.RenewedLease_Lease{Lease: answer.GetLease()}}
		if err != nil {
			failed := errorOfCall(err)
			if isConnectionLost(failed) || failed.isOfCredentials() || failed.Reason == ErrShuttingDown {
				return nil, err
			}
			outcome.Outcome = &rowlockv1.RenewedLease_Error{Error: statusOf(err)}
		}
		renewed.Leases = append(renewed.Leases, outcome)
	}
	return renewed, nil
}
