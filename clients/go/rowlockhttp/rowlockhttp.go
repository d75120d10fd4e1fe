// Package rowlockhttp runs HTTP handlers under locks, one request at a time for each name:
//
//	serialize := rowlockhttp.Serialize(client, func(r *http.Request) string { return "cart/" + r.PathValue("cart") })
//	mux.Handle("POST /carts/{cart}/checkout", serialize(checkout))
//
// The handler's request has a context that is cancelled when the lock is lost.
package rowlockhttp

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// Option is an option of [Serialize].
type Option func(*options)

type options struct {
	lock    []rowlock.LockOption
	status  int
	refused func(http.ResponseWriter, *http.Request, *rowlock.Refusal)
	failed  func(http.ResponseWriter, *http.Request, error)
	logger  *slog.Logger
}

// With sets options of the lock, such as [rowlock.Wait]. By default, a request waits as long as its caller does;
// rowlock.Wait(0) refuses a request at once whose lock is busy.
func With(more ...rowlock.LockOption) Option {
	return func(o *options) { o.lock = append(o.lock, more...) }
}

// Status is the status of the answer to a refused request, such as [http.StatusLocked]. Default: 503 Service Unavailable,
// which says that another try may succeed.
func Status(status int) Option {
	return func(o *options) { o.status = status }
}

// Refused answers a request whose lock was refused. Default: the status of [Status], Retry-After if the server knows when
// another try can help, and the refusal's message.
func Refused(answer func(w http.ResponseWriter, r *http.Request, refusal *rowlock.Refusal)) Option {
	return func(o *options) { o.refused = answer }
}

// Failed answers a request whose lock could not be asked for, for example because no server answers. Default: 503 without
// details, which are logged; 400 if no lock can have the name, such as one that is not UTF-8.
func Failed(answer func(w http.ResponseWriter, r *http.Request, err error)) Option {
	return func(o *options) { o.failed = answer }
}

// Logger gets the errors of requests. Default: slog.Default().
func Logger(logger *slog.Logger) Option {
	return func(o *options) { o.logger = logger }
}

type lockKey struct{}

// LockOf is the lock under which a request is handled, for its fencing token; nil if there is none.
func LockOf(ctx context.Context) *rowlock.Lock {
	lock, _ := ctx.Value(lockKey{}).(*rowlock.Lock)
	return lock
}

// Serialize returns a middleware that handles each request under the lock of this name. A request without a name (an empty
// one) needs no lock. A request whose caller has gone gives its place in the queue up.
//
// When the lock is lost, the context of the request is cancelled, with an error for [rowlock.ErrLeaseLost] as its cause. What
// to answer then is up to the handler. A loss is logged, even if the handler did not notice it.
func Serialize(
	client *rowlock.Client, name func(*http.Request) string, more ...Option,
) func(http.Handler) http.Handler {
	o := &options{status: http.StatusServiceUnavailable, logger: slog.Default()}
	o.refused, o.failed = o.answerRefused, o.answerFailed
	for _, option := range more {
		option(o)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name := name(r); name == "" {
				next.ServeHTTP(w, r)
			} else {
				o.serve(client, name, next, w, r)
			}
		})
	}
}

func (o *options) serve(client *rowlock.Client, name string, next http.Handler, w http.ResponseWriter, r *http.Request) {
	isGranted := false
	err := client.WithLock(r.Context(), name, func(ctx context.Context, lock *rowlock.Lock) error {
		isGranted = true
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, lockKey{}, lock)))
		return nil
	}, o.lock...)
	var failed *rowlock.Error
	switch {
	case err == nil:
	case isGranted:
		o.logger.WarnContext(r.Context(), "rowlock: a request was handled without its lock for a time",
			slog.String("lock", name), slog.String("error", err.Error()))
	case errors.Is(r.Context().Err(), context.Canceled):
		// Nobody reads an answer any more.
	case errors.As(err, &failed) && failed.Refusal != nil:
		o.refused(w, r, failed.Refusal)
	default:
		o.failed(w, r, err)
	}
}

func (o *options) answerRefused(w http.ResponseWriter, _ *http.Request, refusal *rowlock.Refusal) {
	if after := refusal.RetryAfter; after > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(after.Seconds()), 'f', 0, 64))
	}
	http.Error(w, refusal.Message, o.status)
}

func (o *options) answerFailed(w http.ResponseWriter, r *http.Request, err error) {
	if isOfName(err) {
		http.Error(w, "no lock can have this name", http.StatusBadRequest)
		return
	}
	o.logger.ErrorContext(r.Context(), "rowlock: a request got no lock", slog.String("error", err.Error()))
	w.Header().Set("Retry-After", strconv.Itoa(int(failedAgain/time.Second)))
	http.Error(w, "the lock server does not answer", http.StatusServiceUnavailable)
}

// isOfName reports whether all that is wrong is the name of the lock, which a caller may have chosen.
func isOfName(err error) bool {
	var failed *rowlock.Error
	return errors.As(err, &failed) && len(failed.Violations) == 1 && (failed.Violations[0].Field == "name" ||
		strings.HasSuffix(failed.Violations[0].Field, ".name"))
}

// failedAgain is when a caller may try again after the lock could not be asked for.
const failedAgain = 5 * time.Second
