// What still has to be given back after a client is closed. Only leases without end, which would hold their locks for
// ever.

package rowlock

import (
	"log/slog"
	"time"
)

// heirLooksEvery is how often an heir checks whether it has anything left to do.
const heirLooksEvery = time.Second

// inherit runs give with a client that outlives this one, in a turn of that client. It serves leases without end whose
// release reached no server while this client was closed: the heir tries for as long as the program lives.
func (c *Client) inherit(give func(heir *Client)) {
	if c.heir == nil {
		config := c.config
		config.OnConnection, config.Logger, config.Telemetry = nil, slog.New(slog.DiscardHandler), nil
		c.heir = newClient(config, c.turns.now)
	}
	c.heir.turns.take(func() { give(c.heir) })
}

// closeWhenDone closes an heir when it has nothing left to do.
func (c *Client) closeWhenDone() {
	for isDone := false; !isDone; {
		time.Sleep(heirLooksEvery)
		c.turns.take(func() { isDone = len(c.calls.open) == 0 && len(c.leftBehind) == 0 })
	}
	c.Close()
}
