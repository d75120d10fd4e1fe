#!/bin/sh
# A job that stands in line: first come, first served, and as many at a time as the limit of the line says.
# Replace what is between the quotes with your work. Rowlock stops it if the place is lost.
# Usage: line.sh LINE JOB
set -eu
line=$1 job=$2

exec rowlock run "line/$line" --ttl "${TTL_SECONDS:-30}s" --owner "$job" -- sh -euc '
  echo "$1 begins with token $ROWLOCK_TOKEN"
  sleep "${WORK_SECONDS:-60}"
  echo "$1 ends"
' sh "$job"
