// Package fencedstore shows two ways to keep a writer out whose lock was lost while it was not looking: a process that slept, or
// was cut off. Both are for a table with a key k, a value and, for the first of them, a fence: BIGINT UNSIGNED NOT NULL DEFAULT
// 0. With the driver github.com/go-sql-driver/mysql set clientFoundRows=true: a row that has this value already counts as
// written then.
package fencedstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// FencedWrite writes the value unless somebody with a higher token has written before. It needs nothing of Rowlock but the
// token of the lock, so it works on any database. It answers whether it was written: a row that does not exist is not.
func FencedWrite(ctx context.Context, db *sql.DB, table, key, value string, token uint64) (bool, error) {
	update := fmt.Sprintf("UPDATE %s SET value = ?, fence = ? WHERE k = ? AND fence <= ?", quoted(table))
	return isWritten(db.ExecContext(ctx, update, value, token, key, token))
}

// leaseHeld is known so to MySQL and MariaDB both. Ask it once in a transaction: a second time, while a release waits, is a
// deadlock.
const leaseHeld = `
	SELECT 1 FROM rowlock_lock l JOIN rowlock_claim c FORCE INDEX (rowlock_claim_queue) ON c.lock_id = l.id
	WHERE l.name = ? AND c.fencing_token = ? AND c.state = 2
	  AND (c.deadline IS NULL OR c.deadline > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED))
	LOCK IN SHARE MODE`

// GuardedWrite writes the value in a transaction that has found the lease to be held, so that it cannot end before the
// transaction does. The database is the MySQL or MariaDB that Rowlock itself is on. It answers whether it was written: not where
// the lease has ended, and not to a row that does not exist. After a deadlock (1213) the whole of it can be repeated.
func GuardedWrite(
	ctx context.Context, db *sql.DB, lockName string, token uint64, table, key, value string,
) (bool, error) {
	// By this level, no other lock is held up by this one.
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	// Short from here on: who would renew or end the lease waits for this transaction.
	var found int
	err = tx.QueryRowContext(ctx, leaseHeld, lockName, token).Scan(&found)
	if err == sql.ErrNoRows {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	update := fmt.Sprintf("UPDATE %s SET value = ? WHERE k = ?", quoted(table))
	written, err := isWritten(tx.ExecContext(ctx, update, value, key))
	if err != nil {
		return false, err
	}
	return written, tx.Commit()
}

func isWritten(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows > 0, err
}

// quoted is a name of a table as MySQL takes any.
func quoted(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
