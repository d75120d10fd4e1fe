// Ids of requests for which the caller has chosen none: UUIDs of version 7, so that later ids sort after earlier ones.
// The database then writes neighbouring pages. Nothing may rely on the order, as clocks differ.

package rowlock

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"
)

// noStatus is a status that no lock has. A request with it finds the claims of its request id, and takes nothing.
func noStatus() []string {
	return []string{newRequestID()}
}

func newRequestID() string {
	return requestIDAt(time.Now())
}

// requestIDAt makes a new id: its first 48 bits are the Unix time in milliseconds, and 74 bits are random.
func requestIDAt(now time.Time) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(id[6:]) // It never fails: see crypto/rand.
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:])
}
