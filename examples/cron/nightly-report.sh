#!/bin/sh
# Writes the report of this day, once, on whichever machine it runs. Meant to be run by `rowlock run`.
set -eu
: "${ROWLOCK_TOKEN:?run this by: rowlock run cron/nightly-report -- $0}"

folder=${REPORTS:-/srv/reports}
day=$(date -u +%F)
report=$folder/$day.txt

# The clocks of machines differ: another one may have had the lock, and be done, before this one began.
[ ! -e "$report" ] || exit 0

draft=$(mktemp "$folder/.draft.XXXXXX")
trap 'rm -f "$draft"' EXIT

{
  echo "Report of $day, by $(uname -n), with fencing token $ROWLOCK_TOKEN"
  df -P "$folder"
} > "$draft"

# In one step, and not where there is one already: a machine that slept in the middle comes too late to spoil it.
ln "$draft" "$report"
