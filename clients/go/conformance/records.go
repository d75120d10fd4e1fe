// Commands that change a lock's record, and the record in the form of the protocol.

package main

import (
	"strconv"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func (d *driver) updateRecord(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	options := []rowlock.UpdateOption{rowlock.Because(asked.Reason)}
	for _, option := range recordOptionsOf(asked) {
		options = append(options, option)
	}
	if asked.NotBeforeMs != nil {
		options = append(options, rowlock.NotBefore(asked.NotBeforeMs.Time))
	}
	if asked.NotBeforeInMs != nil {
		options = append(options, rowlock.NotBeforeIn(durationOf(*asked.NotBeforeInMs)))
	}
	if asked.IfVersion != nil {
		version, err := numberOf(asked.IfVersion)
		if err != nil {
			return nil, err
		}
		options = append(options, rowlock.IfVersion(version))
	}
	record, err := client.UpdateRecord(background, asked.name(), options...)
	return recordOf(&record), err
}

func (d *driver) deleteRecord(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	options := []rowlock.ChangeOption{rowlock.Because(asked.Reason)}
	if asked.IfVersion != nil {
		version, err := numberOf(asked.IfVersion)
		if err != nil {
			return nil, err
		}
		options = append(options, rowlock.IfVersion(version))
	}
	deleted, err := client.DeleteRecord(background, asked.name(), options...)
	return object{"deleted": deleted}, err
}

// recordOf is nil if the lock has no record.
func recordOf(record *rowlock.RecordView) object {
	if record == nil {
		return nil
	}
	shown := object{
		"status": record.Status, "version": strconv.FormatUint(record.Version, 10), "failures": record.Failures,
	}
	if record.AttemptsLeft != rowlock.Unlimited {
		shown["attemptsLeft"] = record.AttemptsLeft
	}
	if !record.NotBefore.IsZero() {
		shown["notBeforeMs"] = record.NotBefore.UnixMilli()
	}
	if record.LastRun != nil {
		shown["lastRun"] = runOf(record.LastRun)
	}
	if record.LastSuccess != nil {
		shown["lastSuccess"] = runOf(record.LastSuccess)
	}
	return shown
}

func runOf(run *rowlock.LastRunView) object {
	return object{
		"owner": run.Owner, "token": strconv.FormatUint(run.Token, 10), "endReason": run.EndReason, "status": run.Status,
	}
}
