package main

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/go-sql-driver/mysql"
)

// getLockPatienceSeconds is longer than any run.
const getLockPatienceSeconds = 3_600

// getLock is MySQL's GET_LOCK, which belongs to a connection, so each caller has its own. None of it is durable.
type getLock struct{ database *sql.DB }

func openMySQL(o options) (*sql.DB, error) {
	// Without interpolation, the driver first prepares each statement, in a separate round trip.
	database, err := sql.Open("mysql", o.address+"?interpolateParams=true")
	if err != nil {
		return nil, err
	}
	database.SetMaxOpenConns(o.callers)
	database.SetMaxIdleConns(o.callers)
	return database, nil
}

func connectGetLock(o options) (System, error) {
	database, err := openMySQL(o)
	return &getLock{database}, err
}

func (g *getLock) Caller(ctx context.Context, _ int) (Locks, error) {
	connection, err := g.database.Conn(ctx)
	return &getLockCaller{connection}, err
}

func (g *getLock) SetLimit(context.Context, string, uint32) error { return errNoSemaphores }

type getLockCaller struct{ connection *sql.Conn }

func (c *getLockCaller) Acquire(ctx context.Context, name string) (string, error) {
	return name, c.isOne(ctx, "SELECT GET_LOCK(?, ?)", name, getLockPatienceSeconds)
}

func (c *getLockCaller) Release(ctx context.Context, held string) error {
	return c.isOne(ctx, "SELECT RELEASE_LOCK(?)", held)
}

func (c *getLockCaller) isOne(ctx context.Context, statement string, parameters ...any) error {
	var answer sql.NullInt64
	if err := c.connection.QueryRowContext(ctx, statement, parameters...).Scan(&answer); err != nil {
		return err
	}
	if answer.Int64 != 1 {
		return fmt.Errorf("%s answered %v", statement, answer)
	}
	return nil
}
