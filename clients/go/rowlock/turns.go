package rowlock

import (
	"sync"
	"time"
)

// turns guards all state of a client: code that changes the state does so in a turn, as in an event loop. Nothing
// blocks in a turn and no user code runs in one, so a turn comes soon however busy the program is.
type turns struct {
	mu sync.Mutex
	// now is the client's clock: see package clock.
	now func() time.Duration
	// goroutines are those that the client has started.
	goroutines sync.WaitGroup
	// rest runs right after the turn, because it may take a turn itself.
	rest []func()
}

// take runs something in a turn. Turns do not nest.
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

// start runs something in a goroutine of its own, which Close waits for.
func (t *turns) start(run func()) {
	t.goroutines.Add(1)
	go func() {
		defer t.goroutines.Done()
		run()
	}()
}

// afterwards runs something as soon as this turn is over, in the goroutine that has taken the turn.
func (t *turns) afterwards(run func()) {
	t.rest = append(t.rest, run)
}

// timer runs something in a turn of its own. A timer that is stopped in a turn does not run any more.
type timer struct {
	timer  *time.Timer
	isOver bool
}

// after starts a timer; with Forever it never runs. It is called in a turn.
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

// stop is called in a turn. On a nil timer it does nothing.
func (t *timer) stop() {
	if t == nil {
		return
	}
	t.isOver = true
	t.timer.Stop()
}
