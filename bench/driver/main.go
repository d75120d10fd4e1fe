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
	system, address, work       string
	callers, connections, locks int
	limit                       uint
	rate                        float64
	warmUp, measured            time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.system, "system", "rowlock", "rowlock, session, http-json, http-binary, etcd, redis, zookeeper, get-lock or polled-table")
	flag.StringVar(&o.address, "address", "", "host:port, or several with commas between; for get-lock and polled-table user:password@tcp(host:port)/database")
	flag.StringVar(&o.work, "work", "distinct", "distinct, hot, semaphore, waits, crowd, hand-over, died, names, rounds, flood, heeding, keep or leases")
	flag.IntVar(&o.callers, "callers", 64, "how many callers; for waits and crowd, how many waits; for died, how many holders")
	flag.IntVar(&o.locks, "locks", 8_000, "how many locks the works names, rounds, flood and heeding have together")
	flag.IntVar(&locksOfClaim, "claim-locks", 1, "how many locks each claim is for (Rowlock)")
	flag.UintVar(&o.limit, "limit", 10, "how many may hold the lock of the work semaphore")
	flag.Float64Var(&o.rate, "rate", 1_000, "pairs a second of the work flood, and of heeding if nobody is refused")
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

// run returns what to print, a line each.
func run(o options) ([]any, error) {
	// Cancelled by a timer, because calls send a context's deadline to the server, which costs both sides.
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	most := 2*(o.warmUp+o.measured) + drainMax
	if o.work == "leases" {
		most += manyTaken
	}
	time.AfterFunc(most, func() { cancel(fmt.Errorf("not done in time")) })

	switch o.work {
	case "waits":
		return lines(renewBesideWaits(ctx, o))
	case "hand-over":
		return lines(handOver(ctx, o))
	case "crowd":
		return lines(crowd(ctx, o))
	case "died":
		return lines(waitForTheDead(ctx, o))
	case "keep":
		return line(keep(ctx, o))
	case "leases":
		return line(manyLeases(ctx, o, func() { fmt.Fprintln(os.Stderr, "measuring") }))
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
	switch o.work {
	case "names":
		return nil, makeNames(ctx, system, o)
	case "flood", "heeding":
		return line(flood(ctx, system, o))
	}
	return lines(takeTurns(ctx, system, o))
}

func lines(figures []Figures, err error) ([]any, error) {
	all := make([]any, len(figures))
	for index, each := range figures {
		all[index] = each
	}
	return all, err
}

func line[Result any](result Result, err error) ([]any, error) {
	return []any{result}, err
}

// name is the caller's lock. No two works share a name, so that what one leaves behind does not affect the other, except
// for the floods and their best rate.
func (o options) name(caller int) string {
	switch o.work {
	case "names", "rounds", "flood", "heeding":
		return fmt.Sprintf("bench/%s-flood/%d", o.system, caller)
	case "distinct", "died":
	default:
		caller = 0
	}
	return fmt.Sprintf("bench/%s-%d-%s-%d/%d", o.system, o.callers, o.work, o.limit, caller)
}
