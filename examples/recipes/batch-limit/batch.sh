#!/bin/sh
# One execution of a batch job: waits until the job's limit has room for it, and works while it holds a permit.
# Replace what is between the quotes with your work. Rowlock stops it if the permit is lost.
set -eu
job=$1 execution=$2

exec rowlock run "batch/$job" --ttl "${TTL_SECONDS:-30}s" --owner "execution $execution" --quiet -- sh -euc '
  echo "$1 begins"
  sleep "${WORK_SECONDS:-60}"
  echo "$1 ends"
' sh "$execution"
