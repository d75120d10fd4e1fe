// What may come with a change of a limit, of a rate, of queue rules or of a lock's record, beside what it sets.

package rowlock

// ChangeOption is [IfVersion] or [Because]: a [LimitOption], an [UpdateOption], and an option of [Client.DeleteRecord].
type ChangeOption func(*changeOptions)

func (set ChangeOption) ofLimit(o *changeOptions) { set(o) }

func (set ChangeOption) ofUpdate(o *updateOptions) { set(&o.changeOptions) }

type changeOptions struct {
	version *uint64
	reason  string
	// setRate changes the rate beside a limit; nil: leave it alone.
	setRate rateOption
	// setQueueRules changes the queue rules beside a limit or a rate; nil: leave them alone.
	setQueueRules queueRulesOption
}

// IfVersion makes a change of a limit, of a rate, of queue rules or of a lock's record only if that has this version, or for 0
// only if there is none. A limit, a rate and queue rules share their version. Otherwise the change fails with [ErrVersionMismatch].
func IfVersion(version uint64) ChangeOption {
	return func(o *changeOptions) { o.version = &version }
}

// Because is the reason for the change, for people who look later; at most 255 bytes. [Client.ListChanges] shows it.
func Because(reason string) ChangeOption {
	return func(o *changeOptions) { o.reason = reason }
}
