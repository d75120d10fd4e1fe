// Errors in the form of the protocol.

package main

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// failureOf is an error of the client in the form of the protocol. Any other error has only a message: an option that
// cannot work, or a mistake of this driver.
func failureOf(err error) object {
	var failed *rowlock.Error
	if !errors.As(err, &failed) {
		return object{"reason": "", "code": "", "message": err.Error(), "violations": []object{}, "metadata": object{}}
	}
	violations := []object{}
	for _, violation := range failed.Violations {
		violations = append(violations, object{"field": violation.Field, "description": violation.Description})
	}
	metadata := failed.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	failure := object{
		"reason":     failed.Reason,
		"code":       code.Code(failed.Code).String(),
		"message":    failed.Message,
		"violations": violations,
		"metadata":   metadata,
	}
	if failed.End != nil {
		failure["end"] = endOf(failed.End)
	}
	if failed.Diagnoses != nil {
		diagnoses := []object{}
		for _, one := range failed.Diagnoses {
			diagnoses = append(diagnoses, object{"address": one.Address, "kind": one.Kind, "sentence": one.Sentence})
		}
		failure["diagnoses"] = diagnoses
	}
	if failed.RetryAfter != 0 {
		failure["retryAfterMs"] = msOf(failed.RetryAfter)
	}
	return failure
}

// endOf is how a claim ended, in the form of the protocol.
func endOf(end *rowlock.ClaimEndView) object {
	shown := object{"reason": end.Reason, "endedBy": end.EndedBy, "note": end.Note, "status": end.Status}
	if end.LockName != "" {
		shown["lockName"] = end.LockName
	}
	if !end.EndedAt.IsZero() {
		shown["endedAtMs"] = end.EndedAt.UnixMilli()
	}
	return shown
}
