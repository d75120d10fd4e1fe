// A proxy that delays, drops and mutes connections.

package rowlock_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// line is a proxy that delays what it carries, and that can swallow what the server sends.
type line struct {
	address string
	isMuted atomic.Bool

	mu     sync.Mutex
	open   []net.Conn
	isDown bool
	// says is what a new connection gets while the line is down.
	says string
}

// takeDownSaying is takeDown, but new connections are told this before they end.
func (l *line) takeDownSaying(says string) {
	l.mu.Lock()
	l.says = says
	l.mu.Unlock()
	l.takeDown()
}

// takeDown closes all connections and lets no new one through.
func (l *line) takeDown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isDown = true
	for _, conn := range l.open {
		conn.Close()
	}
	l.open = nil
}

func (l *line) putUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isDown = false
	l.isMuted.Store(false)
}

// opens reports whether a connection gets through.
func (l *line) opens(near, far net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isDown {
		near.Write([]byte(l.says))
	} else {
		l.open = append(l.open, near, far)
	}
	return !l.isDown
}

// startLine starts a line with this delay in each direction.
func startLine(t *testing.T, to string, delay time.Duration) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	l := &line{address: listener.Addr().String()}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			if !l.opens(near, far) {
				near.Close()
				far.Close()
				continue
			}
			go l.carry(near, far, delay, false)
			go l.carry(far, near, delay, true)
		}
	}()
	return l
}

// part is some bytes on their way, and when they arrive.
type part struct {
	at    time.Time
	bytes []byte
}

func (l *line) carry(from, to net.Conn, delay time.Duration, isAnswer bool) {
	parts := make(chan part, 1_000)
	go func() {
		defer to.Close()
		for next := range parts {
			time.Sleep(time.Until(next.at))
			if !isAnswer || !l.isMuted.Load() {
				to.Write(next.bytes)
			}
		}
	}()
	defer close(parts)
	for {
		bytes := make([]byte, 1<<16)
		count, err := from.Read(bytes)
		if count > 0 {
			parts <- part{time.Now().Add(delay), bytes[:count]}
		}
		if err != nil {
			return
		}
	}
}
