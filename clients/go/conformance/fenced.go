// The commands that call the example fencedstore.

package main

import (
	"database/sql"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/clients/go/examples/fencedstore"
)

func (d *driver) fencedWrite(asked *command) (any, error) {
	return withStore(asked, func(db *sql.DB, token uint64) (bool, error) {
		return fencedstore.FencedWrite(background, db, asked.Table, asked.Key, asked.Value, token)
	})
}

func (d *driver) guardedWrite(asked *command) (any, error) {
	return withStore(asked, func(db *sql.DB, token uint64) (bool, error) {
		return fencedstore.GuardedWrite(background, db, asked.LockName, token, asked.Table, asked.Key, asked.Value)
	})
}

func withStore(asked *command, write func(*sql.DB, uint64) (bool, error)) (any, error) {
	token, err := numberOf(asked.Token)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(asked.URL)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User = address.User.Username()
	config.Passwd, _ = address.User.Password()
	config.Net, config.Addr = "tcp", address.Host
	config.DBName = strings.TrimPrefix(address.Path, "/")
	config.ClientFoundRows = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	written, err := write(db, token)
	return object{"written": written}, err
}
