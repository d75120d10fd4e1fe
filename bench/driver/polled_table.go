package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	polledTableTTL  = 30
	polledTablePoll = 50 * time.Millisecond
	errDeadlock     = 1213
)

// polledTable is what people write by hand: a row is a lock, inserting it takes the lock, and a caller that fails
// retries.
type polledTable struct{ database *sql.DB }

func connectPolledTable(ctx context.Context, o options) (System, error) {
	database, err := openMySQL(o)
	if err != nil {
		return nil, err
	}
	_, err = database.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS bench_lock (
		name VARCHAR(255) PRIMARY KEY, owner VARCHAR(64) NOT NULL, expires_at DATETIME(6) NOT NULL) ENGINE=InnoDB`)
	return &polledTable{database}, err
}

func (p *polledTable) Caller(context.Context, int) (Locks, error) { return p, nil }

func (p *polledTable) SetLimit(context.Context, string, uint32) error { return errNoSemaphores }

// Acquire takes the row if there is none, or if it has expired.
func (p *polledTable) Acquire(ctx context.Context, name string) (string, error) {
	owner := rand.Text()
	err := poll(ctx, polledTablePoll, func() (bool, error) {
		taken, err := p.rows(ctx, `INSERT IGNORE INTO bench_lock VALUES (?, ?, NOW(6) + INTERVAL ? SECOND)`,
			name, owner, polledTableTTL)
		if taken == 1 || err != nil {
			return taken == 1, err
		}
		taken, err = p.rows(ctx, `UPDATE bench_lock SET owner = ?, expires_at = NOW(6) + INTERVAL ? SECOND
			WHERE name = ? AND expires_at < NOW(6)`, owner, polledTableTTL, name)
		return taken == 1, err
	})
	return name + "\n" + owner, err
}

func (p *polledTable) Release(ctx context.Context, held string) error {
	name, owner, _ := strings.Cut(held, "\n")
	deleted, err := p.rows(ctx, `DELETE FROM bench_lock WHERE name = ? AND owner = ?`, name, owner)
	if err == nil && deleted != 1 {
		return fmt.Errorf("the lock was lost before it was released")
	}
	return err
}

// rows runs one statement, and repeats it after a rollback: InnoDB takes many statements on one name for a deadlock.
func (p *polledTable) rows(ctx context.Context, statement string, parameters ...any) (int64, error) {
	for {
		result, err := p.database.ExecContext(ctx, statement, parameters...)
		if isDeadlock(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	}
}

func isDeadlock(err error) bool {
	var failed *mysql.MySQLError
	return errors.As(err, &failed) && failed.Number == errDeadlock
}
