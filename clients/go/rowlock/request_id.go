// Random ids.

package rowlock

import (
	"crypto/rand"
	"fmt"
)

// noStatus is a status that no lock has. A request with it finds the claims of its request id, and takes nothing.
func noStatus() []string {
	return []string{newRequestID()}
}

// newRequestID makes a random UUID.
func newRequestID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // It never fails: see crypto/rand.
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:])
}
