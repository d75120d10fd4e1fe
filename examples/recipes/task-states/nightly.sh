#!/bin/sh
# A job that is left out once it has failed, until somebody has looked at it; and that never runs twice at once.
# Replace what is between the quotes with your work. Rowlock stops it if the lock is lost.
# Usage: nightly.sh JOB
set -eu
job=$1

code=0
rowlock run "job/$job" --no-wait --ttl "${TTL_SECONDS:-30}s" \
  --if-status "" --if-status done --status-done done --status-failed failed -- sh -euc '
    echo "$1 begins"
    sleep "${WORK_SECONDS:-60}"
    if [ "$1" = "${FAIL:-}" ]; then echo "$1 fails"; exit 1; fi
    echo "$1 ends"
  ' sh "$job" || code=$?
[ "$code" -ne 75 ] || echo "$job is left out"
exit "$code"
