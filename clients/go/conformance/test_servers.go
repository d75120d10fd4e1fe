// Commands of the package rowlocktest.

package main

import (
	"fmt"

	"github.com/rowlock/rowlock/clients/go/rowlocktest"
)

func (d *driver) startTestServer(asked *command) (any, error) {
	started, err := rowlocktest.Launch()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.servers[asked.Server] = started
	return object{"address": started.Address()}, nil
}

func (d *driver) testServerOf(asked *command) (*rowlocktest.Server, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.servers[asked.Server]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("there is no test server %s", asked.Server)
}

func (d *driver) loseAtTestServer(asked *command) (any, error) {
	started, err := d.testServerOf(asked)
	if err != nil {
		return nil, err
	}
	return object{}, started.Lose(asked.name())
}

func (d *driver) stopTestServer(asked *command) (any, error) {
	started, err := d.testServerOf(asked)
	if err != nil {
		return nil, err
	}
	return object{}, started.Stop()
}
