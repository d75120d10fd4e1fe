#!/bin/sh
# Moves money between two accounts: it takes both locks at once, and each account refuses a writer whose token is too old.
# Usage: transfer.sh FROM TO AMOUNT. It needs sqlite3 and jq; any other database will do, too.
set -eu
from=$1 to=$2 amount=$3
# They become part of the SQL below.
case $from$to in *[!A-Za-z0-9_-]*) echo "use letters, digits, - and _ in accounts" >&2; exit 64 ;; esac
case $amount in *[!0-9]*) echo "the amount is not a number: $amount" >&2; exit 64 ;; esac

if [ "${ROWLOCK_NAME:-}" != "account/$from" ]; then
  exec rowlock run "account/$from" --also "account/$to" \
    --ttl "${TTL_SECONDS:-30}s" --wait "${WAIT_SECONDS:-10}s" -- sh "$0" "$@"
fi

token() { echo "$ROWLOCK_TOKENS" | jq -r --arg name "account/$1" '.[$name]'; }
first=$(token "$from")
second=$(token "$to")
echo "begins with tokens $first and $second"
sleep "${WORK_SECONDS:-0}" # Replace this with your own: what a transfer asks before it writes.

# What fails ends the transaction: a row of `changed` that is not 1, as a token is too old, or there is no such account.
sqlite3 -bail "${ACCOUNTS:-accounts.db}" <<SQL
.timeout 10000
CREATE TEMP TABLE changed (accounts CHECK (accounts = 1));
BEGIN IMMEDIATE;
UPDATE account SET balance = balance - $amount, fence = $first WHERE name = '$from' AND fence <= $first;
INSERT INTO changed VALUES (changes());
UPDATE account SET balance = balance + $amount, fence = $second WHERE name = '$to' AND fence <= $second;
INSERT INTO changed VALUES (changes());
COMMIT;
SQL
echo "moved $amount from $from to $to"
