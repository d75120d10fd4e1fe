// Tests of the ids that the client makes.

package rowlock

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func msOf(t *testing.T, id string) int64 {
	t.Helper()
	ms, err := strconv.ParseInt(strings.ReplaceAll(id, "-", "")[:12], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func TestRequestIDsAreUUIDsOfVersion7(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	now := time.UnixMilli(1_645_557_742_000)
	seen := map[string]bool{}
	for range 100 {
		id := requestIDAt(now)
		if !form.MatchString(id) || !strings.HasPrefix(id, "017f22e2-79b0-7") || seen[id] {
			t.Fatal(id)
		}
		seen[id] = true
	}
}

func TestRequestIDsHaveTheTimeNow(t *testing.T) {
	before := time.Now().UnixMilli()
	id := newRequestID()
	if ms := msOf(t, id); ms < before || ms > time.Now().UnixMilli() {
		t.Fatal(id)
	}
}

func TestRequestIDsSortByTheTimeTheyWereMade(t *testing.T) {
	var ids []string
	for _, ms := range []int64{0, 1, 0xffff, 0x10000, 1_645_557_742_000, 1_645_557_742_001, 1<<48 - 1} {
		id := requestIDAt(time.UnixMilli(ms))
		if msOf(t, id) != ms {
			t.Fatal(id)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Fatal(ids)
	}
}
