// Reads for operators: locks and limits, over all pages.

package rowlock

import (
	"context"
	"fmt"
	"iter"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// ListOrder is the order in which locks are listed.
type ListOrder string

const (
	// ByName is the order of the names' bytes.
	ByName ListOrder = "name"
	// ByLongestWait lists only locks with waiters, the one whose first waiter came earliest first. It has one page
	// only.
	ByLongestWait ListOrder = "longest wait"
	// ByMostWaiters lists only locks with waiters, the one with the longest queue first. It has one page only.
	ByMostWaiters ListOrder = "most waiters"
)

var protoOrders = map[ListOrder]rowlockv1.ListOrder{
	"":            rowlockv1.ListOrder_LIST_ORDER_NAME,
	ByName:        rowlockv1.ListOrder_LIST_ORDER_NAME,
	ByLongestWait: rowlockv1.ListOrder_LIST_ORDER_LONGEST_WAIT,
	ByMostWaiters: rowlockv1.ListOrder_LIST_ORDER_MOST_WAITERS,
}

// ListOptions says which locks [Client.ListLocks] lists, and how.
type ListOptions struct {
	// Prefix is what their names begin with, at most 255 bytes; empty: all locks.
	Prefix string `json:"prefix"`
	// BusyOnly leaves out locks with neither a holder nor a waiter.
	BusyOnly bool `json:"busyOnly"`
	// Statuses leaves out locks whose records have none of these statuses; at most 16. Along an index, so others cost nothing: by the
	// folder of their names, by status, and then as they are due. Not with BusyOnly or Order.
	Statuses []string `json:"statuses"`
	// ExhaustedOnly leaves out locks whose records have attempts left, in the same order.
	ExhaustedOnly bool `json:"exhaustedOnly"`
	// Order is the order of the locks. Default: [ByName].
	Order ListOrder `json:"order"`
	// PageSize is how many locks to ask for at once, at most 1,000; 0: as many as the server likes.
	PageSize int32 `json:"pageSize"`
}

// GetLock returns the state of one lock, with up to 100 holders and 100 waiters. It does not create the lock. It is
// safe to repeat.
func (c *Client) GetLock(ctx context.Context, name string) (LockView, error) {
	request := &rowlockv1.GetLockRequest{Name: name}
	result, err := c.ask(ctx, &question{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_GetLock{GetLock: request}},
		kind:    kindOther,
	})
	if err != nil {
		return LockView{}, err
	}
	return lockViewOf(result.GetGetLock().GetLock()), nil
}

// ListLocks lists locks over all pages, each with up to 10 holders and 10 waiters. It ends at the first error. It is
// safe to repeat; pages are not a snapshot of one moment.
func (c *Client) ListLocks(ctx context.Context, options ListOptions) iter.Seq2[LockView, error] {
	order, isOrder := protoOrders[options.Order]
	if !isOrder {
		return func(yield func(LockView, error) bool) {
			yield(LockView{}, mistake("Order", fmt.Sprintf("%q is not an order", options.Order)))
		}
	}
	return pages(lockViewOf, func(token string) ([]*rowlockv1.Lock, string, error) {
		request := &rowlockv1.ListLocksRequest{
			Prefix: options.Prefix, BusyOnly: options.BusyOnly, Order: order, PageSize: options.PageSize, PageToken: token,
			Statuses: options.Statuses, ExhaustedOnly: options.ExhaustedOnly,
		}
		result, err := c.ask(ctx, &question{
			command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ListLocks{ListLocks: request}},
			kind:    kindOther,
		})
		return result.GetListLocks().GetLocks(), result.GetListLocks().GetNextPageToken(), err
	})
}

// ListLimits lists the limits that were set: patterns, pools and then names, those that begin with the prefix, over all pages.
// It ends at the first error. It is safe to repeat.
func (c *Client) ListLimits(ctx context.Context, prefix string) iter.Seq2[LimitSetting, error] {
	return pages(limitSettingOf, func(token string) ([]*rowlockv1.LimitSetting, string, error) {
		request := &rowlockv1.ListLimitsRequest{Prefix: prefix, PageToken: token}
		result, err := c.ask(ctx, &question{
			command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ListLimits{ListLimits: request}},
			kind:    kindOther,
		})
		return result.GetListLimits().GetLimits(), result.GetListLimits().GetNextPageToken(), err
	})
}

// pages iterates over the entries of all pages.
func pages[Message, View any](
	view func(Message) View, page func(token string) ([]Message, string, error),
) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		for token := ""; ; {
			messages, next, err := page(token)
			if err != nil {
				var none View
				yield(none, err)
				return
			}
			for _, message := range messages {
				if !yield(view(message), nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}
