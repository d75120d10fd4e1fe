// Internals that the tests of package rowlock_test need.

package rowlock

import (
	"runtime"
	"time"
)

// ConnectWithClock is Connect with a clock of the test's own.
func ConnectWithClock(config Config, now func() time.Duration) (*Client, error) {
	config, err := config.checked()
	if err != nil {
		return nil, err
	}
	return newClient(config, now), nil
}

// UntilAsking returns when the client has asked for a lock or a capture, so that later requests come after it.
func UntilAsking(c *Client) {
	for isAsking := false; !isAsking; runtime.Gosched() {
		c.turns.take(func() { isAsking = len(c.asking) > 0 })
	}
}

// UntilUnconnected returns when the client has no connection.
func UntilUnconnected(c *Client) {
	for isConnected := true; isConnected; runtime.Gosched() {
		c.turns.take(func() { isConnected = c.connections.current != nil })
	}
}
