package rowlock

// callbacks runs the user's OnConnection, one event after the other and outside of turns, so that the function may block.
type callbacks struct {
	turns        *turns
	onConnection func(ConnectionEvent)
	pending      []ConnectionEvent
	isRunning    bool
}

// connection queues an event. It is called in a turn.
func (c *callbacks) connection(event ConnectionEvent) {
	if c.onConnection == nil {
		return
	}
	c.pending = append(c.pending, event)
	if !c.isRunning {
		c.isRunning = true
		go c.run()
	}
}

// run calls the function with each event until none is pending.
func (c *callbacks) run() {
	for {
		var taken []ConnectionEvent
		c.turns.take(func() {
			taken, c.pending = c.pending, nil
			c.isRunning = len(taken) > 0
		})
		if len(taken) == 0 {
			return
		}
		for _, event := range taken {
			c.onConnection(event)
		}
	}
}
