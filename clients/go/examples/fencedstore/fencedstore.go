// Package fencedstore shows two ways to keep out a writer whose lock was lost without its notice, because the process
// slept or was cut off. Both write to a table with a key k, a value and, for FencedWrite, a column fence: BIGINT
// UNSIGNED NOT NULL DEFAULT 0. With the driver github.com/go-sql-driver/mysql, set clientFoundRows=true: then a row
// that already has this value counts as written.
package fencedstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// FencedWrite writes the value unless somebody with a higher token has written before. It needs only the lock's token,
// so it works on any database. It is right where each row has one writer at a time; holders of several permits that write
// the same row need GuardedWrite. It reports whether the value was written; a row that does not exist is not written.
func FencedWrite(ctx context.Context, db *sql.DB, table, key, value string, token uint64) (bool, error) {
	update := fmt.Sprintf("UPDATE %s SET value = ?, fence = ? WHERE k = ? AND fence <= ?", quoted(table))
	return isWritten(db.ExecContext(ctx, update, value, token, key, token))
}

// leaseHeld works on MySQL and MariaDB. The first holder is in the row of the lock, further ones in rowlock_claim.
const leaseHeld = `
	SELECT 1 FROM rowlock_lock l LEFT JOIN rowlock_claim c ON c.lock_id = l.id AND c.place = 0
	  AND c.ticket_number = (SELECT h.ticket_number FROM rowlock_claim h
	    WHERE h.lock_id = l.id AND h.place = 0 AND h.fencing_token = ?)
	WHERE l.name = ? AND (c.state = 2 OR l.holder_state = 2 AND l.holder_fencing_token = ?)
	  AND COALESCE(
	    IF(c.state = 2, c.deadline, l.holder_deadline) > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED), TRUE)
	LOCK IN SHARE MODE`

// GuardedWrite writes the value in a transaction that finds the lease to be held, so that the lease cannot end before
// the transaction does. The database must be the MySQL or MariaDB that Rowlock itself uses. It reports whether the
// value was written: not if the lease has ended, and not if the row does not exist. After a deadlock (1213), repeat the
// whole function.
func GuardedWrite(
	ctx context.Context, db *sql.DB, lockName string, token uint64, table, key, value string,
) (bool, error) {
	// At this isolation level, the check holds up no other lock.
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	// Keep the transaction short from here on: renewing or ending the lease waits for it.
	var found int
	err = tx.QueryRowContext(ctx, leaseHeld, token, lockName, token).Scan(&found)
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

// quoted quotes a table name for MySQL.
func quoted(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
