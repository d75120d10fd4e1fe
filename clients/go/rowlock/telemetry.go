// What a program learns of its client beside the results: spans, metrics and a log.

package rowlock

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Telemetry takes the spans and metrics of a client, for [Config.Telemetry]. The package rowlockotel gives them to
// OpenTelemetry. Any goroutine calls the methods, several at once. They must not block. No attribute is a secret.
type Telemetry interface {
	// Start begins a span within the span of ctx, and returns a context with the new span. isRequest: the span stands
	// for a request to a server; otherwise for work of the program.
	Start(ctx context.Context, name string, isRequest bool, attributes ...slog.Attr) (context.Context, Span)
	// Traceparent returns the trace context of the span of ctx, as the W3C header traceparent has it; "" if there is
	// none.
	Traceparent(ctx context.Context) string
	// Held changes the number of leases that the client holds.
	Held(by int)
	// Waiting changes the number of requests for a lock that have no answer yet.
	Waiting(by int)
	// Waited takes the time from a request for a lock to its grant.
	Waited(wait time.Duration)
	// Lost counts a lease that ended although the client had not given it back, and how it ended, such as "expired".
	Lost(reason string)
	// RenewalLate counts a renewal without an answer after two thirds of the lease's time.
	RenewalLate()
}

// Span is a span that [Telemetry] has begun.
type Span interface {
	// End ends the span with further attributes. If failure is not "", what the span stands for has failed for that
	// reason.
	End(failure Reason, attributes ...slog.Attr)
}

// noTelemetry is that of a program without any.
type noTelemetry struct{}

func (noTelemetry) Start(ctx context.Context, _ string, _ bool, _ ...slog.Attr) (context.Context, Span) {
	return ctx, noSpan{}
}
func (noTelemetry) Traceparent(context.Context) string { return "" }
func (noTelemetry) Held(int)                           {}
func (noTelemetry) Waiting(int)                        {}
func (noTelemetry) Waited(time.Duration)               {}
func (noTelemetry) Lost(string)                        {}
func (noTelemetry) RenewalLate()                       {}

type noSpan struct{}

func (noSpan) End(Reason, ...slog.Attr) {}

// observer reports what a client does to the functions and objects of its [Config], which run outside of turns.
type observer struct {
	turns        *turns
	callbacks    *callbacks
	telemetry    Telemetry
	logger       *slog.Logger
	onConnection func(ConnectionEvent)
	// troubles were logged since a server has last answered.
	troubles map[string]bool
}

func newObserver(turns *turns, config Config) *observer {
	o := &observer{
		turns:        turns,
		callbacks:    &callbacks{turns: turns},
		telemetry:    config.Telemetry,
		logger:       config.Logger,
		onConnection: config.OnConnection,
		troubles:     map[string]bool{},
	}
	if o.telemetry == nil {
		o.telemetry = noTelemetry{}
	}
	if o.logger == nil {
		o.logger = slog.Default()
	}
	return o
}

// kept takes a lease that the client holds from now on. It is called in a turn.
func (o *observer) kept(*heldLease) {
	o.turns.afterwards(func() { o.telemetry.Held(1) })
}

// ended takes a lease that the client does not hold any more: lost if it says so, and otherwise given back. It is called
// in a turn.
func (o *observer) ended(lease *heldLease) {
	o.turns.afterwards(func() { o.telemetry.Held(-1) })
	if !lease.isLost() {
		return
	}
	reason := lossOf(lease.err)
	o.turns.afterwards(func() { o.telemetry.Lost(reason) })
	o.log(slog.LevelWarn, "rowlock: a lock is lost", append(attributesOf(lease), slog.String("reason", reason))...)
}

// late takes a lease whose renewal has no answer although two thirds of its time have passed. It is called in a turn.
func (o *observer) late(lease *heldLease) {
	o.turns.afterwards(o.telemetry.RenewalLate)
	o.log(slog.LevelWarn, "rowlock: a renewal is late", attributesOf(lease)...)
}

// connection takes a connection that has opened, or that has ended after it was open or not. It is called in a turn.
func (o *observer) connection(event ConnectionEvent, wasOpen bool) {
	if o.onConnection != nil {
		o.callbacks.run(func() { o.onConnection(event) })
	}
	address := slog.String("address", event.Address)
	switch {
	case event.IsConnected:
		// Only after trouble does it matter to an operator.
		level := slog.LevelDebug
		if len(o.troubles) > 0 {
			level = slog.LevelInfo
		}
		clear(o.troubles)
		o.log(level, "rowlock: connected", address, slog.String("via", string(event.Via)),
			slog.String("replica", event.Replica))
	case wasOpen:
		o.trouble(slog.LevelWarn, "rowlock: the connection is lost", event.Err, address)
	default:
		// If this lasts, noServer says so.
		o.trouble(slog.LevelDebug, "rowlock: no connection", event.Err, address)
	}
}

// noServer takes what is wrong with each address after no server has answered for a while. It is called in a turn.
func (o *observer) noServer(diagnoses []Diagnosis, last *Error) {
	said := sentenceOf(diagnoses)
	if said == "" && last != nil {
		said = last.Message
	}
	o.log(slog.LevelWarn, "rowlock: no server answers, and the client tries again", slog.String("error", said))
}

// waiting takes a wait that lasts. It is called in a turn. isMistaken: the client itself holds the lock, which may be a
// mistake of the program.
func (o *observer) waiting(notice Waiting, isMistaken bool) {
	level := slog.LevelInfo
	if isMistaken {
		level = slog.LevelWarn
	}
	o.log(level, "rowlock: waiting for a lock", slog.String("lock", notice.Name), slog.Duration("waited", notice.Waited),
		slog.Int("ahead", notice.Place.Ahead), slog.String("why", notice.Summary))
}

// goingAway takes a server that stops. It is called in a turn.
func (o *observer) goingAway(address string) {
	o.log(slog.LevelInfo, "rowlock: the server is going away", slog.String("address", address))
}

// hopeless takes an error with which every server would answer. It is called in a turn.
func (o *observer) hopeless(err *Error) {
	o.trouble(slog.LevelError, "rowlock: no server accepts this client", err)
}

// trouble logs what is tried again: once at its level, and then for debugging, until a server answers.
func (o *observer) trouble(level slog.Level, message string, err error, attributes ...slog.Attr) {
	var why *Error
	if errors.As(err, &why) {
		attributes = append(attributes, slog.String("reason", string(why.Reason)), slog.String("error", why.Message))
		key := message + attributes[0].String() + string(why.Reason)
		if o.troubles[key] {
			level = slog.LevelDebug
		}
		o.troubles[key] = true
	}
	o.log(level, message, attributes...)
}

func (o *observer) log(level slog.Level, message string, attributes ...slog.Attr) {
	if o.logger.Enabled(context.Background(), level) {
		o.callbacks.run(func() { o.logger.LogAttrs(context.Background(), level, message, attributes...) })
	}
}

// startLock begins the span of a request for a lock, which waits until endLock. The context is the caller's, with the
// span.
func (o *observer) startLock(ctx context.Context, name string, asked *lockOptions) (context.Context, Span) {
	o.telemetry.Waiting(1)
	return o.telemetry.Start(ctx, "rowlock.lock", true, slog.String("rowlock.lock.name", name),
		slog.String("rowlock.lock.mode", string(asked.mode)), slog.Int("rowlock.lock.permits", asked.permits))
}

// endLock ends the span of a request that has been granted, refused or given up, after this time. It is called outside
// of turns.
func (o *observer) endLock(span Span, got outcome, err error, hasWaited bool, after time.Duration) {
	o.telemetry.Waiting(-1)
	waited := slog.Bool("rowlock.waited", hasWaited)
	switch {
	case got.lock != nil:
		o.telemetry.Waited(after)
		span.End("", slog.String("rowlock.outcome", "granted"), waited, slog.Uint64("rowlock.fencing_token", got.lock.Token()))
	case got.spent != nil:
		o.telemetry.Waited(after)
		span.End("", slog.String("rowlock.outcome", "spent"), waited, slog.Uint64("rowlock.fencing_token", got.spent.Token))
	case got.refusal != nil:
		span.End("", slog.String("rowlock.outcome", lower(got.refusal.Reason)), waited)
	default:
		endFailed(span, err, waited)
	}
}

// startCapture begins the span of a capture.
func (o *observer) startCapture(ctx context.Context) (context.Context, Span) {
	return o.telemetry.Start(ctx, "rowlock.capture", true)
}

func endCapture(span Span, captured int, err error) {
	count := slog.Int("rowlock.captured", captured)
	if err != nil {
		endFailed(span, err, count)
		return
	}
	span.End("", count)
}

// endFailed ends a span with an error, of which it has only the reason, as messages may contain a request id.
func endFailed(span Span, err error, attributes ...slog.Attr) {
	failure, outcome := ErrUnknown, "error"
	var why *Error
	if errors.As(err, &why) {
		failure = why.Reason
	}
	if failure == ErrCancelled || failure == ErrClosed {
		failure, outcome = "", "cancelled"
	}
	span.End(failure, append(attributes, slog.String("rowlock.outcome", outcome))...)
}

// hold is the span of the work under a lock, from the grant to the release or the loss.
type hold struct {
	lock *Lock
	span Span
	once sync.Once
}

// startHold begins the span. The context is the caller's, with the span.
func (o *observer) startHold(ctx context.Context, lock *Lock) (context.Context, *hold) {
	ctx, span := o.telemetry.Start(ctx, "rowlock.hold", false, slog.String("rowlock.lock.name", lock.Name()),
		slog.String("rowlock.lock.mode", string(lock.Mode())), slog.Int("rowlock.lock.permits", lock.Permits()),
		slog.Uint64("rowlock.fencing_token", lock.Token()))
	return ctx, &hold{lock: lock, span: span}
}

// end ends the span once.
func (h *hold) end() {
	h.once.Do(func() {
		var why *Error
		if errors.As(h.lock.Err(), &why) && why.Reason == ErrLeaseLost {
			h.span.End(ErrLeaseLost, slog.Bool("rowlock.lost", true), slog.String("rowlock.reason", lossOf(why)))
			return
		}
		h.span.End("", slog.Bool("rowlock.lost", false))
	})
}

// endIfLost ends the span of a lock that is lost, although the work may go on.
func (h *hold) endIfLost() {
	if errors.Is(h.lock.Err(), ErrLeaseLost) {
		h.end()
	}
}

// lossOf is how a lease was lost, in lower case: how it has ended if the error says so.
func lossOf(err *Error) string {
	if err.End != nil {
		return lower(err.End.Reason)
	}
	return lower(err.Reason)
}

func lower(reason Reason) string {
	return strings.ToLower(string(reason))
}

func attributesOf(lease *heldLease) []slog.Attr {
	return []slog.Attr{slog.String("lock", lease.lockName), slog.Uint64("fencing_token", lease.token)}
}
