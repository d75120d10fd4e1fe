// The client: its public calls, and how its parts are put together. The parts do the work.

package rowlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rowlock/rowlock/clients/go/internal/clock"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// giveBackWithin and closeWithin bound the two steps of Close: giving back what is held, and closing the connection
	// in good order.
	giveBackWithin = 2 * time.Second
	closeWithin    = time.Second
)

// Client holds all locks of a program over one connection. All methods can be called from any goroutine. Calls fail
// with an [*Error], or with an [*OptionError] before any server was asked.
type Client struct {
	config      Config
	turns       turns
	observer    *observer
	connections *connections
	calls       *calls
	keeper      *leaseKeeper
	verbs       *verbs
	// asking are the locks and captures without an outcome.
	asking map[asking]struct{}
	locks  heldLocks
	waits  waitLedger
	// requests are the request ids that callers have chosen, while calls ask under them.
	requests requests
	// leftBehind are the claims that a server may have granted without the client having heard of it.
	leftBehind map[*leftBehind]struct{}
	// heir gives back what this client could not give back before it was closed; nil while there is nothing.
	heir     *Client
	isClosed bool
	// isOver: Close has waited long enough, and nothing more is sent.
	isOver bool
	closed chan struct{}
}

// asking is an [acquisition], a [capture] or a [watch]. Its methods are called in turns.
type asking interface {
	begin()
	abandon(why *Error)
}

// Connect makes a client. It sends nothing: the client connects when something is asked for. Connect fails only for a
// configuration that cannot work, with an [*OptionError].
func Connect(config Config) (*Client, error) {
	config, err := config.checked()
	if err != nil {
		return nil, err
	}
	return newClient(config, clock.Now), nil
}

func newClient(config Config, now func() time.Duration) *Client {
	c := &Client{
		config:     config,
		turns:      turns{now: now},
		asking:     map[asking]struct{}{},
		waits:      waitLedger{first: map[string]*acquisition{}},
		requests:   requests{},
		leftBehind: map[*leftBehind]struct{}{},
		closed:     make(chan struct{}),
	}
	c.observer = newObserver(&c.turns, config)
	c.connections = newConnections(&c.turns, config, c, c.observer)
	c.calls = &calls{
		turns:     &c.turns,
		config:    config,
		need:      c.connections.need,
		lastError: func() *Error { return c.connections.lastError },
		diagnoses: c.connections.reach.all,
		open:      map[*call]struct{}{},
		byNumber:  map[uint64]*call{},
	}
	c.locks = heldLocks{client: c, byID: map[string]*Lock{}}
	c.keeper = &leaseKeeper{
		turns: &c.turns, calls: c.calls, connections: c.connections, observer: c.observer, held: map[string]*heldLease{},
	}
	c.verbs = &verbs{turns: &c.turns, calls: c.calls, giveUpAfter: config.GiveUpAfter, inherit: c.inherit}
	return c
}

// Lock waits for the lock, with [Also] for several at once, and holds it. The client renews it until it is released; defer [Lock.Close]. If the lock is
// refused, Lock fails with the reason of the refusal, for example [ErrTimedOut]. When ctx is done, Lock fails with
// [ErrCancelled], and the place in the queue is free at once. Calling Lock again after an error is safe.
func (c *Client) Lock(ctx context.Context, name string, options ...LockOption) (*Lock, error) {
	lock, refusal, err := c.Acquire(ctx, name, options...)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusedError(name, refusal)
	}
	return lock, nil
}

// TryLock returns the lock and true if the lock is free and due now. It returns false if the lock is busy, paused or
// not due, or if its rate does not allow the grant yet. Other refusals are errors.
func (c *Client) TryLock(ctx context.Context, name string, options ...LockOption) (*Lock, bool, error) {
	lock, refusal, err := c.Acquire(ctx, name, butTry(options)...)
	switch {
	case err != nil:
		return nil, false, err
	case refusal == nil:
		return lock, true, nil
	case refusal.isOfNow():
		return nil, false, nil
	default:
		return nil, false, refusedError(name, refusal)
	}
}

// WithLock waits for the lock, runs work while holding it, and releases it. The context of work is cancelled when the
// lock is lost, with the error as its cause; work should stop then. WithLock returns the error of work. If the lock was
// lost before work had finished and a server had confirmed the release, WithLock fails with [ErrLeaseLost], because others
// may have run at the same time. It waits for that until the end of the lease, and only briefly once ctx is done.
func (c *Client) WithLock(
	ctx context.Context, name string, work func(ctx context.Context, lock *Lock) error, options ...LockOption,
) (err error) {
	lock, err := c.Lock(ctx, name, options...)
	if err != nil {
		return err
	}
	ctx, hold := c.observer.startHold(ctx, lock)
	defer hold.end()
	defer func() { err = scopeError(lock.leave(ctx), err) }()
	working, cancel := lock.Context(ctx)
	defer cancel()
	defer context.AfterFunc(working, hold.endIfLost)()
	return work(working, lock)
}

// scopeError is the error of a scope whose end and whose work have failed with these. A loss does not hide the error of the
// work, nor that the loss.
func scopeError(left, worked error) error {
	var lost *Error
	switch {
	case worked == nil:
		return left
	case errors.As(left, &lost) && lost.Reason == ErrLeaseLost && !errors.Is(worked, ErrLeaseLost):
		return lost.besides(worked)
	default:
		return worked
	}
}

// Acquire returns the lock, or a refusal with the reason, for callers to whom a refusal is an answer and not an error.
// Exactly one of the three results is not nil. Otherwise it acts as [Client.Lock].
func (c *Client) Acquire(ctx context.Context, name string, options ...LockOption) (*Lock, *Refusal, error) {
	asked, err := lockOptionsOf(options)
	if err != nil {
		return nil, nil, err
	}
	got, err := c.acquire(ctx, name, asked)
	return got.lock, got.refusal, err
}

// acquire asks for a lock or a spend. Its outcome has no failure: that is the error.
func (c *Client) acquire(ctx context.Context, name string, asked *lockOptions) (got outcome, err error) {
	if wrong := wrongText(asked.request(name, asked.requestID)); wrong != nil {
		return outcome{}, wrong
	}
	ctx, span := c.observer.startLock(ctx, name, asked)
	acquisition := newAcquisition(c, name, asked, c.observer.telemetry.Traceparent(ctx))
	if !asked.isSpend {
		acquisition.own = c.carriedBy(ctx, acquisition.names())
	}
	began, hasWaited := c.turns.now(), false
	defer func() { c.observer.endLock(span, got, err, hasWaited, c.turns.now()-began) }()
	if err := c.begin(ctx, acquisition); err != nil {
		return outcome{}, err
	}
	defer c.turns.take(func() {
		hasWaited = acquisition.hasWaited
		delete(c.asking, acquisition)
	})
	got = acquisition.run(ctx)
	if got.failure != nil {
		return outcome{}, got.failure
	}
	return got, nil
}

// begin starts an acquisition or a capture, unless ctx is done or the client is closed.
func (c *Client) begin(ctx context.Context, one asking) error {
	if ctx.Err() != nil {
		return cancelledError(ctx)
	}
	isClosed := false
	c.turns.take(func() {
		if isClosed = c.isClosed; !isClosed {
			c.asking[one] = struct{}{}
			one.begin()
		}
	})
	if isClosed {
		return closedError()
	}
	return nil
}

// Close gives up all waits, releases all locks, and closes the connection. It takes a few seconds at most, never fails,
// and can be called twice. If no server answers in that time, leases end with their ttl. Leases without end are given
// back as soon as a server answers, for as long as the program lives.
func (c *Client) Close() error {
	var idle <-chan struct{}
	isFirst := false
	c.turns.take(func() {
		isFirst = !c.isClosed
		c.isClosed = true
		if !isFirst {
			return
		}
		for one := range c.asking {
			one.abandon(closedError())
		}
		c.calls.failUnsent(closedError())
		for one := range c.leftBehind {
			one.lookNow()
		}
		c.locks.releaseAll()
		// A first request may be on its way, and the server may grant what it asks for, before the client has heard
		// anything.
		idle = c.calls.whenIdle()
		c.connections.hurry()
	})
	if !isFirst {
		<-c.closed
		return nil
	}
	defer close(c.closed)
	if idle != nil {
		select {
		case <-idle:
		case <-time.After(giveBackWithin):
		}
	}
	var over []<-chan struct{}
	c.turns.take(func() {
		c.keeper.stop()
		c.isOver = true
		c.calls.failAll(closedError())
		over = c.connections.close(closeWithin)
	})
	if c.heir != nil {
		go c.heir.closeWhenDone()
	}
	for _, one := range over {
		<-one
	}
	c.turns.goroutines.Wait()
	return nil
}

func (c *Client) isNeeding() bool {
	return len(c.calls.open) > 0 || len(c.keeper.held) > 0
}

func (c *Client) begun(on connection) {
	c.keeper.begun(on)
	c.calls.begun(on)
}

func (c *Client) responded(from connection, response *rowlockv1.SessionResponse, basis time.Duration) {
	c.keeper.confirmed(response.GetConfirmed(), basis)
	c.calls.results(response.GetResults(), basis)
	c.keeper.lost(response.GetLost())
	if response.GetOpened() != nil {
		c.calls.pump()
	}
	for _, result := range response.GetResults() {
		if isProvisional(result) {
			// The server waits for the acknowledgement.
			from.acknowledge()
		}
	}
}

func isProvisional(result *rowlockv1.SessionResult) bool {
	return result.GetWaitInQueue().GetGranted().GetProvisional() ||
		slices.ContainsFunc(result.GetCapture().GetLeases(), (*rowlockv1.Lease).GetProvisional)
}

func (c *Client) leaving(from connection) {
	c.keeper.orphaned()
	c.calls.leaving(from)
}

func (c *Client) ended(from connection, err *Error) {
	c.calls.ended(from, err)
}

func (c *Client) hopeless(err *Error) {
	c.observer.hopeless(err)
	c.calls.failAsked(err)
}
