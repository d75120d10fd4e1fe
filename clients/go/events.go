package rowlock

// events calls the user's OnConnection, one event after the other and outside of turns, so that the function may block.
type events struct {
	turns     *turns
	to        func(ConnectionEvent)
	untold    []ConnectionEvent
	isTelling bool
}

// tell queues an event. It is called in a turn.
func (e *events) tell(event ConnectionEvent) {
	if e.to == nil {
		return
	}
	e.untold = append(e.untold, event)
	if !e.isTelling {
		e.isTelling = true
		go e.tellAll()
	}
}

func (e *events) tellAll() {
	for {
		var taken []ConnectionEvent
		e.turns.take(func() {
			taken, e.untold = e.untold, nil
			e.isTelling = len(taken) > 0
		})
		if len(taken) == 0 {
			return
		}
		for _, event := range taken {
			e.to(event)
		}
	}
}
