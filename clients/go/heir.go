package rowlock

import "time"

// heirLooksEvery is how often an heir sees whether it has anything left to do.
const heirLooksEvery = time.Second

// inherit has something done by a client that outlives this one, in a turn of its own: leases without end that no server could
// be told of while this one was closed are given back for as long as the program lives.
func (c *Client) inherit(give func(heir *Client)) {
	if c.heir == nil {
		config := c.config
		config.OnConnection = nil
		c.heir = newClient(config, c.turns.now)
	}
	c.heir.turns.take(func() { give(c.heir) })
}

// closeWhenDone is for an heir.
func (c *Client) closeWhenDone() {
	for isDone := false; !isDone; {
		time.Sleep(heirLooksEvery)
		c.turns.take(func() { isDone = len(c.calls.open) == 0 && len(c.leftBehind) == 0 })
	}
	c.Close()
}
