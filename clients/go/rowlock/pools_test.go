// Pools, on a real server.

package rowlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestAPoolIsSetAndRemovedInOneChangeEach(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	pattern := nameOf(t) + "/*"
	pool, rate := rowlock.ForPool(pattern), rowlock.Rate{Permits: 500, Per: time.Minute, Burst: 9}
	set, err := client.SetLimit(background, pool, 2, rowlock.WithRate(rate), rowlock.Because("quota"))
	if err != nil || set.Limit != 2 || set.NoLimit || !set.Counting || set.Version != 1 || set.Rate == nil || *set.Rate != rate {
		t.Fatalf("%+v %v", set, err)
	}
	mustLock(t, client, nameOf(t)+"/one")
	for setting, err := range client.ListLimits(background, nameOf(t)) {
		if err != nil || setting.Pool != pattern || setting.Pattern != "" || setting.Use == nil || setting.Use.HeldPermits != 1 {
			t.Errorf("%+v %v", setting, err)
		}
	}
	set, err = client.UnsetLimit(background, pool, rowlock.WithoutRate())
	if err != nil || !set.NoLimit || set.Rate != nil {
		t.Fatalf("%+v %v", set, err)
	}
	if pools := look(t, client, nameOf(t)+"/one").Pools; len(pools) != 0 {
		t.Errorf("%+v", pools)
	}
}

func TestAChangeOfARateSetsNoOther(t *testing.T) {
	t.Parallel()
	client := connectTo(t, sharedAddress(t))
	rate := rowlock.Rate{Permits: 1, Per: time.Minute}
	_, err := client.SetRate(background, rowlock.ForName(nameOf(t)), rate, rowlock.WithoutRate())
	if _, isMistake := asType[*rowlock.OptionError](err); !isMistake {
		t.Error(err)
	}
}

func TestALongWaitAtAPoolSaysSo(t *testing.T) {
	t.Parallel()
	config := rowlock.Config{Addresses: []string{sharedAddress(t)}, ExplainAfter: 200 * time.Millisecond}
	client, pattern := connect(t, config), nameOf(t)+"/*"
	if _, err := client.SetLimit(background, rowlock.ForPool(pattern), 1); err != nil {
		t.Fatal(err)
	}
	mustLock(t, client, nameOf(t)+"/one")
	asking, giveUp := context.WithCancel(background)
	var notice rowlock.Waiting
	_, err := client.Lock(asking, nameOf(t)+"/two", rowlock.OnWaiting(func(news rowlock.Waiting) {
		notice = news
		giveUp()
	}))
	if !errors.Is(err, rowlock.ErrCancelled) {
		t.Fatal(err)
	}
	if notice.Place.Pool != pattern || notice.Place.Ahead != 0 || len(notice.Causes) != 1 {
		t.Fatalf("%+v", notice)
	}
	if cause := notice.Causes[0].Pool; cause == nil || !cause.WaitsHere || cause.Pool.Pattern != pattern ||
		cause.Pool.Limit == nil || cause.Pool.Use.HeldPermits != 1 {
		t.Errorf("%+v", cause)
	}
}
