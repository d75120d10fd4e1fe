// The verbs about the past and about waits.

package rowlock_test

import (
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func all[Value any](t *testing.T, listing iter.Seq2[Value, error]) (values []Value) {
	t.Helper()
	for value, err := range listing {
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}

func TestClaimsAreListedOverAllPages(t *testing.T) {
	t.Parallel()
	client := connect(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, Owner: "historian", Labels: map[string]string{"team": "a"}})
	other := connectTo(t, sharedAddress(t))
	began := time.Now()
	for range 3 {
		mustLock(t, client, nameOf(t)).Close()
	}
	mustLock(t, other, nameOf(t)+"/2").Close()
	mustLock(t, client, nameOf(t))
	var begin time.Time
	ofLock := rowlock.ListClaimsOptions{LockName: nameOf(t), PageSize: 1, CompleteFrom: func(from time.Time) { begin = from }}
	claims := all(t, client.ListClaims(background, ofLock))
	if begin.IsZero() || !begin.Before(claims[3].End.EndedAt) {
		t.Errorf("history begins at %v", begin)
	}
	if len(claims) != 4 || claims[0].State != rowlock.ClaimHeld || claims[3].End.Reason != rowlock.ErrReleased {
		t.Fatalf("%+v", claims)
	}
	if claims[0].Owner != "historian" || claims[0].Labels["team"] != "a" || claims[0].Token != 4 || claims[0].End != nil {
		t.Errorf("%+v", claims[0])
	}
	for what, one := range map[string]struct {
		options rowlock.ListClaimsOptions
		count   int
	}{
		"under a prefix":   {rowlock.ListClaimsOptions{Prefix: nameOf(t)}, 5},
		"of an owner":      {rowlock.ListClaimsOptions{Prefix: nameOf(t), Owner: "tester"}, 1},
		"with labels":      {rowlock.ListClaimsOptions{Prefix: nameOf(t), Labels: map[string]string{"team": "a"}}, 4},
		"in a state":       {rowlock.ListClaimsOptions{Prefix: nameOf(t), States: []rowlock.ClaimState{rowlock.ClaimHeld}}, 1},
		"that have ended":  {rowlock.ListClaimsOptions{Prefix: nameOf(t), EndReasons: []rowlock.Reason{rowlock.ErrReleased}}, 4},
		"that expired":     {rowlock.ListClaimsOptions{Prefix: nameOf(t), EndReasons: []rowlock.Reason{rowlock.ErrExpired}}, 0},
		"that ended early": {rowlock.ListClaimsOptions{Prefix: nameOf(t), Until: began.Add(-time.Hour)}, 0},
		"held at a time":   {rowlock.ListClaimsOptions{LockName: nameOf(t), HeldAt: time.Now()}, 1},
		"held at a time, and ended later": {
			rowlock.ListClaimsOptions{LockName: nameOf(t), HeldAt: claims[3].GrantedAt, From: claims[3].GrantedAt, Until: time.Now()}, 1,
		},
	} {
		if found := all(t, client.ListClaims(background, one.options)); len(found) != one.count {
			t.Errorf("%s: %d instead of %d: %+v", what, len(found), one.count, found)
		}
	}
	for range client.ListClaims(background, ofLock) {
		// A listing ends with its loop.
		break
	}
}

func TestChangesAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	name, pattern := nameOf(t)+"/1", nameOf(t)+"/*"
	if _, err := client.SetLimit(background, rowlock.ForPattern(pattern), 3, rowlock.Because("night shift")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.UpdateRecord(background, name, rowlock.Status("new"), rowlock.Because("by hand")); err != nil {
		t.Fatal(err)
	}
	mustLock(t, client, name)
	lock := look(t, client, name)
	holder, record := lock.Holders[0], lock.Record
	if _, err := client.ForceRelease(background, name, "test"); err != nil {
		t.Fatal(err)
	}
	changes := all(t, client.ListChanges(background, rowlock.ListChangesOptions{LockName: name, PageSize: 1}))
	if len(changes) != 3 || changes[0].Kind != rowlock.ForcedRelease || changes[0].LockName != name || changes[0].Reason != "test" ||
		changes[1].Kind != rowlock.ChangedRecord || changes[1].Reason != "by hand" || changes[2].Kind != rowlock.ChangedLimit || changes[2].Pattern != pattern ||
		changes[2].ChangedAt.IsZero() || changes[2].ChangedBy == "" {
		t.Fatalf("%+v", changes)
	}
	if limit := changes[2].Limit; limit == nil || limit.From != nil || limit.To == nil || *limit.To != 3 {
		t.Errorf("%+v", limit)
	}
	if changed := changes[1].Record; changed == nil || changed.From != nil || !reflect.DeepEqual(changed.To, record) {
		t.Errorf("%+v, and it is %+v", changed, record)
	}
	wanted := rowlock.ReleasedClaim{LockName: name, TicketNumber: holder.TicketNumber, State: rowlock.ClaimHeld, Owner: "tester"}
	if released := changes[0].ForcedRelease; released == nil || *released != wanted {
		t.Errorf("%+v, and not %+v", released, wanted)
	}
	record = look(t, client, name).Record
	if _, err := client.DeleteRecord(background, name, rowlock.IfVersion(record.Version), rowlock.Because("over")); err != nil {
		t.Fatal(err)
	}
	newest := all(t, client.ListChanges(background, rowlock.ListChangesOptions{LockName: name}))[0]
	if newest.Kind != rowlock.ChangedRecord || newest.Reason != "over" || newest.Record.To != nil || newest.Record.From.Version != record.Version {
		t.Errorf("%+v", newest)
	}
	limits := rowlock.ListChangesOptions{Prefix: nameOf(t), Kinds: []rowlock.ChangeKind{rowlock.ChangedLimit}}
	if found := all(t, client.ListChanges(background, limits)); len(found) != 1 || !reflect.DeepEqual(found[0], changes[2]) {
		t.Errorf("%+v", found)
	}
}

func TestListingsOfThePastRefuseWordsThatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	for option, options := range map[string]rowlock.ListClaimsOptions{
		"States":     {States: []rowlock.ClaimState{"sleeping"}},
		"EndReasons": {EndReasons: []rowlock.Reason{"BORED"}},
	} {
		for _, err := range client.ListClaims(background, options) {
			if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != option {
				t.Error(option, err)
			}
		}
	}
	for _, err := range client.ListChanges(background, rowlock.ListChangesOptions{Kinds: []rowlock.ChangeKind{"mood"}}) {
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != "Kinds" {
			t.Error(err)
		}
	}
	asked := 0
	for _, err := range client.ListClaims(background, rowlock.ListClaimsOptions{LockName: strings.Repeat("x", 256)}) {
		if asked++; !errors.Is(err, rowlock.ErrBadRequest) {
			t.Error("too long a name:", err)
		}
	}
	if asked != 1 {
		t.Error("a listing goes on after its error")
	}
}

func TestListingsOfThePastAreOfOneLockOrOfAPrefix(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	for option, options := range map[string]rowlock.ListClaimsOptions{
		"HeldAt":              {Prefix: "x", HeldAt: time.Now()},
		"LockName and Prefix": {LockName: "x", Prefix: "x"},
	} {
		for _, err := range client.ListClaims(background, options) {
			if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != option {
				t.Error(option, err)
			}
		}
	}
	for _, err := range client.ListChanges(background, rowlock.ListChangesOptions{LockName: "x", Prefix: "x"}) {
		if wrong, ok := asType[*rowlock.OptionError](err); !ok || wrong.Option != "LockName and Prefix" {
			t.Error(err)
		}
	}
}

func TestAWaitIsExplained(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	if explained, err := client.ExplainWait(background, nameOf(t)); err != nil || len(explained.Causes) != 0 || explained.Claim != nil {
		t.Fatalf("%+v %v", explained, err)
	}
	mustLock(t, client, nameOf(t))
	waiting := make(chan struct{}, 1)
	for range 2 {
		waits(t, client, rowlock.OnPosition(func(rowlock.Place) { waiting <- struct{}{} }))
		within(t, "the place", waiting)
	}
	explained, err := client.ExplainWait(background, nameOf(t))
	if err != nil || explained.Summary == "" || explained.Lock.Name != nameOf(t) || len(explained.Causes) != 2 {
		t.Fatalf("%+v %v", explained, err)
	}
	held, queued := explained.Causes[0].Held, explained.Causes[1].Queued
	if held == nil || held.HolderCount != 1 || held.Holders[0].Owner != "tester" || held.FirstEndsAt.IsZero() ||
		queued == nil || queued.Ahead != 2 {
		t.Errorf("%+v %+v", held, queued)
	}
	second := look(t, client, nameOf(t)).Waiters[1]
	explained, err = client.ExplainWaitOfClaim(background, nameOf(t), second.TicketNumber)
	if err != nil || explained.Claim == nil || explained.Claim.TicketNumber != second.TicketNumber ||
		explained.Causes[1].Queued.Ahead != 1 {
		t.Errorf("%+v %v", explained, err)
	}
	if _, err := client.ExplainWaitOfClaim(background, nameOf(t), 1); !errors.Is(err, rowlock.ErrUnknownClaim) {
		t.Error("a holder does not wait:", err)
	}
	if _, err := client.ExplainWaitOfTicket(background, "nonsense"); !errors.Is(err, rowlock.ErrBadRequest) && !errors.Is(err, rowlock.ErrUnknownClaim) {
		t.Error(err)
	}
	if _, err := client.SetLimit(background, rowlock.ForName(nameOf(t)), 0, rowlock.Because("pause")); err != nil {
		t.Fatal(err)
	}
	explained, err = client.ExplainWait(background, nameOf(t))
	isLimit := func(cause rowlock.WaitCause) bool { return cause.Limit != nil && cause.Limit.Limit.Reason == "pause" }
	if err != nil || !anyCause(explained.Causes, isLimit) {
		t.Errorf("%+v %v", explained, err)
	}
}

func anyCause(causes []rowlock.WaitCause, is func(rowlock.WaitCause) bool) bool {
	for _, cause := range causes {
		if is(cause) {
			return true
		}
	}
	return false
}
