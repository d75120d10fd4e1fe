// Changes of each kind, from the message to the view.

package rowlock

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

func TestAChangeHasWhatItsKindNames(t *testing.T) {
	t.Parallel()
	for message, wanted := range map[string]string{
		`lock_name: "a" reason: "r" limit {}`: `{"kind":"limit","lockName":"a","pattern":"","pool":"","changedBy":"","limit":{},"reason":"r"}`,
		`pattern: "a*" limit {from: 0 to: 3}`: `{"kind":"limit","lockName":"","pattern":"a*","pool":"","changedBy":"","limit":{"from":0,"to":3},"reason":""}`,
		`pool: "a*" limit {to: 3}`:            `{"kind":"limit","lockName":"","pattern":"","pool":"a*","changedBy":"","limit":{"to":3},"reason":""}`,
		`lock_name: "a" limit {from: 2 to: 2 rate_to {permits: 5 per {seconds: 1} burst: 3}}`: `{"kind":"limit","lockName":"a","pattern":"","pool":"","changedBy":"",` +
			`"limit":{"from":2,"to":2,"rateTo":{"permits":5,"perNs":1000000000,"burst":3}},"reason":""}`,
		`changed_at {seconds: 1} lock_name: "a" record {from {status: "new" attempts_left: 2 version: 7}}`: `{"changedAt":"1970-01-01T00:00:01Z",` +
			`"kind":"record","lockName":"a","pattern":"","pool":"","changedBy":"","record":{"from":{"attemptsLeft":2,"status":"new","failures":0,"version":"7"}},"reason":""}`,
		`lock_name: "a" forced_release {claim {lock_name: "a" ticket_number: 4 state: CLAIM_STATE_HELD owner: "o" principal: "p"}}`: `{"kind":"forced release",` +
			`"lockName":"a","pattern":"","pool":"","changedBy":"","forcedRelease":{"lockName":"a","ticketNumber":"4","state":"held","owner":"o","principal":"p"},"reason":""}`,
		`changed_by: "s" policy {to: "h"}`: `{"kind":"policy","lockName":"","pattern":"","pool":"","changedBy":"s","policy":{"from":"","to":"h"},"reason":""}`,
	} {
		change := &rowlockv1.Change{}
		if err := prototext.Unmarshal([]byte(message), change); err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(changeOf(change)); err != nil || string(text) != wanted {
			t.Errorf("%s is\n%s, and not\n%s: %v", message, text, wanted, err)
		}
	}
}

func TestAChangeOfAKindOfANewerServerIsShown(t *testing.T) {
	t.Parallel()
	// Field 100, an empty message, is none of those that this client knows.
	bytes := []byte("\x12\x01a\x22\x01b\xa2\x06\x00")
	change := &rowlockv1.Change{}
	if err := proto.Unmarshal(bytes, change); err != nil || len(change.ProtoReflect().GetUnknown()) != 3 {
		t.Fatal(change, err)
	}
	if view := changeOf(change); view != (ChangeView{LockName: "a", ChangedBy: "b"}) {
		t.Errorf("%+v", view)
	}
}
