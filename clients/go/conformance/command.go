package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	rowlock "github.com/rowlock/rowlock/clients/go"
)

// command is a line of the standard input. The runner is trusted to send what the protocol says.
type command struct {
	ID                 int64
	Do                 string
	Client             string
	Addresses          []string
	Owner              string
	Labels             map[string]string
	GiveUpAfterMs      *float64
	ConnectTimeoutMs   *float64
	TLS                *tlsFiles
	Headers            map[string]string
	Lock               string
	Name               *string
	Pattern            string
	WaitMs             *milliseconds
	TTLMs              *milliseconds
	MarginMs           *float64
	Permits            *int
	Mode               *string
	RequestID          string
	Positions          bool
	PositionIntervalMs *float64
	Scope              bool
	LeaseID            string
	Limit              *int
	IfVersion          *json.RawMessage
	Reason             string
	Prefix             string
	BusyOnly           bool
	Order              string
	TicketNumber       *json.RawMessage
	URL                string
	LockName           string
	Table              string
	Key                string
	Value              string
	Token              *json.RawMessage
	Ms                 float64

	handle     *handle
	isAnswered bool
}

func (c *command) name() string {
	if c.Name == nil {
		return ""
	}
	return *c.Name
}

// milliseconds are a number, or "forever".
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

// numberOf is one of 64 bits, which is a text, or a number where it is small.
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
