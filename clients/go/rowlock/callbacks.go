package rowlock

// callbacks runs functions of the user, one after the other and outside of turns, so that they may block.
type callbacks struct {
	turns     *turns
	pending   []func()
	isRunning bool
}

// run queues a function. It is called in a turn.
func (c *callbacks) run(call func()) {
	c.pending = append(c.pending, call)
	if !c.isRunning {
		c.isRunning = true
		go c.runAll()
	}
}

// runAll runs the functions until none is pending.
func (c *callbacks) runAll() {
	for {
		var taken []func()
		c.turns.take(func() {
			taken, c.pending = c.pending, nil
			c.isRunning = len(taken) > 0
		})
		if len(taken) == 0 {
			return
		}
		for _, call := range taken {
			call()
		}
	}
}
