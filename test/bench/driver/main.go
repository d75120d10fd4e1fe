// The callers of the bench: each takes a lock, releases it, and repeats this until the time is over. One run measures
// one work on one system and prints its figures as JSON lines. ../load.ts starts the systems and makes the table.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// drainMax bounds how long callers may take for their last pair, so that a lock that is never handed over fails the
// run.
const drainMax = 60 * time.Second

type options struct {
	system, address, work string
	callers, connections  int
	limit                 uint
	warmUp, measured      time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.system, "system", "rowlock", "rowlock, session, etcd, redis, zookeeper, get-lock or polled-table")
	flag.StringVar(&o.address, "address", "", "host:port, or several with commas between; for get-lock and polled-table user:password@tcp(host:port)/database")
	flag.StringVar(&o.work, "work", "distinct", "distinct, hot, semaphore, waits, crowd, hand-over or died")
	flag.IntVar(&o.callers, "callers", 64, "how many callers; for waits and crowd, how many waits; for died, how many holders")
	flag.UintVar(&o.limit, "limit", 10, "how many may hold the lock of the work semaphore")
	flag.IntVar(&o.connections, "connections", 4, "gRPC connections or sessions that the callers share")
	flag.DurationVar(&o.warmUp, "warm-up", time.Second, "before what is measured")
	flag.DurationVar(&o.measured, "measured", 5*time.Second, "what is measured")
	flag.Parse()
	figures, err := run(o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s, %s, %d callers: %v\n", o.system, o.work, o.callers, err)
		os.Exit(1)
	}
	for _, line := range figures {
		if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
			os.Exit(1)
		}
	}
}

func run(o options) ([]Figures, error) {
	// Cancelled by a timer, because calls send a context's deadline to the server, which costs both sides.
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	time.AfterFunc(2*(o.warmUp+o.measured)+drainMax, func() { cancel(fmt.Errorf("not done in time")) })

	switch o.work {
	case "waits":
		return renewBesideWaits(ctx, o)
	case "hand-over":
		return handOver(ctx, o)
	case "crowd":
		return crowd(ctx, o)
	case "died":
		return waitForTheDead(ctx, o)
	}
	system, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.work == "semaphore" {
		if err := system.SetLimit(ctx, o.name(0), uint32(o.limit)); err != nil {
			return nil, err
		}
	}
	return takeTurns(ctx, system, o)
}

// name is the caller's lock. No two works share a name, so that what one leaves behind does not affect the other.
func (o options) name(caller int) string {
	if o.work != "distinct" && o.work != "died" {
		caller = 0
	}
	return fmt.Sprintf("bench/%s-%d-%s-%d/%d", o.system, o.callers, o.work, o.limit, caller)
}
