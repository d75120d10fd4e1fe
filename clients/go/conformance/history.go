// The verbs about the past, and about waits.

package main

import (
	"strconv"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func (d *driver) listClaims(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	claims := []object{}
	options := rowlock.ListClaimsOptions{LockName: asked.name(), Prefix: asked.prefix(), Owner: asked.Owner}
	for claim, err := range client.ListClaims(background, options) {
		if err != nil {
			return nil, err
		}
		one := claimsOf([]rowlock.ClaimView{claim})[0]
		one["lockName"], one["state"] = claim.LockName, claim.State
		if claim.End != nil {
			one["end"] = endOf(claim.End)
		}
		claims = append(claims, one)
	}
	return object{"claims": claims}, nil
}

func (d *driver) listChanges(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	changes := []object{}
	options := rowlock.ListChangesOptions{LockName: asked.name(), Prefix: asked.prefix()}
	for change, err := range client.ListChanges(background, options) {
		if err != nil {
			return nil, err
		}
		one := changedOf(change)
		one["kind"], one["changedBy"], one["reason"] = change.Kind, change.ChangedBy, change.Reason
		switch {
		case change.Pattern != "":
			one["pattern"] = change.Pattern
		case change.Pool != "":
			one["pool"] = change.Pool
		case change.LockName != "":
			one["name"] = change.LockName
		}
		changes = append(changes, one)
	}
	return object{"changes": changes}, nil
}

// changedOf is what the change has before and after.
func changedOf(change rowlock.ChangeView) object {
	shown := object{}
	switch {
	case change.Limit != nil:
		if from := change.Limit.From; from != nil {
			shown["from"] = *from
		}
		if to := change.Limit.To; to != nil {
			shown["to"] = *to
		}
		if from := change.Limit.RateFrom; from != nil {
			shown["rateFrom"] = rateOf(from)
		}
		if to := change.Limit.RateTo; to != nil {
			shown["rateTo"] = rateOf(to)
		}
		if from := change.Limit.QueueRulesFrom; from != nil {
			shown["queueRulesFrom"] = queueRulesOf(from)
		}
		if to := change.Limit.QueueRulesTo; to != nil {
			shown["queueRulesTo"] = queueRulesOf(to)
		}
	case change.Record != nil:
		if from := change.Record.From; from != nil {
			shown["from"] = recordOf(from)
		}
		if to := change.Record.To; to != nil {
			shown["to"] = recordOf(to)
		}
	case change.ForcedRelease != nil:
		claim := change.ForcedRelease
		shown["claim"] = object{
			"ticketNumber": strconv.FormatUint(claim.TicketNumber, 10), "state": claim.State, "owner": claim.Owner,
			"principal": claim.Principal,
		}
	case change.Policy != nil:
		shown["from"], shown["to"] = change.Policy.From, change.Policy.To
	}
	return shown
}

func (d *driver) explainWait(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	var explained rowlock.WaitExplanation
	if asked.TicketNumber == nil {
		explained, err = client.ExplainWait(background, asked.name())
	} else {
		ticketNumber, bad := numberOf(asked.TicketNumber)
		if bad != nil {
			return nil, bad
		}
		explained, err = client.ExplainWaitOfClaim(background, asked.name(), ticketNumber)
	}
	causes := []object{}
	for _, cause := range explained.Causes {
		shown := causeOf(cause)
		if cause.LockName != "" {
			shown["lockName"] = cause.LockName
		}
		causes = append(causes, shown)
	}
	answer := object{"causes": causes, "summary": explained.Summary}
	if explained.Claim != nil {
		answer["owner"] = explained.Claim.Owner
	}
	return answer, err
}

func causeOf(cause rowlock.WaitCause) object {
	switch {
	case cause.Held != nil:
		return object{"kind": "held", "holders": ownersOf(cause.Held.Holders), "holderCount": cause.Held.HolderCount}
	case cause.Queued != nil:
		return object{"kind": "queued", "ahead": cause.Queued.Ahead, "first": ownersOf(cause.Queued.First)}
	case cause.Limit != nil:
		return object{"kind": "limit", "limit": cause.Limit.Limit.Permits}
	case !cause.NotBefore.IsZero():
		return object{"kind": "not before"}
	case cause.Exhausted:
		return object{"kind": "exhausted"}
	case cause.Status != nil:
		return object{"kind": "status", "status": *cause.Status}
	case !cause.FailedOverUntil.IsZero():
		return object{"kind": "failed over"}
	case cause.Rate != nil:
		return object{"kind": "rate", "rate": rateViewOf(&cause.Rate.Rate), "isForEver": cause.Rate.Until.IsZero()}
	case cause.Pool != nil:
		shown := poolOf(cause.Pool.Pool)
		shown["kind"], shown["waitsHere"], shown["ahead"] = "pool", cause.Pool.WaitsHere, cause.Pool.Ahead
		return shown
	default:
		return object{"kind": "rows held"}
	}
}

func ownersOf(claims []rowlock.ClaimView) []string {
	owners := []string{}
	for _, claim := range claims {
		owners = append(owners, claim.Owner)
	}
	return owners
}
