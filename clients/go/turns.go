package rowlock

import (
	"sync"
	"time"
)

// turns guards all state of a client: whoever changes it does so in a turn of its own, as in an event loop. Nothing blocks in
// a turn, and no code of the user runs in one, so a turn is always had soon, however busy the program is.
type turns struct {
	mu sync.Mutex
	// now is the client's clock: see package boottime.
	now func() time.Duration
	// goroutines are those that the client has begun.
	goroutines sync.WaitGroup
	// rest is what the turn leaves to be done right after it, as it may ask for a turn itself.
	rest []func()
}

// take runs something in a turn. There are no turns within turns.
func (t *turns) take(run func()) {
	for _, left := range t.taken(run) {
		left()
	}
}

func (t *turns) taken(run func()) (rest []func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	run()
	rest, t.rest = t.rest, nil
	return rest
}

// afterwards has something done as soon as this turn is over, by whoever has taken it.
func (t *turns) afterwards(run func()) {
	t.rest = append(t.rest, run)
}

// timer runs something in a turn of its own. One that is stopped in a turn does not run any more.
type timer struct {
	timer  *time.Timer
	isOver bool
}

// after is to be called in a turn. Without end, it never runs.
func (t *turns) after(wait time.Duration, run func()) *timer {
	if wait == Forever {
		return nil
	}
	own := &timer{}
	own.timer = time.AfterFunc(wait, func() {
		t.take(func() {
			if own.isOver {
				return
			}
			own.isOver = true
			run()
		})
	})
	return own
}

// stop is to be called in a turn; of none it does nothing.
func (t *timer) stop() {
	if t == nil {
		return
	}
	t.isOver = true
	t.timer.Stop()
}
