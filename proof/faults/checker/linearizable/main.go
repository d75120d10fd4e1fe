// Command linearizable checks a history of a run with faults by Porcupine, a checker of linearizability that is not ours:
// counters that are raised by compare-and-set, as registers with a version, and the fencing tokens of each lock, as a
// number that every grant raises. A call whose outcome is unknown may take effect at any time after its start, or never.
//
//	go run . HISTORY.jsonl
//
// Prints a line for each lock, and ends with exit code 1 if one is not linearizable.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

// For one lock. Longer means that nothing was found out, which is told.
const patience = time.Minute

type entry struct {
	Did         string  `json:"did"`
	Who         string  `json:"who"`
	Lock        string  `json:"lock"`
	StartMs     float64 `json:"startMs"`
	EndMs       float64 `json:"endMs"`
	Outcome     string  `json:"outcome"`
	Token       string  `json:"token"`
	RequestID   string  `json:"requestId"`
	From        int     `json:"from"`
	To          int     `json:"to"`
	FromVersion string  `json:"fromVersion"`
	Version     string  `json:"version"`
	Value       int     `json:"value"`
}

// A register: its value and version. The version is not known after a change whose outcome is unknown.
type register struct {
	value   int
	version string
}

const unknownVersion = "?"

var registers = porcupine.NondeterministicModel{
	Init: func() []any { return []any{register{0, "0"}} },
	Step: func(state, input, _ any) []any {
		now, call := state.(register), input.(entry)
		fits := func(version string) bool { return now.version == version || now.version == unknownVersion }
		switch {
		case call.Did == "read":
			if now.value == call.Value && fits(call.Version) {
				return []any{register{call.Value, call.Version}}
			}
		case call.Outcome == "done":
			if now.value == call.From && fits(call.FromVersion) {
				return []any{register{call.To, call.Version}}
			}
		case call.Outcome == "mismatch":
			if now.version != call.FromVersion {
				return []any{now}
			}
		default:
			next := []any{now}
			if now.value == call.From && fits(call.FromVersion) {
				next = append(next, register{call.To, unknownVersion})
			}
			return next
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

var tokens = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, _ any) (bool, any) {
		token := input.(uint64)
		return token > state.(uint64), token
	},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: linearizable HISTORY.jsonl")
		os.Exit(2)
	}
	calls, grants, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	isGood := check("compare-and-set of", registers.ToModel(), calls)
	isGood = check("tokens of", tokens, grants) && isGood
	if !isGood {
		os.Exit(1)
	}
}

func check(what string, model porcupine.Model, operations map[string][]porcupine.Operation) bool {
	names := make([]string, 0, len(operations))
	for name := range operations {
		names = append(names, name)
	}
	sort.Strings(names)
	isGood := true
	for _, name := range names {
		result := porcupine.CheckOperationsTimeout(model, operations[name], patience)
		fmt.Printf("%s %s: %d calls, %s\n", what, name, len(operations[name]), told(result))
		isGood = isGood && result != porcupine.Illegal
	}
	return isGood
}

func told(result porcupine.CheckResult) string {
	switch result {
	case porcupine.Ok:
		return "linearizable"
	case porcupine.Illegal:
		return "NOT LINEARIZABLE"
	default:
		return "not found out in time"
	}
}

// read returns the calls of counters and the grants, by the names of their locks.
func read(path string) (calls, grants map[string][]porcupine.Operation, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	calls, grants = map[string][]porcupine.Operation{}, map[string][]porcupine.Operation{}
	clients, known := map[string]int{}, map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one entry
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, nil, err
		}
		if _, isKnown := clients[one.Who]; !isKnown {
			clients[one.Who] = len(clients)
		}
		operation := porcupine.Operation{ClientId: clients[one.Who], Call: micros(one.StartMs), Return: micros(one.EndMs)}
		switch {
		case one.Did == "read" || one.Did == "count":
			if one.Outcome == "unknown" {
				operation.Return = math.MaxInt64
			}
			operation.Input = one
			calls[one.Lock] = append(calls[one.Lock], operation)
		case one.Did == "acquire" && one.Outcome == "granted":
			token, err := strconv.ParseUint(one.Token, 10, 64)
			if err != nil {
				return nil, nil, err
			}
			// The same request may have been sent twice. It is one grant if it has one token.
			grant := fmt.Sprint(one.Lock, " ", one.Token, " ", one.RequestID)
			if one.RequestID != "" && known[grant] {
				continue
			}
			known[grant] = true
			operation.Input = token
			grants[one.Lock] = append(grants[one.Lock], operation)
		}
	}
	return calls, grants, lines.Err()
}

func micros(ms float64) int64 { return int64(ms * 1e3) }
