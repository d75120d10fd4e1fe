// The commands of the protocol, as JSON.

package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

// command is a line of standard input. The runner is trusted to follow the protocol.
type command struct {
	ID                    int64
	Do                    string
	Client                string
	Addresses             []string
	Owner                 string
	Labels                map[string]string
	GiveUpAfterMs         *float64
	ConnectTimeoutMs      *float64
	TLS                   *tlsFiles
	Headers               map[string]string
	Token                 *json.RawMessage
	TokenFile             string
	TokenFunction         string
	AllowTokenInPlaintext bool
	Lock                  string
	Name                  *string
	Pattern               string
	Pool                  string
	WaitMs                *milliseconds
	TTLMs                 *milliseconds
	MarginMs              *float64
	Permits               *int
	Mode                  *string
	Also                  []furtherLock
	HeadStartMs           *float64
	RequestID             string
	Positions             bool
	PositionIntervalMs    *float64
	Scope                 bool
	LeaseID               string
	Limit                 *int
	Rate                  rate
	QueueRules            queueRules
	IfVersion             *json.RawMessage
	Reason                string
	Prefix                *string
	BusyOnly              bool
	Statuses              []string
	ExhaustedOnly         bool
	Order                 string
	TicketNumber          *json.RawMessage
	URL                   string
	LockName              string
	Table                 string
	Key                   string
	Value                 string
	Ms                    float64
	Names                 []string
	Count                 *int
	MinIntervalMs         *float64
	LockDelayMs           *float64
	StatusIfLost          *string
	Backoff               *backoff
	IfStatus              []string
	Status                *string
	CoolDownMs            *float64
	AttemptsLeft          *attempts
	Failed                bool
	NotBeforeMs           *instant
	NotBeforeInMs         *float64
	ExplainAfterMs        *float64
	Watch                 string
	Worker                string
	Concurrency           int
	StatusWhenDone        *string
	Fails                 bool
	Server                string

	handle     *handle
	isAnswered bool
}

func (c *command) name() string {
	if c.Name == nil {
		return ""
	}
	return *c.Name
}

// prefix is the prefix to list; empty if none is given.
func (c *command) prefix() string {
	if c.Prefix == nil {
		return ""
	}
	return *c.Prefix
}

// names are those of all locks of the command.
func (c *command) names() []string {
	names := []string{c.name()}
	for _, lock := range c.Also {
		names = append(names, lock.Name)
	}
	return names
}

// furtherLock is one of several locks that are asked for at once.
type furtherLock struct {
	Name    string
	Mode    *string
	Permits *int
}

// rate is how fast a lock may be granted.
type rate struct {
	Permits uint32
	PerMs   float64
	Burst   uint32
}

// backoff is how long a lock rests after a failure.
type backoff struct {
	FirstMs float64
	MaxMs   float64
}

// attempts is a number, or "unlimited".
type attempts struct {
	number int
}

func (a *attempts) UnmarshalJSON(text []byte) error {
	if string(text) == `"unlimited"` {
		a.number = rowlock.Unlimited
		return nil
	}
	return json.Unmarshal(text, &a.number)
}

// instant is a number of milliseconds since 1970, or "none".
type instant struct {
	time.Time
}

func (i *instant) UnmarshalJSON(text []byte) error {
	if string(text) == `"none"` {
		return nil
	}
	var number float64
	err := json.Unmarshal(text, &number)
	i.Time = time.Unix(0, 0).Add(durationOf(number))
	return err
}

// milliseconds is a number, or "forever".
type milliseconds struct {
	time.Duration
}

func (m *milliseconds) UnmarshalJSON(text []byte) error {
	if string(text) == `"forever"` {
		m.Duration = rowlock.Forever
		return nil
	}
	var number float64
	err := json.Unmarshal(text, &number)
	m.Duration = durationOf(number)
	return err
}

func durationOf(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond))
}

func msOf(duration time.Duration) float64 {
	return float64(duration) / float64(time.Millisecond)
}

// numberOf is a 64-bit number, written as a string, or as a JSON number if it is small.
func numberOf(text *json.RawMessage) (uint64, error) {
	if text == nil {
		return 0, fmt.Errorf("a number is missing")
	}
	words, err := strconv.Unquote(string(*text))
	if err != nil {
		words = string(*text)
	}
	return strconv.ParseUint(words, 10, 64)
}
