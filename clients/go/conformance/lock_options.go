// The options of locks, captures and records, read from a command.

package main

import (
	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func (d *driver) lockOptionsOf(asked *command) []rowlock.LockOption {
	var options []rowlock.LockOption
	for _, option := range claimOptionsOf(asked) {
		options = append(options, option)
	}
	if asked.Permits != nil {
		options = append(options, rowlock.Permits(*asked.Permits))
	}
	if asked.Mode != nil {
		options = append(options, rowlock.As(rowlock.Mode(*asked.Mode)))
	}
	for _, lock := range asked.Also {
		options = append(options, rowlock.Also(lock.Name, lock.how()...))
	}
	if asked.HeadStartMs != nil {
		options = append(options, rowlock.HeadStart(durationOf(*asked.HeadStartMs)))
	}
	if asked.Positions {
		options = append(options, rowlock.OnPosition(func(place rowlock.Place) {
			said := object{
				"event": "position", "lock": asked.Lock, "ahead": place.Ahead, "permitsAhead": place.PermitsAhead,
				"queueLength": place.QueueLength, "waitedMs": msOf(place.Waited),
			}
			if place.RateWait != 0 {
				said["rateWaitMs"] = msOf(place.RateWait)
			}
			if place.Pool != "" {
				said["pool"] = place.Pool
			}
			if place.WaitsFor != "" {
				said["waitsFor"] = place.WaitsFor
			}
			d.say(said)
		}))
	}
	options = append(options, rowlock.OnWaiting(func(notice rowlock.Waiting) {
		d.say(object{
			"event": "waiting", "lock": asked.Lock, "ahead": notice.Place.Ahead, "summary": notice.Summary,
			"heldByYou": notice.HeldByYou,
		})
	}))
	if asked.PositionIntervalMs != nil {
		options = append(options, rowlock.PositionInterval(durationOf(*asked.PositionIntervalMs)))
	}
	return options
}

// how are the options of a further lock.
func (l furtherLock) how() []rowlock.HoldOption {
	var options []rowlock.HoldOption
	if l.Permits != nil {
		options = append(options, rowlock.Permits(*l.Permits))
	}
	if l.Mode != nil {
		options = append(options, rowlock.As(rowlock.Mode(*l.Mode)))
	}
	return options
}

func captureOptionsOf(asked *command) []rowlock.CaptureOption {
	var options []rowlock.CaptureOption
	for _, option := range claimOptionsOf(asked) {
		options = append(options, option)
	}
	if asked.Prefix != nil {
		options = append(options, rowlock.Prefix(*asked.Prefix))
	}
	if asked.Names != nil {
		options = append(options, rowlock.Names(asked.Names...))
	}
	if asked.Count != nil {
		options = append(options, rowlock.Count(*asked.Count))
	}
	return options
}

func claimOptionsOf(asked *command) []rowlock.LeaseOption {
	options := []rowlock.LeaseOption{
		rowlock.Owner(asked.Owner), rowlock.Labels(asked.Labels), rowlock.RequestID(asked.RequestID),
		rowlock.IfStatus(asked.IfStatus...),
	}
	if asked.WaitMs != nil {
		options = append(options, rowlock.Wait(asked.WaitMs.Duration))
	}
	if asked.TTLMs != nil {
		options = append(options, rowlock.TTL(asked.TTLMs.Duration))
	}
	if asked.MarginMs != nil {
		options = append(options, rowlock.Margin(durationOf(*asked.MarginMs)))
	}
	if asked.MinIntervalMs != nil {
		options = append(options, rowlock.MinInterval(durationOf(*asked.MinIntervalMs)))
	}
	if asked.LockDelayMs != nil {
		options = append(options, rowlock.LockDelay(durationOf(*asked.LockDelayMs)))
	}
	if asked.StatusIfLost != nil {
		options = append(options, rowlock.StatusIfLost(*asked.StatusIfLost))
	}
	if rests := asked.Backoff; rests != nil {
		options = append(options, rowlock.Backoff(durationOf(rests.FirstMs), durationOf(rests.MaxMs)))
	}
	return options
}

func releaseOptionsOf(asked *command) []rowlock.ReleaseOption {
	var options []rowlock.ReleaseOption
	if asked.CoolDownMs != nil {
		options = append(options, rowlock.CoolDown(durationOf(*asked.CoolDownMs)))
	}
	if asked.Failed {
		options = append(options, rowlock.Failed())
	}
	for _, option := range recordOptionsOf(asked) {
		options = append(options, option)
	}
	return options
}

func recordOptionsOf(asked *command) []rowlock.RecordOption {
	var options []rowlock.RecordOption
	if asked.Status != nil {
		options = append(options, rowlock.Status(*asked.Status))
	}
	if asked.AttemptsLeft != nil {
		options = append(options, rowlock.AttemptsLeft(asked.AttemptsLeft.number))
	}
	return options
}
