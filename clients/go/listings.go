package rowlock

import (
	"context"
	"iter"

	"github.com/rowlock/rowlock/clients/go/rowlockv1"
)

// ListOrder is in which order locks are listed.
type ListOrder string

const (
	// ByName is by the bytes of the name.
	ByName ListOrder = "name"
	// ByLongestWait has locks that are waited for, the one whose first waiter came earliest first. There is one page of them.
	ByLongestWait ListOrder = "longest wait"
	// ByMostWaiters has locks that are waited for, the one with the longest queue first. There is one page of them.
	ByMostWaiters ListOrder = "most waiters"
)

var protoOrders = map[ListOrder]rowlockv1.ListOrder{
	"":            rowlockv1.ListOrder_LIST_ORDER_NAME,
	ByName:        rowlockv1.ListOrder_LIST_ORDER_NAME,
	ByLongestWait: rowlockv1.ListOrder_LIST_ORDER_LONGEST_WAIT,
	ByMostWaiters: rowlockv1.ListOrder_LIST_ORDER_MOST_WAITERS,
}

// ListOptions are which locks to list, and how.
type ListOptions struct {
	// Prefix is what their names begin with.
	Prefix string
	// BusyOnly leaves out those with neither a holder nor a waiter.
	BusyOnly bool
	// Order is [ByName] unless told otherwise.
	Order ListOrder
	// PageSize is how many are asked for at once; 0: as many as the server likes.
	PageSize int32
}

// GetLock shows one lock. Looking at it does not make it.
func (c *Client) GetLock(ctx context.Context, name string) (LockInfo, error) {
	request := &rowlockv1.GetLockRequest{Name: name}
	result, err := c.ask(ctx, &demand{
		command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_GetLock{GetLock: request}},
		kind:    ordinary,
	})
	if err != nil {
		return LockInfo{}, err
	}
	return lockInfoOf(result.GetGetLock().GetLock()), nil
}

// ListLocks lists locks over all pages. It ends at the first error.
func (c *Client) ListLocks(ctx context.Context, options ListOptions) iter.Seq2[LockInfo, error] {
	order, isOrder := protoOrders[options.Order]
	if !isOrder {
		return func(yield func(LockInfo, error) bool) { yield(LockInfo{}, mistake("Order", "there is no such order")) }
	}
	return pages(lockInfoOf, func(token string) ([]*rowlockv1.Lock, string, error) {
		request := &rowlockv1.ListLocksRequest{
			Prefix: options.Prefix, BusyOnly: options.BusyOnly, Order: order, PageSize: options.PageSize, PageToken: token,
		}
		result, err := c.ask(ctx, &demand{
			command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ListLocks{ListLocks: request}},
			kind:    ordinary,
		})
		return result.GetListLocks().GetLocks(), result.GetListLocks().GetNextPageToken(), err
	})
}

// ListLimits lists the limits that were set, for patterns and then for names that begin with the prefix, over all pages. It ends
// at the first error.
func (c *Client) ListLimits(ctx context.Context, prefix string) iter.Seq2[LimitSetting, error] {
	return pages(limitSettingOf, func(token string) ([]*rowlockv1.LimitSetting, string, error) {
		request := &rowlockv1.ListLimitsRequest{Prefix: prefix, PageToken: token}
		result, err := c.ask(ctx, &demand{
			command: &rowlockv1.SessionCommand{Command: &rowlockv1.SessionCommand_ListLimits{ListLimits: request}},
			kind:    ordinary,
		})
		return result.GetListLimits().GetLimits(), result.GetListLimits().GetNextPageToken(), err
	})
}

// pages goes through all of them, one after the other.
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
