// What a client knows about the addresses where no server answers. It connects to nothing but for a probe.

package rowlock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
)

// silentTooLong is how long a client without a server keeps that to itself: a restart is over by then.
const silentTooLong = time.Second

// reachability collects a [Diagnosis] for each address whose server did not answer. All methods are called in a turn.
type reachability struct {
	turns     *turns
	config    Config
	diagnosed map[string]diagnosed
	// probing are the addresses that a probe looks at.
	probing map[string]bool
	// stop ends the probes.
	stop func()
	ctx  context.Context
	// changed is called after each diagnosis.
	changed func()
}

type diagnosed struct {
	Diagnosis
	at time.Duration
}

func newReachability(turns *turns, config Config, changed func()) *reachability {
	r := &reachability{turns: turns, config: config, diagnosed: map[string]diagnosed{}, probing: map[string]bool{}, changed: changed}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// answers forgets what was wrong with an address.
func (r *reachability) answers(address string) {
	delete(r.diagnosed, address)
}

// failed looks at an address whose server did not answer, unless that was looked at a moment ago.
func (r *reachability) failed(address string, err *Error) {
	last, isKnown := r.diagnosed[address]
	switch {
	case err.isOfServer():
		r.answers(address)
	case err.Code == codes.Unimplemented:
		between, _ := proxyNamed(address, r.config.TLS)
		r.found(Diagnosis{address, OtherProtocol,
			throughProxy(between, "a gRPC server answers there, but it has no Rowlock service: check the port")})
	case isKnown && r.turns.now()-last.at < probeAgain:
		r.changed()
	case !r.probing[address]:
		r.probing[address] = true
		r.turns.start(func() {
			diagnosis := diagnose(r.ctx, address, r.config.TLS)
			r.turns.take(func() {
				delete(r.probing, address)
				if r.ctx.Err() == nil {
					r.found(diagnosis)
				}
			})
		})
	}
}

func (r *reachability) found(diagnosis Diagnosis) {
	r.diagnosed[diagnosis.Address] = diagnosed{diagnosis, r.turns.now()}
	r.changed()
}

// all are the diagnoses, in the order of the addresses.
func (r *reachability) all() []Diagnosis {
	var all []Diagnosis
	for _, address := range r.config.Addresses {
		if one, isKnown := r.diagnosed[address]; isKnown {
			all = append(all, one.Diagnosis)
		}
	}
	return all
}

// isHopeless reports whether no waiting heals what is wrong with each address.
func (r *reachability) isHopeless() bool {
	for _, address := range r.config.Addresses {
		if one, isKnown := r.diagnosed[address]; !isKnown || one.Kind.mayHeal() {
			return false
		}
	}
	return true
}

// noServer is the error with all diagnoses.
func noServer(what string, diagnoses []Diagnosis) *Error {
	err := newError(ErrNoServer, codes.Unavailable, fmt.Sprintf("%s: %s", what, sentenceOf(diagnoses)))
	err.Diagnoses = diagnoses
	return err
}

func sentenceOf(diagnoses []Diagnosis) string {
	said := make([]string, len(diagnoses))
	for index, one := range diagnoses {
		said[index] = one.String()
	}
	return strings.Join(said, "; ")
}
