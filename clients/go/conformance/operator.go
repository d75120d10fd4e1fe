// Commands that need a client but no held lock: limits, rates, queue rules, listings, and leases by id.

package main

import (
	"context"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

var background = context.Background()

// ttlOf is 0 if the command has no ttl.
func ttlOf(asked *command) time.Duration {
	if asked.TTLMs == nil {
		return 0
	}
	return asked.TTLMs.Duration
}

func (d *driver) renewLease(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	lease, err := client.Renew(background, asked.LeaseID, ttlOf(asked))
	if err != nil {
		return nil, err
	}
	tokens := map[string]uint64{lease.Name: lease.Token}
	for _, lock := range lease.Also {
		tokens[lock.LockName] = lock.Token
	}
	renewed := object{
		"name": lease.Name, "token": strconv.FormatUint(lease.Token, 10), "tokens": tokensOf(tokens), "ttlMs": nil,
	}
	if lease.TTL != rowlock.Forever {
		renewed["ttlMs"] = msOf(lease.TTL)
	}
	return renewed, nil
}

func (d *driver) releaseLease(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	released, err := client.Release(background, asked.LeaseID, releaseOptionsOf(asked)...)
	return object{"released": released}, err
}

// settingChange changes what a client sets for a target.
type settingChange func(*rowlock.Client, rowlock.LimitTarget, []rowlock.LimitOption) (rowlock.LimitInForce, error)

// changed is what a change of the settings of the command's target has led to.
func (d *driver) changed(asked *command, change settingChange) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	target, options, err := settingOf(asked)
	if err != nil {
		return nil, err
	}
	set, err := change(client, target, options)
	return setOf(set), err
}

func (d *driver) setLimit(asked *command) (any, error) {
	return d.changed(asked, func(client *rowlock.Client, target rowlock.LimitTarget, options []rowlock.LimitOption) (rowlock.LimitInForce, error) {
		if asked.Limit == nil {
			return client.UnsetLimit(background, target, options...)
		}
		return client.SetLimit(background, target, *asked.Limit, options...)
	})
}

func (d *driver) setRate(asked *command) (any, error) {
	return d.changed(asked, func(client *rowlock.Client, target rowlock.LimitTarget, options []rowlock.LimitOption) (rowlock.LimitInForce, error) {
		rate := rowlock.Rate{Permits: asked.Rate.Permits, Per: durationOf(asked.Rate.PerMs), Burst: asked.Rate.Burst}
		return client.SetRate(background, target, rate, options...)
	})
}

func (d *driver) unsetRate(asked *command) (any, error) {
	return d.changed(asked, func(client *rowlock.Client, target rowlock.LimitTarget, options []rowlock.LimitOption) (rowlock.LimitInForce, error) {
		return client.UnsetRate(background, target, options...)
	})
}

func (d *driver) setQueueRules(asked *command) (any, error) {
	return d.changed(asked, func(client *rowlock.Client, target rowlock.LimitTarget, options []rowlock.LimitOption) (rowlock.LimitInForce, error) {
		return client.SetQueueRules(background, target, asked.QueueRules.asked(), options...)
	})
}

func (d *driver) unsetQueueRules(asked *command) (any, error) {
	return d.changed(asked, func(client *rowlock.Client, target rowlock.LimitTarget, options []rowlock.LimitOption) (rowlock.LimitInForce, error) {
		return client.UnsetQueueRules(background, target, options...)
	})
}

// settingOf is what a command changes the settings of, and what comes with that.
func settingOf(asked *command) (rowlock.LimitTarget, []rowlock.LimitOption, error) {
	target := rowlock.ForPattern(asked.Pattern)
	if asked.Name != nil {
		target = rowlock.ForName(*asked.Name)
	}
	if asked.Pool != "" {
		target = rowlock.ForPool(asked.Pool)
	}
	options := []rowlock.LimitOption{rowlock.Because(asked.Reason)}
	if asked.IfVersion != nil {
		version, err := numberOf(asked.IfVersion)
		if err != nil {
			return target, nil, err
		}
		options = append(options, rowlock.IfVersion(version))
	}
	return target, options, nil
}

func setOf(set rowlock.LimitInForce) object {
	return object{
		"limit": set.Limit, "version": strconv.FormatUint(set.Version, 10), "heldPermits": set.HeldPermits,
		"waiterCount": set.WaiterCount, "draining": set.Draining, "rate": rateOf(set.Rate),
		"queueRules": queueRulesOf(set.QueueRules), "noLimit": set.NoLimit, "counting": set.Counting,
	}
}

// queueRules are those of a command.
type queueRules struct {
	rowlock.QueueRules
	HeadStartMaxMs float64
}

func (r queueRules) asked() rowlock.QueueRules {
	rules := r.QueueRules
	rules.HeadStartMax = durationOf(r.HeadStartMaxMs)
	return rules
}

// queueRulesOf is null for no queue rules.
func queueRulesOf(rules *rowlock.QueueRules) any {
	if rules == nil {
		return nil
	}
	return queueRulesShown(*rules)
}

func queueRulesShown(rules rowlock.QueueRules) object {
	shown := object{"whenFull": rules.WhenFull}
	if rules.WaitingMax != 0 {
		shown["waitingMax"] = rules.WaitingMax
	}
	if rules.ShareBy != "" {
		shown["shareBy"] = rules.ShareBy
	}
	if rules.HeadStartMax != 0 {
		shown["headStartMaxMs"] = rules.HeadStartMax.Milliseconds()
	}
	return shown
}

// queueRulesViewOf is null for no queue rules.
func queueRulesViewOf(view *rowlock.QueueRulesView) any {
	if view == nil {
		return nil
	}
	shown := queueRulesShown(view.QueueRules)
	shown["source"], shown["reason"] = view.Source, view.Reason
	if view.Pattern != "" {
		shown["pattern"] = view.Pattern
	}
	return shown
}

// rateOf is null for no rate.
func rateOf(rate *rowlock.Rate) any {
	if rate == nil {
		return nil
	}
	return object{"permits": rate.Permits, "perMs": msOf(rate.Per), "burst": rate.Burst}
}

// rateViewOf is null for no rate.
func rateViewOf(view *rowlock.RateView) any {
	if view == nil {
		return nil
	}
	shown := object{
		"permits": view.Permits, "perMs": msOf(view.Per), "burst": view.Burst, "source": view.Source,
		"reason": view.Reason, "available": view.Available,
	}
	if view.Pattern != "" {
		shown["pattern"] = view.Pattern
	}
	return shown
}

func poolsOf(pools []rowlock.PoolView) []object {
	shown := []object{}
	for _, pool := range pools {
		shown = append(shown, poolOf(pool))
	}
	return shown
}

func poolOf(pool rowlock.PoolView) object {
	shown := object{"pattern": pool.Pattern, "rate": rateViewOf(pool.Rate), "use": useOf(pool.Use)}
	if pool.Limit != nil {
		shown["limit"] = pool.Limit.Permits
	}
	return shown
}

func useOf(use rowlock.PoolUse) object {
	return object{
		"heldPermits": use.HeldPermits, "holderCount": use.HolderCount, "waiterCount": use.WaiterCount,
		"draining": use.Draining, "counting": use.Counting, "available": use.Available,
	}
}

func (d *driver) getLock(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	lock, err := client.GetLock(background, asked.name())
	return object{
		"name": lock.Name, "limit": lock.Limit.Permits, "limitSource": lock.Limit.Source, "heldPermits": lock.HeldPermits,
		"holderCount": lock.HolderCount, "waiterCount": lock.WaiterCount, "draining": lock.Draining,
		"lastToken": strconv.FormatUint(lock.LastToken, 10),
		"holders":   claimsOf(lock.Holders), "waiters": claimsOf(lock.Waiters), "record": recordOf(lock.Record),
		"rate": rateViewOf(lock.Rate), "queueRules": queueRulesViewOf(lock.QueueRules), "pools": poolsOf(lock.Pools),
	}, err
}

func (d *driver) listLocks(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	names := []string{}
	options := rowlock.ListOptions{
		Prefix: asked.prefix(), BusyOnly: asked.BusyOnly, Order: rowlock.ListOrder(asked.Order),
		Statuses: asked.Statuses, ExhaustedOnly: asked.ExhaustedOnly,
	}
	for lock, err := range client.ListLocks(background, options) {
		if err != nil {
			return nil, err
		}
		names = append(names, lock.Name)
	}
	return object{"names": names}, nil
}

func (d *driver) listLimits(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	limits := []object{}
	for setting, err := range client.ListLimits(background, asked.prefix()) {
		if err != nil {
			return nil, err
		}
		limit := object{
			"limit": setting.Limit, "version": strconv.FormatUint(setting.Version, 10), "reason": setting.Reason,
			"rate": rateOf(setting.Rate), "queueRules": queueRulesOf(setting.QueueRules),
		}
		if setting.RateOnly {
			limit["limit"] = nil
		}
		if setting.Use != nil {
			limit["use"] = useOf(*setting.Use)
		}
		switch {
		case setting.Pattern != "":
			limit["pattern"] = setting.Pattern
		case setting.Pool != "":
			limit["pool"] = setting.Pool
		default:
			limit["name"] = setting.Name
		}
		limits = append(limits, limit)
	}
	return object{"limits": limits}, nil
}

func (d *driver) forceRelease(asked *command) (any, error) {
	client, err := d.clientOf(asked)
	if err != nil {
		return nil, err
	}
	var released rowlock.ForceReleased
	if asked.TicketNumber == nil {
		released, err = client.ForceRelease(background, asked.name(), asked.Reason)
	} else {
		ticketNumber, bad := numberOf(asked.TicketNumber)
		if bad != nil {
			return nil, bad
		}
		released, err = client.ForceReleaseClaim(background, asked.name(), ticketNumber, asked.Reason)
	}
	return object{"ended": len(released.Ended), "remaining": released.Remaining}, err
}

func claimsOf(claims []rowlock.ClaimView) []object {
	shown := []object{}
	for _, claim := range claims {
		one := object{
			"owner": claim.Owner, "principal": claim.Principal, "permits": claim.Permits, "mode": claim.Mode,
			"ticketNumber": strconv.FormatUint(claim.TicketNumber, 10), "labels": claim.Labels,
		}
		if claim.SpendOnly {
			one["spendOnly"] = true
		}
		if claim.Pool != "" {
			one["pool"] = claim.Pool
		}
		if claim.Token != 0 {
			one["token"] = strconv.FormatUint(claim.Token, 10)
		}
		one["also"] = claimedLocksOf(claim.Also)
		shown = append(shown, one)
	}
	return shown
}

// claimedLocksOf are the other locks of a claim.
func claimedLocksOf(locks []rowlock.ClaimedLock) []object {
	shown := []object{}
	for _, lock := range locks {
		one := object{"lockName": lock.LockName, "mode": lock.Mode, "permits": lock.Permits}
		if lock.Token != 0 {
			one["token"] = strconv.FormatUint(lock.Token, 10)
		}
		shown = append(shown, one)
	}
	return shown
}
