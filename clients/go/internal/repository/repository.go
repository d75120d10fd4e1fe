// Package repository starts the server of this repository in tests, as the packages and examples beside it need it.
package repository

import (
	"path/filepath"
	"runtime"

	"github.com/rowlock/rowlock/clients/go/rowlocktest"
)

// Server is the server of this repository, in which `npm ci` was run.
func Server() rowlocktest.Option {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "../../../..")
	return rowlocktest.Command(filepath.Join(root, "node_modules/.bin/node"), filepath.Join(root, "server/main.ts"))
}
