// Text that is not UTF-8: each call refuses it itself, and asks no server.

package rowlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func TestNoCallSendsTextThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	// Nobody listens, so a call that needed a connection would take a minute, and fail for another reason.
	client := connect(t, rowlock.Config{Addresses: []string{deadAddress(t)}, GiveUpAfter: painfullyLong})
	const bad = "caf\xe9"
	labels := map[string]string{"where": bad}
	lock := func(name string, options ...rowlock.LockOption) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := client.Lock(ctx, name, options...)
			return err
		}
	}
	capture := func(options ...rowlock.CaptureOption) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := client.Capture(ctx, options...)
			return err
		}
	}
	for call, one := range map[string]struct {
		field string
		fails func(context.Context) error
	}{
		"name":       {"name", lock(bad)},
		"owner":      {"owner", lock("a", rowlock.Owner(bad))},
		"label":      {"labels", lock("a", rowlock.Labels(labels))},
		"key":        {"labels", lock("a", rowlock.Labels(map[string]string{bad: "x"}))},
		"request id": {"request_id", lock("a", rowlock.RequestID(bad))},
		"if status":  {"if_status", lock("a", rowlock.IfStatus("ok", bad))},
		"if lost":    {"status_if_lost", lock("a", rowlock.StatusIfLost(bad))},
		"prefix":     {"prefix", capture(rowlock.Prefix(bad))},
		"names":      {"names", capture(rowlock.Names("a", bad))},
		"status": {"status", func(ctx context.Context) error {
			_, err := client.UpdateRecord(ctx, "a", rowlock.Status(bad))
			return err
		}},
		"release": {"lease_id", func(ctx context.Context) error {
			_, err := client.Release(ctx, bad)
			return err
		}},
		"reason of a limit": {"reason", func(ctx context.Context) error {
			_, err := client.SetLimit(ctx, rowlock.ForName("a"), 1, rowlock.Because(bad))
			return err
		}},
		"reason of a record": {"reason", func(ctx context.Context) error {
			_, err := client.UpdateRecord(ctx, "a", rowlock.Status("new"), rowlock.Because(bad))
			return err
		}},
		"reason of a deletion": {"reason", func(ctx context.Context) error {
			_, err := client.DeleteRecord(ctx, "a", rowlock.Because(bad))
			return err
		}},
		"pattern": {"pattern", func(ctx context.Context) error {
			_, err := client.SetLimit(ctx, rowlock.ForPattern(bad+"*"), 1)
			return err
		}},
		"reason of a forced release": {"reason", func(ctx context.Context) error {
			_, err := client.ForceRelease(ctx, "a", bad)
			return err
		}},
		"claims": {"owner", func(ctx context.Context) (err error) {
			for _, err = range client.ListClaims(ctx, rowlock.ListClaimsOptions{LockName: "a", Owner: bad}) {
			}
			return err
		}},
		"watch": {"prefix", func(ctx context.Context) (err error) {
			for _, err = range client.Watch(ctx, bad) {
			}
			return err
		}},
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(background, painfullyLong)
			defer cancel()
			err := one.fails(ctx)
			failed, _ := asType[*rowlock.Error](err)
			if !errors.Is(err, rowlock.ErrBadRequest) || len(failed.Violations) != 1 || failed.Violations[0].Field != one.field {
				t.Fatal(err)
			}
			if said := err.Error(); !strings.Contains(said, `caf\xe9`) || !strings.Contains(said, "encode it as UTF-8") {
				t.Error(said)
			}
		})
	}
}

// Any bytes may follow a name that ends in -bin. Other headers would be refused by gRPC, in words of its own.
func TestHeadersThatCannotBeSentFailWithWhatToDo(t *testing.T) {
	t.Parallel()
	client := connect(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, GiveUpAfter: painfullyLong,
		MakeHeaders: func(context.Context) (map[string]string, error) {
			return map[string]string{"x-caller": "a-secret\xff"}, nil
		}})
	_, err := client.GetLock(background, "a")
	if err == nil || !strings.Contains(err.Error(), `"x-caller"`) || !strings.Contains(err.Error(), "base64") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	client = connect(t, rowlock.Config{Addresses: []string{sharedAddress(t)}, Headers: map[string]string{"x-caller-bin": "\xff"}})
	if _, err := client.GetLock(background, "a"); err != nil {
		t.Error(err)
	}
}
