package rowlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rowlock/rowlock/clients/go/internal/boottime"
	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

const (
	// giveBackWithin and closeWithin are what closing may take: to give back what is held, and then to close the connection in
	// good order.
	giveBackWithin = 2 * time.Second
	closeWithin    = time.Second
)

// Client holds all locks of a program over one connection. All methods can be called from any goroutine.
type Client struct {
	config      Config
	turns       turns
	connections *connections
	calls       *calls
	keeper      *leaseKeeper
	verbs       *verbs
	// asking are the locks and captures that were neither granted nor refused.
	asking map[asking]struct{}
	// locks are those that were not given back, by their lease ids.
	locks map[string]*Lock
	// requests are the request ids that callers have chosen and that are asked under.
	requests requests
	// leftBehind is what may have been granted, and nobody heard.
	leftBehind map[*leftBehind]struct{}
	// heir gives back what could not be given back before this client was closed, if there is any.
	heir     *Client
	isClosed bool
	// isOver: closing has waited long enough, and nothing is asked any more.
	isOver bool
	closed chan struct{}
}

// asking is what somebody waits for: see [acquisition] and [capturing]. To be called in turns.
type asking interface {
	begin()
	abandon(why *Error)
}

// Connect makes a client. Nothing is sent before something is asked for, so it fails only for what cannot work.
func Connect(config Config) (*Client, error) {
	config, err := config.checked()
	if err != nil {
		return nil, err
	}
	return newClient(config, boottime.Now), nil
}

func newClient(config Config, now func() time.Duration) *Client {
	c := &Client{
		config:     config,
		turns:      turns{now: now},
		asking:     map[asking]struct{}{},
		locks:      map[string]*Lock{},
		requests:   requests{},
		leftBehind: map[*leftBehind]struct{}{},
		closed:     make(chan struct{}),
	}
	events := &events{turns: &c.turns, to: config.OnConnection}
	c.connections = &connections{
		turns: &c.turns, config: config, owner: c, events: events, bytesMax: bytesMaxAtFirst,
	}
	c.calls = &calls{
		turns:     &c.turns,
		config:    config,
		need:      c.connections.need,
		lastError: func() *Error { return c.connections.lastError },
		open:      map[*call]struct{}{},
		byNumber:  map[uint64]*call{},
	}
	c.keeper = &leaseKeeper{turns: &c.turns, calls: c.calls, connections: c.connections, held: map[string]*heldLease{}}
	c.verbs = &verbs{turns: &c.turns, calls: c.calls, giveUpAfter: config.GiveUpAfter, inherit: c.inherit}
	return c
}

// Lock waits for the lock and holds it, renewed until it is released: defer [Lock.Close]. It fails where the lock is refused,
// by the reason of that ([ErrTimedOut], for one), and when the context is done: then the place in the queue is free at once.
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

// TryLock answers with the lock and true if it is free and due now, and otherwise with false.
func (c *Client) TryLock(ctx context.Context, name string, options ...LockOption) (*Lock, bool, error) {
	lock, refusal, err := c.Acquire(ctx, name, append(options[:len(options):len(options)], Wait(0))...)
	switch {
	case err != nil:
		return nil, false, err
	case refusal == nil:
		return lock, true, nil
	case refusal.Reason == ErrBusy || refusal.Reason == ErrPaused || refusal.Reason == ErrNotBefore:
		return nil, false, nil
	default:
		return nil, false, refusedError(name, refusal)
	}
}

// WithLock runs work while holding the lock, and releases it. The context of work is cancelled when the lock is lost, with the
// error as its cause: work should stop then. WithLock fails with what work fails with, and with [ErrLeaseLost] where the lock
// was lost before work had finished, as then others may have run beside it.
func (c *Client) WithLock(
	ctx context.Context, name string, work func(ctx context.Context, lock *Lock) error, options ...LockOption,
) (err error) {
	lock, err := c.Lock(ctx, name, options...)
	if err != nil {
		return err
	}
	defer func() {
		if unreleased := lock.Close(); err == nil {
			err = unreleased
		}
	}()
	working, cancel := lock.Context(ctx)
	defer cancel()
	err = work(working, lock)
	if lost := lock.Err(); errors.Is(lost, ErrLeaseLost) && !errors.Is(err, ErrLeaseLost) {
		return errors.Join(lost, err)
	}
	return err
}

// Acquire answers with the lock, or with why not: for those to whom a refusal is an answer. One of the three is not nil.
func (c *Client) Acquire(ctx context.Context, name string, options ...LockOption) (*Lock, *Refusal, error) {
	asked, err := lockOptionsOf(options)
	if err != nil {
		return nil, nil, err
	}
	acquisition := newAcquisition(c, name, asked)
	if err := c.begin(ctx, acquisition); err != nil {
		return nil, nil, err
	}
	defer c.turns.take(func() { delete(c.asking, acquisition) })
	lock, refused, failed := acquisition.run(ctx)
	if failed != nil {
		return nil, nil, failed
	}
	return lock, refused, nil
}

// begin asks, unless the caller has given up before, or the client was closed.
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

// Close gives up all waits, releases all locks, and closes the connection, within some seconds. It can be called twice, and
// does not fail. Where no server answers within that time, leases end with their ttl; those without end are given back as soon as
// a server answers, for as long as the program lives.
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
		for _, lock := range c.locks {
			lock.release(&rowlockv1.ReleaseRequest{LeaseId: lock.lease.id})
		}
		// A first request may be on its way, and what it asks for may be granted, before anything was heard of the server.
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

// locked makes a lock of a lease, in the turn in which it was granted. Who has asked again under the same request id gets the
// same lock.
func (c *Client) locked(held *heldLease, lease *rowlockv1.Lease, asked *claimOptions, shared string) *Lock {
	if own := c.heldAlready(held.id); own != nil {
		own.grants++
		c.keeper.prolong(own.lease, lease, held.basis)
		return own
	}
	lock := &Lock{client: c, lease: held, asked: asked, shared: shared, grants: 1}
	c.locks[held.id] = lock
	c.keeper.keep(held)
	return lock
}

// heldAlready is the lock of a lease that this client holds: the request id is that of a claim of its own.
func (c *Client) heldAlready(leaseID string) *Lock {
	if own := c.locks[leaseID]; own != nil && own.lease.state() != Lost {
		return own
	}
	return nil
}

// giveBack ends a claim that nobody wants any more, unless another call of this client has it.
func (c *Client) giveBack(id string, asked *claimOptions) {
	switch {
	case c.heldAlready(id) != nil:
	case c.isOver:
		if asked.ttl == Forever {
			c.inherit(func(heir *Client) { heir.giveBack(id, asked) })
		}
	default:
		c.verbs.endUnused(id, asked.terms.minInterval != nil, asked.ttl)
	}
}

// forget: it is not held any more, as far as this client is concerned.
func (c *Client) forget(lease *heldLease) {
	// One that was lost by this client's own count may have been granted again, to another lock.
	if own := c.locks[lease.id]; own != nil && own.lease == lease {
		delete(c.locks, lease.id)
	}
	c.keeper.drop(lease)
	lease.giveBack()
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
			// It waits to be acknowledged.
			from.touch()
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
	c.calls.failAsked(err)
}
