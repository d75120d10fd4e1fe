// Command conformance is the conformance driver of this client. It reads commands as lines of JSON from standard input
// and writes results and events to standard output: see test/clients/conformance/README.md. It adds nothing to what the
// client does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlocktest"
)

// verb runs a command outside of the reading goroutine, and returns its result.
type verb func(*driver, *command) (any, error)

var verbs = map[string]verb{
	"connect":      (*driver).connect,
	"setToken":     (*driver).setToken,
	"acquire":      (*driver).acquire,
	"spend":        (*driver).spend,
	"capture":      (*driver).capture,
	"giveUp":       (*driver).giveUp,
	"leave":        (*driver).leave,
	"state":        (*driver).state,
	"release":      (*driver).release,
	"handOver":     (*driver).handOver,
	"renewLease":   (*driver).renewLease,
	"releaseLease": (*driver).releaseLease,
	"setLimit":     (*driver).setLimit,
	"setRate":      (*driver).setRate,
	"unsetRate":    (*driver).unsetRate,

	"setQueueRules":   (*driver).setQueueRules,
	"unsetQueueRules": (*driver).unsetQueueRules,

	"updateRecord": (*driver).updateRecord,
	"deleteRecord": (*driver).deleteRecord,
	"getLock":      (*driver).getLock,
	"listLocks":    (*driver).listLocks,
	"listLimits":   (*driver).listLimits,
	"listClaims":   (*driver).listClaims,
	"listChanges":  (*driver).listChanges,
	"explainWait":  (*driver).explainWait,
	"forceRelease": (*driver).forceRelease,
	"fencedWrite":  (*driver).fencedWrite,
	"guardedWrite": (*driver).guardedWrite,
	"watch":        (*driver).watch,
	"unwatch":      (*driver).unwatch,
	"work":         (*driver).work,
	"finish":       (*driver).finish,
	"stopWorking":  (*driver).stopWorking,

	"startTestServer":  (*driver).startTestServer,
	"loseAtTestServer": (*driver).loseAtTestServer,
	"stopTestServer":   (*driver).stopTestServer,

	"block": (*driver).block,
	"close": (*driver).closeClient,
}

type driver struct {
	mu      sync.Mutex
	clients map[string]*rowlock.Client
	// tokens are what the token functions of the clients return, by name of the client.
	tokens  map[string]string
	handles map[string]*handle
	loops   map[string]*loop
	servers map[string]*rowlocktest.Server

	// saying is held while a line is written.
	saying sync.Mutex
}

func main() {
	d := &driver{clients: map[string]*rowlock.Client{}, tokens: map[string]string{}, handles: map[string]*handle{},
		loops: map[string]*loop{}, servers: map[string]*rowlocktest.Server{}}
	if err := d.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run takes commands until standard input ends, and then closes the clients.
func (d *driver) run() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		asked := &command{}
		if err := json.Unmarshal(lines.Bytes(), asked); err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		if asked.Do == "acquire" || asked.Do == "spend" || asked.Do == "capture" {
			// Made here, so that later commands find it.
			asked.handle = d.newHandle(asked.Lock)
		}
		go d.obey(asked)
	}
	var closing sync.WaitGroup
	d.mu.Lock()
	for _, client := range d.clients {
		closing.Add(1)
		go func() {
			defer closing.Done()
			client.Close()
		}()
	}
	d.mu.Unlock()
	closing.Wait()
	return lines.Err()
}

func (d *driver) obey(asked *command) {
	run, isVerb := verbs[asked.Do]
	if !isVerb {
		d.answer(asked, nil, fmt.Errorf("there is no command %s", asked.Do))
		return
	}
	result, err := run(d, asked)
	if !asked.isAnswered {
		d.answer(asked, result, err)
	}
}

func (d *driver) answer(asked *command, result any, err error) {
	asked.isAnswered = true
	if err != nil {
		d.say(object{"id": asked.ID, "error": failureOf(err)})
		return
	}
	d.say(object{"id": asked.ID, "result": result})
}

// object is a JSON object.
type object map[string]any

func (d *driver) say(line object) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	d.saying.Lock()
	defer d.saying.Unlock()
	os.Stdout.Write(append(text, '\n'))
}
