// A watch of locks, over any number of connections. It keeps at most one unread state per lock, so a slow reader gets only
// the latest state of each lock.

package rowlock

import (
	"context"
	"iter"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// WatchUpdate is a part of a snapshot, or the changes since the snapshot.
type WatchUpdate struct {
	// BeganAnew: it begins a new snapshot, which replaces all updates before it, because the watch fell behind or
	// continues over another connection. Not set in the first update.
	BeganAnew bool `json:"beganAnew"`
	// Locks are the current states of locks, with at most 10 holders and 10 waiters each.
	Locks []LockView `json:"locks"`
	// Deleted are the names of locks that are gone; there may be names that no update had before.
	Deleted []string `json:"deleted"`
	// Complete: the snapshot is complete with this update, and other locks do not exist. Set once for each snapshot.
	Complete bool `json:"complete"`
}

// watch collects what was not read yet.
type watch struct {
	client *Client
	prefix string
	// states are the unread states of locks; nil for those that are gone. names has them in order of arrival.
	states    map[string]*rowlockv1.Lock
	names     []string
	beganAnew bool
	complete  bool
	// isHeard: the current stream has brought a message; wasHeard: any stream has.
	isHeard, wasHeard bool
	// news holds one element while there is something to read.
	news chan struct{}
	// ended is closed when failure is set.
	ended   chan struct{}
	failure *Error
	call    *call
}

// Watch reports the locks whose names begin with the prefix (empty: all): first a snapshot, then their changes, for as
// long as the loop runs:
//
//	for update, err := range client.Watch(ctx, "etl/") { ... }
//
// A slow loop skips states, and a lost connection leads to a new snapshot. The loop ends with its first error:
// [ErrCancelled] when ctx is done, or [ErrNoServer] if no server answers for [Config.GiveUpAfter].
func (c *Client) Watch(ctx context.Context, prefix string) iter.Seq2[WatchUpdate, error] {
	return func(yield func(WatchUpdate, error) bool) {
		if wrong := wrongText(&rowlockv1.WatchLocksRequest{Prefix: prefix}); wrong != nil {
			yield(WatchUpdate{}, wrong)
			return
		}
		w := &watch{
			client: c, prefix: prefix, states: map[string]*rowlockv1.Lock{}, news: make(chan struct{}, 1), ended: make(chan struct{}),
		}
		if err := c.begin(ctx, w); err != nil {
			yield(WatchUpdate{}, err)
			return
		}
		defer c.turns.take(func() {
			w.abandon(closedError())
			delete(c.asking, w)
		})
		for {
			select {
			case <-w.news:
				var update WatchUpdate
				c.turns.take(func() { update = w.read() })
				if !yield(update, nil) {
					return
				}
			case <-w.ended:
				yield(WatchUpdate{}, w.failure)
				return
			case <-ctx.Done():
				yield(WatchUpdate{}, cancelledError(ctx))
				return
			}
		}
	}
}

// begin is called in a turn, as are the other methods.
func (w *watch) begin() {
	w.call = w.client.calls.begin(ask{
		kind:   kindWait,
		repeat: repeatAlways,
		command: func(connection) *rowlockv1.SessionCommand {
			w.isHeard = false
			request := &rowlockv1.WatchLocksRequest{Prefix: w.prefix}
			return &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_WatchLocks{WatchLocks: request}}
		},
		giveUpAfter: func() time.Duration { return w.client.config.GiveUpAfter },
		answered: func(result *rowlockv1.SessionResult, _ time.Duration) bool {
			answer := result.GetWatchLocks()
			if answer == nil {
				w.fail(unexpected(result))
				return true
			}
			w.hear(answer)
			return false
		},
		failed: w.fail,
	})
}

func (w *watch) abandon(why *Error) {
	w.client.calls.cancel(w.call)
	w.fail(why)
}

func (w *watch) fail(why *Error) {
	if w.failure == nil {
		w.failure = why
		close(w.ended)
	}
}

func (w *watch) hear(answer *rowlockv1.WatchLocksResponse) {
	if answer.GetBeganAnew() || w.wasHeard && !w.isHeard {
		clear(w.states)
		w.names, w.beganAnew, w.complete = nil, true, false
	}
	w.isHeard, w.wasHeard = true, true
	for _, lock := range answer.GetLocks() {
		w.keep(lock.GetName(), lock)
	}
	for _, name := range answer.GetDeleted() {
		w.keep(name, nil)
	}
	w.complete = w.complete || answer.GetComplete()
	if len(w.names) > 0 || w.beganAnew || w.complete {
		select {
		case w.news <- struct{}{}:
		default:
		}
	}
}

func (w *watch) keep(name string, lock *rowlockv1.Lock) {
	if _, isKnown := w.states[name]; !isKnown {
		w.names = append(w.names, name)
	}
	w.states[name] = lock
}

// read takes all that is unread.
func (w *watch) read() WatchUpdate {
	update := WatchUpdate{BeganAnew: w.beganAnew, Complete: w.complete}
	for _, name := range w.names {
		if lock := w.states[name]; lock != nil {
			update.Locks = append(update.Locks, lockViewOf(lock))
		} else {
			update.Deleted = append(update.Deleted, name)
		}
	}
	clear(w.states)
	w.names, w.beganAnew, w.complete = nil, false, false
	return update
}
